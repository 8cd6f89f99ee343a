#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What must not be in the tree: one line a rule, each names the files that break it.
set -u
cd "$(dirname "$(readlink -f "$0")")/.."
status=0
rule() { # rule "sentence" output-of-a-search
    if [ -n "$2" ]; then
        printf 'lint: %s\n%s\n' "$1" "$2"
        status=1
    fi
}
search() { grep -rnE "$@" 2>/dev/null; }

rule "CUDA headers stay below kernels/" \
    "$(search '#include *[<"](cuda|cufft)' include lib)"
rule "kernels/ knows no scheduler and no PMT" \
    "$(search '#include *[<"](gnuradio/(block|sync_block|basic_block|io_signature|top_block|tags)|pmt)' kernels)"
rule "soapy/ knows no GNU Radio, and its physics no SoapySDR" \
    "$(search '#include *[<"](gnuradio/|pmt)' soapy; search '#include *[<"]SoapySDR' soapy --include='*radar*' --include='transmit_line*' --include='radio_profile*')"
rule "device memory is allocated by the owners in kernels/cuda/ only" \
    "$(search --include='*.cu' --include='*.cc' --include='*.h' 'cuda(Malloc|Free)(Async|Host|Managed)?\(' kernels lib include | grep -v '^kernels/cuda/')"
rule "__CUDACC__ is looked at in kernels/core/hd.h only" \
    "$(search '__CUDACC__' kernels lib include | grep -v '^kernels/core/hd.h')"
rule "templates of gr_modtool are filled in" \
    "$(search '<\+[A-Za-z]' include lib kernels python grc docs)"
rule "no -march=native in the build" \
    "$(search -e '-march=native' CMakeLists.txt kernels/CMakeLists.txt lib/CMakeLists.txt CMakePresets.json)"
rule "every source names its licence" \
    "$(git ls-files '*.cc' '*.cu' '*.h' '*.py' 2>/dev/null | xargs -r grep -L 'SPDX-License-Identifier')"
rule "no block declares an unlimited number of ports" \
    "$(search 'io_signature::(make[v23]?)\([0-9]+, *(-1|gr::io_signature::IO_INFINITE|IO_INFINITE)' lib)"
[ $status -eq 0 ] && echo "lint: clean"
exit $status

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Pack the CUDA build, its tests and the GNU Radio runtime of this machine into a folder
# that runs on an offline GPU host with a driver, the CUDA runtime libraries and a glibc
# no older than this machine's: no GNU Radio, no packages needed there.
#
#   gpu_bundle.sh BUILD OUT [RECORDING ...]
#
# OUT/bundle.tgz unpacks to gr-sar-gpu/; gr-sar-gpu/check runs everything.
set -euo pipefail
build=${1:?BUILD}
out=${2:?OUT}
shift 2
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
grep -q 'SAR_HAVE_CUDA' "$build/build.ninja" || {
    echo "gpu-bundle: $build was built without CUDA; configure with -DENABLE_CUDA=ON" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
top=$work/gr-sar-gpu
site=/usr/lib/python3/dist-packages
mkdir -p "$top"/{lib,bin,soapy,py/lib,py/site/gnuradio,tests,data,python/sar}

# our own: library, module, recordings, and the tests that use a GPU (those of the CPU
# stay here, and so do trials of kernels)
cp -a "$build"/lib/libgnuradio-sar.so* "$top/lib/"
cp -rL "$build/test_modules/gnuradio/sar" "$top/py/site/gnuradio/"
cp "$root"/python/sar/{conftest.py,qa_*.py} "$top/tests/"
cp "$root"/python/sar/{gr_sar,doctor.py} "$top/python/sar/"
cp -r "$root/docs" "$root/examples" "$root/benchmarks" "$top/"
find "$build/kernels" "$build/lib" -maxdepth 1 \( -name 'qa_*_gpu' -o -name qa_device_ring -o -name 'bench_*' ! -name bench_rows ! -name 'bench_phase*' ! -name bench_chirp_z \) -type f -executable -exec cp {} "$top/tests/" \;
cp "$root"/cmake/gpu_check.sh "$top/check"
cp "$root"/cmake/{cuda_trace.cc,gpu_trace_flowgraph.py} "$top/tests/"
rm -f "$top"/tests/qa_{grc,tutorials}.py # GRC does not travel, and tutorials need no GPU
for r in "$@"; do cp -r "$r" "$top/data/"; done
# the simulated radar, where it was built
radar=$build/soapy/modules/libsarsimSupport.so
soapy=()
if [ -e "$radar" ]; then
    cp "$radar" "$top/soapy/"
    cp "$site"/SoapySDR.py "$site"/_SoapySDR*.so "$top/py/site/"
    soapy=("$radar" "$site"/_SoapySDR*.so)
fi

# GNU Radio, Python and what they link to, but for the C and C++ runtimes
python=$(readlink -f /usr/bin/python3)
version=${python##*python}
mapfile -t parts < <(find $site/gnuradio/{gr,blocks,fft} $site/pmt $site/numpy "/usr/lib/python$version/lib-dynload" \
    $site/PIL $site/scipy/{io,_lib,sparse,linalg,special} -name '*.so' 2>/dev/null)
mapfile -t libs < <(ls /usr/lib/x86_64-linux-gnu/libgnuradio-{runtime,pmt,blocks,fft}.so.3.*)
{ ldd "${libs[@]}" "${parts[@]}" "${soapy[@]}" "$top"/tests/{qa,bench}_* "$python" "$top"/lib/*.so 2>/dev/null || true; } |
    awk '/=> \// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so|/libcu|/libnccl|gnuradio-sar' |
    xargs -I{} cp -L {} "$top/lib/"

cp -L "$python" "$top/bin/python3"
cp -a "/usr/lib/python$version" "$top/py/lib/"
rm -rf "$top/py/lib/python$version"/{dist-packages,test,idlelib,lib2to3,ensurepip,pydoc_data,turtledemo,config-*}
for m in __init__.py gr blocks fft eng_arg.py eng_notation.py gr_unittest.py; do
    cp -a "$site/gnuradio/$m" "$top/py/site/gnuradio/"
done
for m in pmt numpy PIL scipy tqdm pytest _pytest pluggy iniconfig packaging attr attrs; do
    [ -e "$site/$m" ] && cp -a "$site/$m" "$top/py/site/"
done
# of scipy what reads .mat and .wav and transforms; no toolkits of windows
find "$top/py/site/scipy" -mindepth 1 -maxdepth 1 -type d ! -name io ! -name _lib ! -name fft ! -name sparse \
    ! -name linalg ! -name special -exec rm -rf {} +
find "$top/py/site" \( -name '*.pyx' -o -name '*.pxd' \) -delete
rm -f "$top"/py/lib/*/lib-dynload/_tkinter* "$top"/lib/lib{tcl,tk,BLT,X11}*
cp -a $site/py.py "$top/py/site/" 2>/dev/null || true
find "$top/py" \( -name __pycache__ -o -name tests -o -name '*.pyi' -o -name '*.html' \) -prune -exec rm -rf {} +
find "$top" \( -name '*.so*' -o -path '*/tests/*_*' ! -name '*.py' ! -name '*.cc' \) -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
mkdir -p "$out"
tar cf - -C "$work" gr-sar-gpu |
    xz --lzma2=preset=1,dict=64MiB >"$out/bundle.txz"
ls -l "$out/bundle.txz"

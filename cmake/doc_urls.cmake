# SPDX-License-Identifier: GPL-3.0-or-later
# GRC's dialog of a block links its page here. Run when installing, since the place of the
# pages is not known before:
#   cmake -DBLOCKS=folder-of-block.yml -DPAGES=folder-of-pages-as-the-user-sees-it -P doc_urls.cmake
file(GLOB descriptions ${BLOCKS}/sar_*.block.yml)
foreach(f IN LISTS descriptions)
    file(READ ${f} text)
    string(REGEX REPLACE ".*/sar_([a-z0-9_]+)\\.block\\.yml$" "\\1" stage ${f})
    if(NOT text MATCHES "\ndoc_url:")
        file(APPEND ${f} "doc_url: file://${PAGES}/${stage}.md\n")
    endif()
endforeach()

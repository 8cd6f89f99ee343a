# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installing, with the prefix known only when that happens (cmake --install --prefix, cpack):
# the folder for Python modules, environment.sh, and a manifest by which all of it can be
# removed again. Include before the first install(), call sar_install_end() after the last.

# ${SAR_PYTHON_DIR} is a variable of the install script: asked of Python for each prefix.
# -DGR_PYTHON_DIR=... fixes it (conda, distributions).
set(SAR_PYTHON_DIR_FIXED "${SAR_GIVEN_PYTHON_DIR}")
set(GR_PYTHON_DIR "\${SAR_PYTHON_DIR}")
set(SAR_SHARE_DIR share/gr-sar)

# Folders that files are installed to, below which all is ours or which many use. qa_install
# fails with the name of one that is missing here.
set(SAR_INSTALL_DIRS bin ${GR_LIBRARY_DIR} ${GR_CMAKE_DIR} ${GR_INCLUDE_DIR}
    ${GR_PYTHON_DIR}/gnuradio/sar share/gnuradio/grc/blocks share/gnuradio/examples/sar
    share/doc/gr-sar share/doc/gr-sar-cuda ${GR_LIBRARY_DIR}/SoapySDR/modules0.8
    lib/SoapySDR/modules0.8 ${SAR_SHARE_DIR})

configure_file(${PROJECT_SOURCE_DIR}/cmake/install_begin.cmake.in
               ${PROJECT_BINARY_DIR}/install_begin.cmake @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/install_end.cmake.in
               ${PROJECT_BINARY_DIR}/install_end.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/install_begin.cmake)

# In /usr the loader looks by itself, and no path is wanted in a library (Debian's policy).
function(sar_no_rpath_in_usr pattern)
    install(CODE "
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
        file(GLOB libraries \"\$ENV{DESTDIR}/usr/${pattern}\")
        foreach(library IN LISTS libraries)
            file(RPATH_REMOVE FILE \"\${library}\")
        endforeach()
    endif()")
endfunction()

macro(sar_install_end)
    add_subdirectory(cmake/install_end) # rules of subfolders run in order, so the last are last
endmacro()

add_custom_target(uninstall
    ${CMAKE_COMMAND} -DPREFIX=${CMAKE_INSTALL_PREFIX} -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)

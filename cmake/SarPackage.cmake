# SPDX-License-Identifier: GPL-3.0-or-later
#
# cpack -G DEB: a Debian package of this build. It is for the GNU Radio and the Python minor
# version it was built with, as the compiled module is.

set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The gr-sar authors <maintainers@gr-sar.invalid>"
    CACHE STRING "Maintainer of the Debian package")
set(CPACK_PACKAGE_NAME gr-sar)
set(CPACK_DEBIAN_PACKAGE_NAME gr-sar)
if(SAR_HAVE_CUDA)
    # the same files with CUDA kernels in the library: one or the other
    set(CPACK_DEBIAN_PACKAGE_NAME gr-sar-cuda)
    set(CPACK_DEBIAN_PACKAGE_PROVIDES "gr-sar (= ${PROJECT_VERSION})")
    set(CPACK_DEBIAN_PACKAGE_CONFLICTS gr-sar)
    set(CPACK_DEBIAN_PACKAGE_REPLACES gr-sar)
    # cuFFT lies in the toolkit, which may be of no package
    get_target_property(cufft CUDA::cufft IMPORTED_LOCATION)
    get_filename_component(cufft_dir ${cufft} DIRECTORY)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${cufft_dir})
    set(variant "This variant has kernels for NVIDIA GPUs (CUDA ${CUDAToolkit_VERSION}).
It needs cuFFT of that CUDA, and runs on the CPU where there is no GPU.")
else()
    set(variant "This variant runs on the CPU.")
endif()
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "${CPACK_DEBIAN_PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_VENDOR "The gr-sar authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "synthetic-aperture-radar imaging for GNU Radio")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Stages of a SAR processor as GNU Radio blocks: pulse compression,
range-Doppler, back-projection, detection, measurement of image quality.
The program gr_sar simulates, focuses and measures recordings without a
flowgraph.
.
${variant}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/COPYING)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION hamradio)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# install as for /usr, into another root: Python's folder and the loader path follow the prefix
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# what the loader needs is read from the binaries, what Python needs is written here
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
math(EXPR next "${PYTHON_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "gnuradio (>= 3.10.1), python3 (>= 3.${PYTHON_VERSION_MINOR}~), python3 (<< 3.${next}), python3-numpy, python3-pil")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "python3-matplotlib, python3-scipy, python3-tqdm, soapysdr-tools, python3-soapysdr")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gnuradio-dev")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# documents that each package has; the date is the source's, so that a build can be repeated
set(packaging ${PROJECT_BINARY_DIR}/packaging)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/debian/triggers)
foreach(file postinst prerm shlibs)
    configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/${file}.in ${packaging}/${file} @ONLY)
    list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${packaging}/${file})
endforeach()
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
    file(TIMESTAMP ${PROJECT_SOURCE_DIR}/CMakeLists.txt epoch "%s" UTC)
else()
    set(epoch $ENV{SOURCE_DATE_EPOCH})
endif()
set(ENV{SOURCE_DATE_EPOCH} ${epoch})
string(TIMESTAMP SAR_CHANGELOG_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(${PROJECT_SOURCE_DIR}/packaging/debian/changelog.in ${packaging}/changelog @ONLY)
find_program(SAR_GZIP gzip)
if(SAR_GZIP)
    execute_process(COMMAND ${SAR_GZIP} -9 -n -f -k ${packaging}/changelog)
    install(FILES ${packaging}/changelog.gz DESTINATION share/doc/${CPACK_DEBIAN_PACKAGE_NAME})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/packaging/debian/copyright
        DESTINATION share/doc/${CPACK_DEBIAN_PACKAGE_NAME})
include(CPack)

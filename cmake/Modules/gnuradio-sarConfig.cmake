# SPDX-License-Identifier: GPL-3.0-or-later
# find_package(gnuradio-sar) gives the target gnuradio::gnuradio-sar.
include(CMakeFindDependencyMacro)
find_dependency(Gnuradio COMPONENTS fft)
include("${CMAKE_CURRENT_LIST_DIR}/gnuradio-sarTargets.cmake")

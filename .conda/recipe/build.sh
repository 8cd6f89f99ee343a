#!/usr/bin/env bash

set -ex

cmake -E make_directory buildconda
cd buildconda

cmake_config_args=(
    -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_INSTALL_PREFIX=$PREFIX
    -DLIB_SUFFIX=""
    -DPYTHON_EXECUTABLE=$PYTHON
    -DGR_PYTHON_DIR="${SP_DIR#"$PREFIX"/}"
)

if [[ "${cuda_compiler_version:-None}" != "None" ]]; then
    # machine code for each supported card, and the last one's PTX for those to come
    cmake_config_args+=(
        -DENABLE_CUDA=ON
        -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared
        "-DCMAKE_CUDA_ARCHITECTURES=75-real;80-real;86-real;87-real;89-real;90-real;100-real;120"
    )
else
    cmake_config_args+=(-DENABLE_CUDA=OFF)
fi

cmake ${CMAKE_ARGS} -G "Ninja" .. "${cmake_config_args[@]}"
cmake --build . --config Release -- -j${CPU_COUNT}
cmake --install . --config Release

if [[ "${CONDA_BUILD_CROSS_COMPILATION:-}" != "1" || "${CROSSCOMPILING_EMULATOR}" != "" ]]; then
    ctest --build-config Release --output-on-failure --timeout 300 -L kernels -j${CPU_COUNT}
fi

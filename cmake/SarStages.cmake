# The one list of stages and blocks. Everything else (sources, headers, bindings, GRC
# files, tests, doc pages) is derived from it, and a missing file stops the configure
# step with its name: see sar_require_rooms() below. CONTRIBUTING.md says how to add one.

# Stages: a processing class with a CPU and a CUDA backend, and a block around it.
set(SAR_STAGES
    pulse_compression
    doppler_centroid
    bp_accumulator
    polar_format_imager
    chirp_z
    azimuth_fft
    rcmc
    stolt
    chirp_scaling
    azimuth_filter
    detect)

# Composed stages: a processing class made of those above, the same code on every backend.
set(SAR_COMPOSED_STAGES
    range_doppler_imager
    omega_k_imager
    chirp_scaling_imager)

# Host stages: a processing class that runs on the CPU only (sources, measurements).
set(SAR_HOST_STAGES
    point_target_source
    pulse_framer
    radar_transceiver
    sweep_alignment
    delay_calibration
    image_quality)

# Blocks in C++ without a processing class of their own.
set(SAR_PLAIN_BLOCKS
    trajectory_source
    to_device
    to_host
    tee)

# Blocks written in Python (file formats, chains of stages: glue).
set(SAR_PYTHON_BLOCKS
    back_projection_chain
    range_doppler_chain
    recording_source
    image_sink
    image_display)

# Variable blocks in GRC: value objects in kernels/core.
set(SAR_PARAMETERS
    acquisition
    image_grid
    trajectory)

# sar_require_rooms(): stop with the name of each file that a listed stage still lacks.
function(sar_require_rooms)
    set(missing "")
    macro(_sar_need what file)
        if(NOT EXISTS "${PROJECT_SOURCE_DIR}/${file}")
            string(APPEND missing "\n  ${what}: missing ${file}")
        endif()
    endmacro()
    foreach(s IN LISTS SAR_STAGES)
        foreach(f ${s}.h ${s}_math.h ${s}_cpu.cc ${s}_cuda.cu qa_${s}.cc)
            _sar_need("stage '${s}'" kernels/${s}/${f})
        endforeach()
    endforeach()
    foreach(s IN LISTS SAR_COMPOSED_STAGES)
        foreach(f ${s}.h ${s}.cc qa_${s}.cc qa_${s}_gpu.cc)
            _sar_need("composed stage '${s}'" kernels/${s}/${f})
        endforeach()
    endforeach()
    foreach(s IN LISTS SAR_HOST_STAGES)
        foreach(f ${s}.h ${s}_math.h ${s}_cpu.cc qa_${s}.cc)
            _sar_need("host stage '${s}'" kernels/${s}/${f})
        endforeach()
    endforeach()
    foreach(s IN LISTS SAR_STAGES SAR_COMPOSED_STAGES SAR_HOST_STAGES SAR_PLAIN_BLOCKS)
        _sar_need("block '${s}'" include/gnuradio/sar/${s}.h)
        _sar_need("block '${s}'" lib/${s}_impl.h)
        _sar_need("block '${s}'" lib/${s}_impl.cc)
        _sar_need("block '${s}'" python/sar/bindings/${s}_python.cc)
        _sar_need("block '${s}'" grc/sar_${s}.block.yml)
        _sar_need("block '${s}'" python/sar/qa_${s}.py)
        _sar_need("block '${s}'" docs/blocks/${s}.md)
    endforeach()
    foreach(s IN LISTS SAR_PYTHON_BLOCKS)
        _sar_need("python block '${s}'" python/sar/${s}.py)
        _sar_need("python block '${s}'" python/sar/qa_${s}.py)
        _sar_need("python block '${s}'" grc/sar_${s}.block.yml)
        _sar_need("python block '${s}'" docs/blocks/${s}.md)
    endforeach()
    foreach(s IN LISTS SAR_PARAMETERS)
        _sar_need("parameter '${s}'" kernels/core/${s}.h)
        _sar_need("parameter '${s}'" kernels/core/${s}.cc)
        _sar_need("parameter '${s}'" grc/sar_${s}.block.yml)
        _sar_need("parameter '${s}'" docs/blocks/${s}.md)
    endforeach()
    if(missing)
        message(FATAL_ERROR "cmake/SarStages.cmake lists stages that are not complete:${missing}")
    endif()
endfunction()

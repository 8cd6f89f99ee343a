#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Run on the GPU host from the unpacked bundle: every test on the device, compute-sanitizer
# over the twin tests, a trace of a flowgraph, and the recordings focused on CPU and GPU.
#
#   gr-sar-gpu/check [RESULTS]      a skipped GPU test counts as a failure here
set -u
top=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
results=${1:-$top/results}
mkdir -p "$results"
export PYTHONHOME=$top/py PYTHONPATH=$top/py/site PYTHONDONTWRITEBYTECODE=1
export GR_CONF_CONTROLPORT_ON=False GR_DONT_LOAD_PREFS=1 GR_CONF_LOG_LOG_FILE=stdout
cuda=${CUDA_HOME:-/usr/local/cuda}
ours=$top/lib:$cuda/lib64:$cuda/extras/CUPTI/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SAR_REQUIRE_GPU=1 SAR_DATA=$top/data
export SAR_SOURCE_DIR=$top HOME=${HOME:-/tmp} SOAPY_SDR_PLUGIN_PATH=$top/soapy
py=$top/bin/python3
failed=()
with() { LD_LIBRARY_PATH=$ours "$@"; }
step() { # step NAME COMMAND...
    local name=$1 begin end ms
    shift
    begin=$(date +%s%N)
    # 124 is a step that ran past its time
    if with timeout "${SAR_STEP_S:-60}" "$@" >"$results/$name.log" 2>&1; then
        end=ok
    else
        end="FAILED ($?)"
        failed+=("$name")
    fi
    ms=$((($(date +%s%N) - begin) / 1000000))
    printf '%-44s %s  %d.%03d s\n' "$name" "$end" $((ms / 1000)) $((ms % 1000))
    [ "$end" = ok ] || tail -n "${SAR_TAIL:-25}" "$results/$name.log"
}
only=${SAR_ONLY:-all}
want() { [ "$only" = all ] || case " $only " in *" $1 "*) ;; *) return 1 ;; esac; }

nvidia-smi --query-gpu=name,driver_version,clocks.sm,memory.total --format=csv 2>/dev/null | tee "$results/card.txt"

if want cpp; then
    for t in "$top"/tests/qa_*; do
        [[ $t == *.py ]] || step "$(basename "$t")" "$t"
    done
fi
if want py; then
    for t in "$top"/tests/${SAR_PY:-qa_*}.py; do
        step "py_$(basename "$t" .py)" "$py" -m pytest -q -rs -p no:cacheprovider "$t"
    done
fi
if want sanitizer; then
    # cases that run every kernel; those that provoke an error of the runtime on purpose
    # (memory that is not there) and those that only last long are left out
    declare -A cases=(
        [qa_azimuth_fft_gpu]='equals_cpu/_6:equals_cpu/_7:equals_cpu/_8:equals_cpu/_9:half_storage:overlap'
        [qa_azimuth_filter_gpu]='equals_cpu/_8:equals_cpu/_9:equals_cpu/_12:equals_cpu/_15:equals_cpu/_16:equals_cpu/_23:looks_and_half_rows:centroids_set_between_frames'
        [qa_bp_accumulator_gpu]='!an_image_too_large_names_the_bytes'
        [qa_detect_gpu]='*'
        [qa_pulse_compression_gpu]='equals_cpu/_1:equals_cpu/_4:equals_cpu/_7:equals_cpu/_20:equals_cpu/_41:equals_cpu/_43:equals_cpu/_59:equals_cpu/_61:lines_that_are_not_finite'
        [qa_rcmc_gpu]='storage_and_in_place/_1:storage_and_in_place/_13:storage_and_in_place/_25:storage_and_in_place/_37:storage_and_in_place/_49:storage_and_in_place/_61:storage_and_in_place/_73:storage_and_in_place/_85:storage_and_in_place/_97:storage_and_in_place/_109:storage_and_in_place/_121:storage_and_in_place/_133:storage_and_in_place/_10:storage_and_in_place/_130:fused_lengths/_0:fused_lengths/_1:fused_lengths/_96:fused_lengths/_99:fused_lengths/_100:fused_lengths/_107:rows_that_are_not_finite:another_centroid:fixed_point_reads_lines_that_no_tile_holds'
        [qa_column_fft_gpu]='equals_cpu/_3:equals_cpu/_5:equals_cpu/_10:kernels_equal_cpu/_0:kernels_equal_cpu/_9:kernels_equal_cpu/_12:kernels_equal_cpu/_16:kernels_equal_cpu/_20:kernels_equal_cpu/_25'
        [qa_chirp_z_gpu]='equals_cpu/_1:equals_cpu/_4:equals_cpu/_20:equals_cpu_without_the_kernel/_1:there_and_back/_1'
        [qa_polar_format_imager_gpu]='bad_values:equals_cpu/_9'
        [qa_doppler_centroid_gpu]='points_equal_cpu/_0:bad_lines_equal_cpu:given_equals_cpu'
        [qa_range_doppler_imager_gpu]='equals_cpu/_6:equals_cpu_with_every_option/_0:equals_cpu_with_every_option/_7:equals_cpu_with_every_option/_15:one_kernel_for_rows_equals_the_stages/_0:one_kernel_for_rows_equals_the_stages/_9:one_kernel_for_rows_equals_the_stages/_21:what_overflows_becomes_zeros:frames_in_turn'
        [qa_stolt_gpu]='equals_cpu/_0:equals_cpu/_9:equals_cpu/_20:both_geometries:sixteen_bits:a_bad_row_is_zeroed_and_counted:another_centroid'
        [qa_chirp_scaling_gpu]='equals_cpu/_1:equals_cpu/_3:equals_cpu/_12:equals_cpu/_20:both_geometries:sixteen_bits:a_bad_row_is_zeroed_and_counted:another_centroid'
        [qa_omega_k_imager_gpu]='equals_cpu/_6:equals_cpu/_7:rows_of_each_length/_3:rows_of_each_length/_11:rows_of_each_length/_17:equals_cpu_with_every_option/_4'
        [qa_chirp_scaling_imager_gpu]='equals_cpu/_6:equals_cpu/_7:rows_of_each_length/_3:rows_of_each_length/_11:rows_of_each_length/_18:equals_cpu_with_every_option/_2:other_centroids'
        [qa_device_ring]='plumbing_blocks_do_what_the_scheduler_cannot:both_kinds_of_ring_are_used:history:whole_frames:end_of_stream_in_mid_batch'
    )
    for t in ${SAR_SANITIZE:-"${!cases[@]}"}; do
        for tool in memcheck racecheck initcheck; do
            # one --run_test a case: the sets are united
            args=()
            IFS=: read -ra names <<<"${cases[$t]}"
            for n in "${names[@]}"; do args+=("--run_test=$n"); done
            step "${t}_$tool" compute-sanitizer --tool $tool --error-exitcode 9 "$top/tests/$t" "${args[@]}"
            grep -h "ERROR SUMMARY\|RACECHECK SUMMARY" "$results/${t}_$tool.log"
        done
    done
fi
if want bench; then
    # peers run in the host's own Python, which has torch or cupy, if any
    SAR_PEER_LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} SAR_STEP_S=${SAR_BENCH_S:-200} step bench "$py" "$top/benchmarks/bench.py" --build "$top/tests" \
        --device cuda --json "$results/bench.json"
    cat "$results/bench.log"
fi
if want trace; then
    step build_trace env -u PYTHONHOME g++ -std=c++17 -O1 -shared -fPIC -I"$cuda/include" \
        -I"$cuda/extras/CUPTI/include" "$top/tests/cuda_trace.cc" -o "$results/libcuda_trace.so" \
        -L"$cuda/extras/CUPTI/lib64" -L"$cuda/lib64" -lcupti
    # what is allocated and asked for must not depend on how long a flowgraph runs
    for chain in bp rda csa; do
        for pulses in 1024 3072; do
            name=trace_${chain}_$pulses
            step $name env CUDA_INJECTION64_PATH="$results/libcuda_trace.so" SAR_PULSES=$pulses \
                SAR_TRACE="$results/$name.txt" "$py" "$top/tests/gpu_trace_flowgraph.py" $chain
            sed -n '/^allocations/,$p' "$results/$name.txt" >"$results/steady_$pulses"
        done
        cat "$results/trace_${chain}_1024.txt" 2>/dev/null
        step "steady_$chain" diff "$results/steady_1024" "$results/steady_3072"
    done
fi
if want focus; then
    for backend in cpu cuda; do
        step "demo_$backend" "$py" "$top/python/sar/gr_sar" demo --backend $backend -o "$results/demo_$backend"
        tail -n 30 "$results/demo_$backend.log"
        gotcha=("$top"/data/afrl_gotcha_pass1_hh/*.mat)
        [ -e "${gotcha[0]}" ] && step "gotcha_$backend" "$py" "$top/python/sar/gr_sar" focus "${gotcha[@]}" \
            --backend $backend -o "$results/gotcha_$backend"
        for scene in "$top"/data/radarsat1_vancouver/*.sigmf-meta; do
            [ -e "$scene" ] || continue
            name=$(basename "$scene" .sigmf-meta)_$backend
            step "$name" "$py" "$top/python/sar/gr_sar" focus "$scene" --doppler-centroid estimate \
                --window "kaiser(2.5)" --azimuth-window "kaiser(2.5)" --backend $backend -o "$results/$name"
            tail -n 4 "$results/$name.log"
        done
    done
fi
if want soak; then # the simulated radar at work, at the highest rate that holds; ./dev soak says what is judged
    [ -z "${SAR_SOAK:-}" ] && SAR_SOAK="--find-rate --rate 25e6"
    # shellcheck disable=SC2086
    SAR_STEP_S=${SAR_SOAK_S:-200} step soak "$py" "$top/benchmarks/soak.py" --backend cuda \
        --json "$results/soak.json" $SAR_SOAK
    cat "$results/soak.log"
fi
echo
if [ ${#failed[@]} -eq 0 ]; then
    echo "all steps passed"
else
    echo "FAILED: ${failed[*]}"
    exit 1
fi

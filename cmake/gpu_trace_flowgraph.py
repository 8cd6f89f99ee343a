#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flowgraphs that the trace looks at, by argument:

Environment: SAR_PULSES, 1024 or a multiple of 256.

bp (default)  host source, pulse_compression, bp_accumulator, detect, host sink
rda           host source, pulse_compression, azimuth_fft, rcmc, azimuth_filter, detect, host sink
csa           host source, chirp_scaling_imager, detect, host sink

Expected in the trace: uploads only on the edge into pulse_compression, downloads only on
the edge out of detect, no call that waits in the threads of the CUDA blocks.
"""
import os
import sys

from gnuradio import blocks, gr

from gnuradio import sar

PULSES = int(os.environ.get("SAR_PULSES", "1024"))
acq = sar.acquisition(
    waveform="pulsed_lfm", samples=2048, carrier_hz=9.6e9, prf_hz=1000, sample_rate_hz=360e6,
    chirp_rate_hz_per_s=1.5e14, pulse_length_s=2e-6, slant_range_first_m=4900)
grid = sar.image_grid.centred((0, 0, 0), (1, 0, 0), (0, 1, 0), 0.25, 0.25, 512, 512)
kind = sys.argv[1] if len(sys.argv) > 1 else "bp"
slant = kind != "bp"
track = sar.trajectory.straight((-100, 3800, 3250), (200, 0, 0))

tb = gr.top_block("trace")
source = sar.point_target_source(acq, [(0, 0, 0, 1)], track, PULSES)
compress = [sar.pulse_compression(acq, oversampling=1 if slant else 2, backend="cuda")]
if slant:
    acq = acq.replace(effective_velocity_m_s=200)
    formers = [sar.azimuth_fft(acq, 256, backend="cuda"), sar.rcmc(acq, 256, backend="cuda"),
               sar.azimuth_filter(acq, 256, backend="cuda")]
    if kind == "csa":
        compress, formers = [], [sar.chirp_scaling_imager(acq, 256, backend="cuda")]
    cols, rows = 2048, PULSES
else:
    formers = [sar.bp_accumulator(acq, grid, oversampling=2, pulses_per_image=256,
                                  backend="cuda")]
    tb.connect((source, 1), (formers[0], 1))
    cols, rows = 512, 512 * PULSES // 256
detect = sar.detect(cols, backend="cuda")
sink = blocks.vector_sink_f(cols)
tb.connect((source, 0), *compress, *formers, detect, sink)
if slant:
    tb.connect((source, 1), blocks.null_sink(24))
tb.run()
for b in (source, *compress, *formers, detect):
    if b.error():
        sys.exit(b.error())
print("rows", len(sink.data()) // cols, "device counters", sar.device_stats("cuda"))
sys.exit(len(sink.data()) // cols != rows)

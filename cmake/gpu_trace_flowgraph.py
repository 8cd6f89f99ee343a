#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The flowgraph that the trace looks at: host source, three CUDA blocks, host sink.

Expected in the trace: uploads only on the edge into pulse_compression, downloads only on
the edge out of detect, no call that waits in the threads of the CUDA blocks.
"""
import sys

from gnuradio import blocks, gr

from gnuradio import sar

PULSES = 1024
acq = sar.acquisition(
    waveform="pulsed_lfm", samples=2048, carrier_hz=9.6e9, prf_hz=1000, sample_rate_hz=360e6,
    chirp_rate_hz_per_s=1.5e14, pulse_length_s=2e-6, slant_range_first_m=4900)
grid = sar.image_grid.centred((0, 0, 0), (1, 0, 0), (0, 1, 0), 0.25, 0.25, 512, 512)
track = sar.trajectory.straight((-100, 3800, 3250), (200, 0, 0))

tb = gr.top_block("trace")
source = sar.point_target_source(acq, [(0, 0, 0, 1)], track, PULSES)
compress = sar.pulse_compression(acq, oversampling=2, backend="cuda")
image = sar.bp_accumulator(acq, grid, oversampling=2, pulses_per_image=256, backend="cuda")
detect = sar.detect(512, backend="cuda")
sink = blocks.vector_sink_f(512)
tb.connect((source, 0), compress, image, detect, sink)
tb.connect((source, 1), (image, 1))
tb.run()
for b in (source, compress, image, detect):
    if b.error():
        sys.exit(b.error())
rows = len(sink.data()) // 512
print("rows", rows, "device counters", sar.device_stats("cuda"))
sys.exit(rows != 512 * PULSES // 256)

# SPDX-License-Identifier: GPL-3.0-or-later
"""Source of the raw lines and antenna positions of a recording."""

import numpy as np
import pmt
from gnuradio import gr

from .python_stage import WORK_DONE, guarded, python_stage
from .recordings import Recording, RecordingError, open_recording


def _whole(name, value, least):
    if value is None or float(value) != int(value) or int(value) < least:
        raise ValueError(f"{name} is {value}; expected a whole number, {least} or more")
    return int(value)


class recording_source(python_stage, gr.sync_block):
    """Raw lines and positions of a recording, in lock step.

    Output 0: lines, vectors of samples complex64. Output 1 (only if there are positions):
    antenna position of each line, 3 doubles, m. Output 2 (only if the recording has a
    separate receiver): its positions. Outputs behind the first may stay unconnected. A tag
    sar_frame stands on the first line of each frame; a frame is the whole recording.

    recording  Recording, or a path or list of paths for open_recording()
    samples    vector length expected, 0: whatever the recording has
    frames     times to play the recording
    options    dict of further arguments of open_recording(), with a path only

    Raises ValueError on a recording that cannot be read or that has other samples.
    """

    def __init__(self, recording, samples=0, frames=1, options=None):
        if isinstance(recording, Recording):
            if options:
                raise ValueError("options were given together with an open recording; expected "
                                 "them in open_recording()")
            self.recording = recording
        else:
            self.recording = open_recording(recording, **(options or {}))
        rec = self.recording
        samples = _whole("samples", samples, 0)
        self._frames = _whole("frames", frames, 1)
        if samples and samples != rec.acq.samples:
            raise ValueError(f"samples is {samples}, but the recording has lines of "
                             f"{rec.acq.samples} samples; expected the same")
        n = rec.acq.samples
        ports = [np.complex64 if n == 1 else (np.complex64, n)]
        self._positions = [p for p in (rec.tx, rec.rx) if p is not None]
        ports += [(np.float64, 3)] * len(self._positions)
        gr.sync_block.__init__(self, "recording_source", None,
                               gr.py_io_signature(1, len(ports), ports))
        self.init_stage("recording_source")
        self._at = 0
        self._frame = 0
        # a page of lines at a time: long lines one by one, short ones in batches
        self._batch = max(1, (4 << 20) // (8 * n))

    def pulses_done(self):
        """Lines put out so far, over all frames: for progress displays."""
        return self._frame * self.recording.num_pulses + self._at

    @guarded
    def work(self, input_items, output_items):
        rec = self.recording
        if self._frame >= self._frames:
            return WORK_DONE
        count = min(len(output_items[0]), self._batch, rec.num_pulses - self._at)
        lines = rec.lines(self._at, self._at + count)
        output_items[0][:count] = lines.reshape(output_items[0][:count].shape)
        for port, positions in zip(output_items[1:], self._positions):
            port[:count] = positions[self._at : self._at + count]
        if self._at == 0:
            for port in range(len(output_items)):
                self.add_item_tag(port, self.nitems_written(port), pmt.intern("sar_frame"),
                                  self._tag(), pmt.intern("recording_source"))
        self._at += count
        if self._at == rec.num_pulses:
            self._at = 0
            self._frame += 1
        return count

    def _tag(self):
        rec = self.recording
        axis = rec.acq.compressed_axis(1)
        centroid = pmt.from_double(rec.acq.doppler_centroid_hz)
        if any(rec.acq.doppler_centroid_slopes):  # a polynomial, lowest first
            centroid = pmt.init_f64vector(
                1 + len(rec.acq.doppler_centroid_slopes),
                [rec.acq.doppler_centroid_hz, *rec.acq.doppler_centroid_slopes])
        tag = pmt.make_dict()
        for key, value in (
                ("frame", pmt.from_long(self._frame)),
                ("lines", pmt.from_long(rec.num_pulses)),
                ("samples", pmt.from_long(rec.acq.samples)),
                ("prf_hz", pmt.from_double(rec.acq.prf_hz)),
                ("slant_range_first_m", pmt.from_double(rec.acq.slant_range_first_m)),
                ("spacing_m", pmt.from_double(axis.spacing_m)),
                ("doppler_centroid_hz", centroid),
                ("domain", pmt.intern("raw")),
                ("pulse", pmt.from_uint64(rec.first_pulse)),
                ("time_s", pmt.from_double(float(rec.times_s[0])))):
            tag = pmt.dict_add(tag, pmt.intern(key), value)
        return tag


__all__ = ["recording_source", "RecordingError"]

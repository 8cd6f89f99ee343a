# SPDX-License-Identifier: GPL-3.0-or-later
"""What every gr-sar block answers, for the blocks written in Python.

As in C++ (gnuradio/sar/stage.h): an exception out of work() would leave the flowgraph
hanging, so it is caught, logged, kept for error(), and the flowgraph ends in order.
"""

import functools
import threading
import time

WORK_DONE = -1


class python_stage:
    """Mixin: backend(), error(), work_seconds(), work_calls()."""

    def init_stage(self, name):
        self._stage_name = name
        self._error = ""
        self._work_seconds = 0.0
        self._work_calls = 0
        self._lock = threading.Lock()

    def backend(self):
        """Where the block runs."""
        return "cpu (Python)"

    def error(self):
        """Empty, or the sentence that ended the flowgraph."""
        with self._lock:
            return self._error

    def work_seconds(self):
        """Seconds spent in work() so far."""
        return self._work_seconds

    def work_calls(self):
        """Calls of work() so far."""
        return self._work_calls

    def note_error(self, e):
        text = str(e) or type(e).__name__
        with self._lock:
            if not self._error:
                self._error = text
        try:
            self.logger.error(f"{self._stage_name}: {text}")
        except Exception:  # logging must not hide the error itself
            pass


def guarded(method, failed=WORK_DONE):
    """Decorator of work(), start() and stop()."""

    @functools.wraps(method)
    def run(self, *args):
        begin = time.perf_counter()
        try:
            return method(self, *args)
        except Exception as e:
            self.note_error(e)
            return failed
        finally:
            self._work_seconds += time.perf_counter() - begin
            self._work_calls += 1

    return run

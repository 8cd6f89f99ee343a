# SPDX-License-Identifier: GPL-3.0-or-later
"""gr-sar: synthetic-aperture-radar imaging as GNU Radio blocks, on CPU and GPU."""

from gnuradio import gr as _gr  # noqa: F401  base classes must be known first

from .sar_python import *  # noqa: F401,F403

# SPDX-License-Identifier: GPL-3.0-or-later
"""gr-sar: synthetic-aperture-radar imaging as GNU Radio blocks, on CPU and GPU."""

from gnuradio import gr as _gr  # noqa: F401  base classes must be known first

from .sar_python import *  # noqa: F401,F403
from .back_projection_chain import back_projection_chain  # noqa: F401
from . import calibration  # noqa: F401
from .image_display import image_display  # noqa: F401
from .image_sink import image_sink  # noqa: F401
from .range_doppler_chain import range_doppler_chain  # noqa: F401
from .recording_source import recording_source  # noqa: F401
from .recordings import Recording, RecordingError, open_recording  # noqa: F401
from .formats import open_stream  # noqa: F401
from .sigmf_files import write_sigmf  # noqa: F401
from .nmea import read_nmea  # noqa: F401

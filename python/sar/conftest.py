# SPDX-License-Identifier: GPL-3.0-or-later
import os

import pytest


def data_folder():
    """Where the recordings of others are: $SAR_DATA, or shared/data beside the source."""
    source = os.environ.get(
        "SAR_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    for folder in (os.environ.get("SAR_DATA"), os.path.join(source, "..", "shared", "data")):
        if folder and os.path.isdir(folder):
            return folder
    return None


def _set(name):
    folder = data_folder()
    path = folder and os.path.join(folder, name)
    if not path or not os.path.isdir(path):
        pytest.skip(f"recording set {name} is not here (set SAR_DATA to its parent folder)")
    return path


@pytest.fixture
def gotcha():
    folder = _set("afrl_gotcha_pass1_hh")
    return [os.path.join(folder, f"data_3dsar_pass1_az00{i}_HH.mat") for i in (1, 2)]


@pytest.fixture
def rail():
    return _set("p440_uwb_rail")


@pytest.fixture
def radarsat():
    return _set("radarsat1_vancouver")

// SPDX-License-Identifier: GPL-3.0-or-later
//
// Stands in for soapy_radio.cc in a build without SoapySDR.
#include "soapy_radio.h"
#include <stdexcept>

namespace gr {
namespace sar {

std::unique_ptr<known_radio> open_soapy_radio(const radio_settings&, double, double, bool)
{
    throw std::invalid_argument(
        "radar_transceiver cannot be used: gr-sar was built without SoapySDR; install "
        "its development files (Debian: libsoapysdr-dev) and build again, with "
        "ENABLE_SOAPY not OFF");
}

} // namespace sar
} // namespace gr

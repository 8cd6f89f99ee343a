// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/attributes.h>

#ifdef gnuradio_sar_EXPORTS
#define SAR_API __GR_ATTR_EXPORT
#else
#define SAR_API __GR_ATTR_IMPORT
#endif

// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

// The image that I and Q of a receiver make when their gains differ, or when they are
// not at right angles.
//
// Symbols
//   x   what would be received, y what is: y = x + w conj(x)
//   p   the pulse, n samples, with a Hann window over its length
//   t   first sample at which anything of the pulse can be received
//
// Correlated with p, echoes are peaks at delays t and later. The image of each, a chirp
// the other way, is spread over n samples on either side of it. So what there is at
// delays t - n / 2 to t - g is image alone:
//
//   M(tau) = sum y(tau + i) conj(p(i)) = w Z(tau),  Z(tau) = sum v(tau + i) conj(p(i))
//
// with v = conj(x), and w = sum M conj(Z) / sum |Z|^2 does not depend on the scene, as
// the blind mean of y^2 over that of 2 |y|^2 does: there every echo adds its own second
// moment, which is that of the pulse, about 1 / sqrt(time bandwidth). g keeps away the
// rise of the peaks, 2 over the bandwidth. What is left of their side lobes is the error:
// small against an image of what comes first, larger against that of late echoes alone.

#include "../core/cf32.h"
#include "../core/range_doppler.h"
#include "../core/window.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <gnuradio/fft/fft.h>
#include <optional>
#include <vector>

namespace gr {
namespace sar {

class image_estimate
{
public:
    /*!
     * \param pulse as it is sent \param rise samples before a pulse that its rise takes
     * \param interval samples to the next pulse
     */
    image_estimate(const std::vector<cf32>& pulse, int rise, double interval)
        : d_pulse(static_cast<int>(pulse.size())),
          d_before(std::min(d_pulse / 2, static_cast<int>(interval / 2))),
          d_delays(d_before - rise),
          d_length(line_fft_length(d_before + 2 * d_pulse)),
          d_forward(d_length),
          d_inverse(d_length)
    {
        std::fill_n(d_forward.get_inbuf(), d_length, gr_complex(0));
        const std::vector<double> hann = window("hann").samples(d_pulse);
        for (int i = 0; i < d_pulse; ++i) {
            const cf32 v = static_cast<float>(hann[i]) * pulse[i];
            d_forward.get_inbuf()[i] = { v.re, v.im };
        }
        d_forward.execute();
        d_filter.assign(d_forward.get_outbuf(), d_forward.get_outbuf() + d_length);
    }

    bool possible() const { return d_delays >= 8; }
    //! Of the pulse: its samples times the part of the band that it fills.
    double time_bandwidth() const
    {
        double sum = 0, squares = 0;
        for (const gr_complex& v : d_filter) {
            const double power = std::norm(v);
            sum += power;
            squares += power * power;
        }
        // the window of a chirp is that of its spectrum, too: (mean of hann^2)^2 over
        // mean of hann^4
        constexpr double narrowed = 18.0 / 35;
        return squares > 0 ? d_pulse * sum * sum / (squares * d_length) / narrowed : 0;
    }
    //! Samples looked at: from t - before() on.
    int before() const { return d_before; }
    int samples() const { return d_delays + d_pulse; }

    //! \return w, or nothing where noise or an echo hides it
    std::optional<std::complex<double>> of(const cf32* y, const cf32* v)
    {
        d_m = compressed(y);
        const std::vector<gr_complex>& z = compressed(v);
        std::complex<double> product = 0;
        double image = 0, all = 0;
        for (int k = 0; k < d_delays; ++k) {
            product += std::complex<double>(d_m[k] * std::conj(z[k]));
            image += std::norm(z[k]);
            all += std::norm(d_m[k]);
        }
        if (!(all < most * image))
            return std::nullopt;
        return product / image;
    }

private:
    static constexpr double most = 0.3; // 1 is what noise has

    const std::vector<gr_complex>& compressed(const cf32* x)
    {
        std::fill_n(d_forward.get_inbuf(), d_length, gr_complex(0));
        std::copy_n(
            reinterpret_cast<const gr_complex*>(x), samples(), d_forward.get_inbuf());
        d_forward.execute();
        for (int k = 0; k < d_length; ++k)
            d_inverse.get_inbuf()[k] = d_forward.get_outbuf()[k] * std::conj(d_filter[k]);
        d_inverse.execute();
        d_z.assign(d_inverse.get_outbuf(), d_inverse.get_outbuf() + d_delays);
        return d_z;
    }

    const int d_pulse;
    const int d_before;
    const int d_delays;
    const int d_length;
    fft::fft_complex_fwd d_forward;
    fft::fft_complex_rev d_inverse;
    std::vector<gr_complex> d_filter, d_m, d_z;
};

} // namespace sar
} // namespace gr

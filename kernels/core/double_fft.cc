// SPDX-License-Identifier: GPL-3.0-or-later
#include "double_fft.h"
#include "constants.h"
#include <cmath>
#include <cstddef>

namespace gr {
namespace sar {

namespace {

using complex_double = std::complex<double>;

//! \p roots holds exp(-j 2 pi i / roots.size()).
void transform(const complex_double* in,
               complex_double* out,
               int n,
               int stride,
               const std::vector<complex_double>& roots)
{
    if (n == 1) {
        *out = *in;
        return;
    }
    int p = 2;
    while (n % p)
        ++p;
    const int m = n / p;
    for (int r = 0; r < p; ++r)
        transform(in + static_cast<std::ptrdiff_t>(r) * stride,
                  out + r * m,
                  m,
                  stride * p,
                  roots);
    const std::size_t step = roots.size() / n;
    std::vector<complex_double> v(p);
    for (int k = 0; k < m; ++k) {
        for (int r = 0; r < p; ++r)
            v[r] = out[r * m + k];
        for (int q = 0; q < p; ++q) {
            complex_double sum = 0;
            for (int r = 0; r < p; ++r)
                sum += v[r] * roots[static_cast<std::size_t>(r) * (k + q * m) % n * step];
            out[q * m + k] = sum;
        }
    }
}

} // namespace

std::vector<complex_double> double_fft(const std::vector<complex_double>& x)
{
    const int n = static_cast<int>(x.size());
    std::vector<complex_double> roots(n);
    for (int i = 0; i < n; ++i)
        roots[i] = std::polar(1.0, -2 * pi * i / n);
    std::vector<complex_double> out(n);
    if (n > 0)
        transform(x.data(), out.data(), n, 1, roots);
    return out;
}

} // namespace sar
} // namespace gr

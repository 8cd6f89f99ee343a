// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gnuradio/sar/kernel/core/errors.h>
#include <pmt/pmt.h>
#include <string>
#include <vector>

namespace gr {
namespace sar {

//! Reading and writing of the dictionaries that travel as tags: sar_frame and sar_image.
class frame_tag
{
public:
    frame_tag() : d_dict(pmt::make_dict()) {}
    //! \throws std::runtime_error when \p value is no dictionary
    explicit frame_tag(const pmt::pmt_t& value, const char* name = "sar_frame")
        : d_dict(value)
    {
        if (!pmt::is_dict(value))
            throw std::runtime_error(sentence("the tag ", name, " is no dictionary"));
    }

    bool has(const char* key) const { return pmt::dict_has_key(d_dict, pmt::mp(key)); }
    pmt::pmt_t get(const char* key) const
    {
        return pmt::dict_ref(d_dict, pmt::mp(key), pmt::PMT_NIL);
    }
    double number(const char* key, double otherwise) const
    {
        const pmt::pmt_t v = get(key);
        if (pmt::is_uint64(v)) // counts for is_number(), but not for to_double()
            return static_cast<double>(pmt::to_uint64(v));
        return pmt::is_number(v) ? pmt::to_double(v) : otherwise;
    }
    //! False when it is not there, or anything but the boolean true.
    bool is_true(const char* key) const { return pmt::eqv(get(key), pmt::PMT_T); }
    //! Empty when it is not there.
    std::string text(const char* key) const
    {
        const pmt::pmt_t v = get(key);
        return pmt::is_symbol(v) ? pmt::symbol_to_string(v) : "";
    }
    //! A number or an f64vector; empty when it is not there.
    std::vector<double> numbers(const char* key) const
    {
        const pmt::pmt_t v = get(key);
        if (pmt::is_f64vector(v))
            return pmt::f64vector_elements(v);
        if (pmt::is_number(v))
            return { pmt::to_double(v) };
        return {};
    }

    frame_tag& put(const char* key, const pmt::pmt_t& value)
    {
        d_dict = pmt::dict_add(d_dict, pmt::mp(key), value);
        return *this;
    }
    frame_tag& put(const char* key, const char* value)
    {
        return put(key, pmt::mp(value));
    }
    frame_tag& put(const char* key, const std::string& value)
    {
        return put(key, pmt::mp(value));
    }
    frame_tag& put(const char* key, double value)
    {
        return put(key, pmt::from_double(value));
    }
    frame_tag& put(const char* key, int value) { return put(key, pmt::from_long(value)); }
    frame_tag& put(const char* key, std::uint64_t value)
    {
        return put(key, pmt::from_uint64(value));
    }
    frame_tag& put(const char* key, bool value)
    {
        return put(key, pmt::from_bool(value));
    }
    //! One value as a number, several as an f64vector.
    frame_tag& put(const char* key, const std::vector<double>& values)
    {
        return put(key,
                   values.size() == 1 ? pmt::from_double(values[0])
                                      : pmt::init_f64vector(values.size(), values));
    }

    //! A field as in another one, or not there as in that.
    frame_tag& copy(const char* key, const frame_tag& from)
    {
        if (from.has(key))
            return put(key, from.get(key));
        d_dict = pmt::dict_delete(d_dict, pmt::mp(key));
        return *this;
    }

    const pmt::pmt_t& dict() const { return d_dict; }

private:
    pmt::pmt_t d_dict;
};

} // namespace sar
} // namespace gr

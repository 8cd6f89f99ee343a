// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "frame_tag.h"
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

namespace gr {
namespace sar {

/*!
 * \brief What a sar_frame tag says against what a stage was made for.
 *
 * A field that is missing contradicts nothing. \throws std::runtime_error naming field,
 * both values and what to do
 */
class frame_check
{
public:
    //! \p stage: name of the block, for the sentences
    frame_check(const frame_tag& tag, const std::string& stage)
        : d_tag(tag), d_stage(stage)
    {
    }

    const frame_check& domain(std::initializer_list<const char*> expected,
                              const char* what_to_do) const
    {
        const std::string has = d_tag.text("domain");
        std::string list;
        for (const char* d : expected) {
            if (has == d)
                return *this;
            list += list.empty() ? d : std::string(" or ") + d;
        }
        if (!has.empty())
            throw std::runtime_error(sentence("sar_frame has the domain '",
                                              has,
                                              "', but ",
                                              d_stage,
                                              " takes ",
                                              list,
                                              "; ",
                                              what_to_do));
        return *this;
    }

    //! \p parameter: where the stage has its number from
    const frame_check&
    same(const char* field, double mine, double tolerance, const char* parameter) const
    {
        const double theirs = d_tag.number(field, mine);
        if (!(std::abs(theirs - mine) <= tolerance))
            throw std::runtime_error(sentence("sar_frame has ",
                                              field,
                                              " ",
                                              theirs,
                                              ", but ",
                                              parameter,
                                              " of ",
                                              d_stage,
                                              " says ",
                                              mine,
                                              "; give all stages of the chain the same"));
        return *this;
    }

    const frame_check&
    same(const char* field, const std::string& mine, const char* parameter) const
    {
        const std::string theirs = d_tag.text(field);
        if (!theirs.empty() && theirs != mine)
            throw std::runtime_error(
                sentence("sar_frame has ",
                         field,
                         " '",
                         theirs,
                         "', but ",
                         parameter,
                         " of ",
                         d_stage,
                         " is '",
                         mine,
                         "'; give all stages of the chain the same"));
        return *this;
    }

private:
    const frame_tag& d_tag;
    const std::string d_stage;
};

//! Coefficients of the Doppler centroid that a stage is to use: those of a tag that says
//! where they come from, else \p given.
inline std::vector<double> centroid_of(const frame_tag& tag,
                                       const std::vector<double>& given)
{
    const std::vector<double> c = tag.numbers("doppler_centroid_hz");
    return tag.has("centroid_from") && !c.empty() ? c : given;
}

} // namespace sar
} // namespace gr

// SPDX-License-Identifier: GPL-3.0-or-later
#include "../kernels/core/constants.h"
#include "../kernels/core/errors.h"
#include "simulated_radar.h"
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace gr {
namespace sar {

namespace {

using tree = boost::property_tree::ptree;

//! One object of the file: values by key, each once; what is left over is an error.
class object
{
public:
    object(const tree& t, std::string where, const std::set<std::string>& known)
        : d_tree(t), d_where(std::move(where))
    {
        std::string expected;
        for (const std::string& k : known)
            expected += (expected.empty() ? "" : ", ") + k;
        for (const auto& [key, value] : t)
            require(known.count(key),
                    d_where,
                    " has the key '",
                    key,
                    "'; expected only: ",
                    expected);
    }

    bool has(const std::string& key) const { return d_tree.count(key) > 0; }

    const tree& child(const std::string& key) const
    {
        require(has(key), d_where, " has no '", key, "'; it is needed");
        return d_tree.find(key)->second;
    }

    double number(const std::string& key) const
    {
        return number(child(key), d_where + ", " + key);
    }
    double number(const std::string& key, double otherwise) const
    {
        return has(key) ? number(key) : otherwise;
    }

    std::string text(const std::string& key) const
    {
        return child(key).get_value<std::string>();
    }

    vec3 point(const std::string& key) const
    {
        return point(child(key), d_where + ", " + key);
    }

    static double number(const tree& t, const std::string& where)
    {
        const auto x = t.get_value_optional<double>();
        require(x && std::isfinite(*x) && t.empty(),
                where,
                " is '",
                t.get_value<std::string>(),
                "'; expected a number");
        return *x;
    }

    static std::vector<double> numbers(const tree& t, const std::string& where)
    {
        std::vector<double> v;
        for (const auto& [key, value] : t) {
            require(key.empty(), where, " is no list; expected [number, ...]");
            v.push_back(number(value, where));
        }
        return v;
    }

    static vec3 point(const tree& t, const std::string& where)
    {
        const std::vector<double> v = numbers(t, where);
        require(v.size() == 3, where, " has ", v.size(), " numbers; expected [x, y, z]");
        return { v[0], v[1], v[2] };
    }

private:
    const tree& d_tree;
    std::string d_where;
};

//! A .nav.csv: a row of names, then numbers; time_s, x_m, y_m, z_m are used.
trajectory track_from_csv(const std::string& file)
{
    std::ifstream in(file);
    require(in.good(), "trajectory file ", file, " cannot be read; expected a .nav.csv");
    std::string line;
    std::getline(in, line);
    std::map<std::string, std::size_t> column;
    std::istringstream head(line);
    for (std::string name; std::getline(head, name, ',');) {
        name.erase(name.find_last_not_of(" \r") + 1);
        name.erase(0, name.find_first_not_of(' '));
        column.emplace(name, column.size());
    }
    for (const char* name : { "time_s", "x_m", "y_m", "z_m" })
        require(column.count(name), file, " has no column ", name, "; it is needed");
    std::vector<double> times;
    std::vector<vec3> positions;
    for (int row = 2; std::getline(in, line); ++row) {
        if (line.find_first_not_of(" \r") == std::string::npos)
            continue;
        std::vector<double> v;
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) {
            std::istringstream number(cell);
            number.imbue(std::locale::classic());
            double x;
            // columns of words may stand beside those used here
            v.push_back(number >> x ? x : std::nan(""));
        }
        require(v.size() == column.size(),
                file,
                " line ",
                row,
                " has ",
                v.size(),
                " columns; expected ",
                column.size());
        times.push_back(v[column["time_s"]]);
        positions.push_back({ v[column["x_m"]], v[column["y_m"]], v[column["z_m"]] });
    }
    return trajectory::sampled(times, positions);
}

std::string beside(const std::string& file, const std::string& name)
{
    const auto slash = file.find_last_of('/');
    return name.empty() || name[0] == '/' || slash == std::string::npos
               ? name
               : file.substr(0, slash + 1) + name;
}

trajectory read_track(const tree& t, const std::string& file)
{
    const object o(
        t, "trajectory", { "start_m", "velocity_m_s", "times_s", "positions_m", "file" });
    if (o.has("file"))
        return track_from_csv(beside(file, o.text("file")));
    if (o.has("times_s")) {
        std::vector<vec3> positions;
        for (const auto& [key, value] : o.child("positions_m"))
            positions.push_back(object::point(value, "trajectory, positions_m"));
        return trajectory::sampled(
            object::numbers(o.child("times_s"), "trajectory, times_s"), positions);
    }
    return trajectory::straight(o.point("start_m"),
                                o.has("velocity_m_s") ? o.point("velocity_m_s")
                                                      : vec3{ 0, 0, 0 });
}

point_target read_target(const tree& t, std::size_t k)
{
    const object o(t,
                   sentence("targets[", k, "]"),
                   { "position_m", "amplitude", "amplitude_db", "phase_rad" });
    require(!(o.has("amplitude") && o.has("amplitude_db")),
            "targets[",
            k,
            "] has amplitude and amplitude_db; expected one of them");
    const double a = o.has("amplitude_db") ? std::pow(10, o.number("amplitude_db") / 20)
                                           : o.number("amplitude", 1);
    return { o.point("position_m"), a * std::polar(1.0, o.number("phase_rad", 0)) };
}

} // namespace

radar_scene read_scene(const std::string& file)
{
    try {
        tree t;
        boost::property_tree::read_json(file, t);
        const object o(t,
                       "the scene",
                       { "format",
                         "version",
                         "targets",
                         "trajectory",
                         "hold_s",
                         "spreading_reference_m",
                         "beam_deg",
                         "beam_squint_deg",
                         "clutter" });
        require(o.has("format") && o.text("format") == "gr-sar scene" &&
                    o.number("version", 0) == 1,
                "format or version is not known; expected \"format\": \"gr-sar scene\", "
                "\"version\": 1");
        radar_scene s;
        if (o.has("targets"))
            for (const auto& [key, value] : o.child("targets"))
                s.targets.push_back(read_target(value, s.targets.size()));
        if (o.has("trajectory"))
            s.track = read_track(o.child("trajectory"), file);
        s.hold_s = o.number("hold_s", 0);
        s.spreading_reference_m = o.number("spreading_reference_m", 0);
        s.beam_rad = o.number("beam_deg", 0) * pi / 180;
        s.beam_squint_rad = o.number("beam_squint_deg", 0) * pi / 180;
        if (o.has("clutter")) {
            const object c(o.child("clutter"),
                           "clutter",
                           { "points", "corner_m", "opposite_m", "power_db", "seed" });
            const auto points = clutter(static_cast<int>(c.number("points")),
                                        c.point("corner_m"),
                                        c.point("opposite_m"),
                                        std::pow(10, c.number("power_db") / 10),
                                        static_cast<std::uint64_t>(c.number("seed", 1)));
            s.targets.insert(s.targets.end(), points.begin(), points.end());
        }
        simulated_radar check(s);
        return s;
    } catch (const boost::property_tree::json_parser_error& e) {
        throw std::invalid_argument(
            sentence("scene file ",
                     file,
                     e.line() ? sentence(", line ", e.line()) : "",
                     ": ",
                     e.message(),
                     "; expected a JSON file, see docs/sarsim.md"));
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(sentence("scene file ", file, ": ", e.what()));
    }
}

} // namespace sar
} // namespace gr

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The flat file that describes a twin, for the plugin of SimGrid (twin.cpp).
 *
 * The file is lines of words; `#` begins a comment line. Sizes are bytes, times seconds, rates bytes/s.
 * Links, switches and hosts are counted from 0 in the order of their lines, and referred to by that number.
 *
 *   fabric-twin-platform 1                      first line: the format
 *   processors COUNT SPEED                      of each host, in flops/s; where programs or replays compute
 *   hop_latency HOP                             what each link between switches adds to the latency
 *   in_turn SIZE                                messages of a pair of hosts come one after another, and below this
 *                                               size so do those of a host to all others; without it all share
 *   adapter SECONDS SIZE                        below SIZE, how long a message keeps its sender's adapter after it
 *                                               has left; what the host sends next waits for it, and what comes in
 *   calls begin|whole SIZE                      messages from SIZE on begin, or move at all, only while their hosts are
 *                                               within calls of MPI
 *   table inter|intra KIND COUNT SIZE VALUE ... linear between the points, level outside; two points a byte
 *                                               apart make a jump. KIND: send, receive, latency
 *   link NAME RATE shared|several RATE2 TO
 *                                               `several`: RATE for one flow, RATE2 for all where there are
 *                                               more; only this policy has RATE2. TO: the switch it leads to,
 *                                               `-` if that is a host
 *   switch NAME
 *   host NAME SWITCH SLOWNESS out COUNT LINK ... in COUNT LINK ... self COUNT LINK ...
 *                                               links from the host to its switch, from the switch to the
 *                                               host, and within the host; SLOWNESS multiplies its costs
 *   next SWITCH LINK ...                        for each host the link that leads there, `-` if it is here
 *   end LINES                                   the number of lines before it
 *
 * src/fabric_twins/model/platform_file.py writes it, and has found that the routes reach every host; what is held here
 * is that the file is of this format and whole, and that numbers refer to what exists.
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/* The plugin shares a process with SimGrid's names. */
namespace {

/*
 * The latency that SimGrid sees of every route. It weighs the shares of flows by the latency of their
 * routes, so all have to have the same; the real one comes from the factor that multiplies it.
 */
constexpr double nominal_latency = 1e-6;

/* Every message carries this much in addition, which MPI does not count. */
constexpr double envelope = 16.0;

constexpr int nowhere = -1;

struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* --------------------------------------------------------------- costs */

/* Piecewise linear in the size of a message. */
class Table {
    std::vector<std::pair<double, double>> points_; // size, value

public:
    explicit Table(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {}

    double operator()(double size) const
    {
        const auto above = std::upper_bound(points_.begin(), points_.end(), size,
                                            [](double at, const auto& point) { return at < point.first; });
        if (above == points_.begin()) {
            return above->second;
        }
        const auto below = std::prev(above);
        if (above == points_.end()) {
            return below->second;
        }
        const double share = (size - below->first) / (above->first - below->first);
        return below->second + share * (above->second - below->second);
    }
};

/* What a message costs, between nodes or within one. */
struct Costs {
    Table send{{{0.0, 0.0}}};
    Table receive{{{0.0, 0.0}}};
    Table latency{{{0.0, nominal_latency}}};
};

/* ------------------------------------------------------------ platform */

struct LinkLine {
    std::string name;
    double rate = 0.0;
    double rate_of_several = 0.0; // 0: all flows share `rate`
    int to = nowhere;
};

struct HostLine {
    std::string name;
    int at = nowhere;
    double slowness = 1.0;
    std::vector<int> out;
    std::vector<int> in;
    std::vector<int> self;
};

struct Platform {
    Costs inter;
    Costs intra;
    int processors = 1;
    double speed = 1e9; // nothing computes in simulated time, unless it is told to
    double hop_latency = 0.0;
    double in_turn_below = nowhere;
    double adapter = 0.0;
    double adapter_below = 0.0;
    std::string calls; // begin, whole or empty
    double calls_from = 0.0;
    std::vector<LinkLine> links;
    size_t switches = 0;
    std::vector<HostLine> hosts;
    std::vector<std::vector<int>> next; // by switch and host
};

/* Links between the switches on the way from one host to another. */
std::vector<int> trunks(const Platform& platform, int from, int to)
{
    std::vector<int> way;
    int at = platform.hosts[from].at;
    while (at != platform.hosts[to].at) {
        const int link = platform.next[at][to];
        if (link == nowhere || way.size() >= platform.switches) {
            throw FileError("there is no route to host " + platform.hosts[to].name + "; write the file again");
        }
        way.push_back(link);
        at = platform.links[link].to;
    }
    return way;
}

/* ---------------------------------------------------------------- file */

/* The words of one line. */
class Line {
    std::istringstream words_;
    std::string place_; // file and line

public:
    Line(const std::string& text, std::string place) : words_(text), place_(std::move(place)) {}

    [[noreturn]] void fail() const { throw FileError(place_ + ": the line cannot be read; write the file again"); }

    template <typename Value> Value next()
    {
        Value value{};
        if (!(words_ >> value)) {
            fail();
        }
        return value;
    }

    double number()
    {
        const auto value = next<double>();
        if (value < 0.0) {
            fail();
        }
        return value;
    }

    /* The number of something of which there are `below`, or of nothing. */
    int index_or_none(size_t below)
    {
        const auto word = next<std::string>();
        if (word == "-") {
            return nowhere;
        }
        size_t value = 0;
        if (!(std::istringstream(word) >> value) || value >= below) {
            fail();
        }
        return static_cast<int>(value);
    }

    int index(size_t below)
    {
        const int value = index_or_none(below);
        if (value == nowhere) {
            fail();
        }
        return value;
    }

    std::vector<int> indices(const char* title, size_t below)
    {
        if (next<std::string>() != title) {
            fail();
        }
        std::vector<int> all(static_cast<size_t>(index(most)));
        for (int& each : all) {
            each = index(below);
        }
        return all;
    }

    Table table()
    {
        std::vector<std::pair<double, double>> points(static_cast<size_t>(index(most)));
        for (auto& [size, value] : points) {
            size = number();
            value = number();
        }
        if (points.empty()) {
            fail();
        }
        return Table(points);
    }

    void finish()
    {
        if (std::string rest; words_ >> rest) {
            fail();
        }
    }

private:
    static constexpr size_t most = 10000; // points of a table, or links of a host
};

void read_table_line(Line& line, Platform& platform)
{
    Costs& costs = line.next<std::string>() == "inter" ? platform.inter : platform.intra;
    const std::map<std::string, Table*> kinds = {
        {"send", &costs.send}, {"receive", &costs.receive}, {"latency", &costs.latency}};
    const auto found = kinds.find(line.next<std::string>());
    if (found == kinds.end()) {
        line.fail();
    }
    *found->second = line.table();
}

void read_link(Line& line, Platform& platform)
{
    constexpr size_t most_switches = 2000000; // switches have lines of their own, behind these
    LinkLine link;
    link.name = line.next<std::string>();
    link.rate = line.number();
    if (line.next<std::string>() == "several") {
        link.rate_of_several = line.number();
    }
    link.to = line.index_or_none(most_switches);
    platform.links.push_back(link);
}

void read_host(Line& line, Platform& platform)
{
    HostLine host;
    host.name = line.next<std::string>();
    host.at = line.index(platform.switches);
    host.slowness = line.number();
    host.out = line.indices("out", platform.links.size());
    host.in = line.indices("in", platform.links.size());
    host.self = line.indices("self", platform.links.size());
    platform.hosts.push_back(host);
}

void read_next(Line& line, Platform& platform)
{
    const int at = line.index(platform.switches);
    platform.next.resize(platform.switches);
    for (size_t host = 0; host < platform.hosts.size(); host++) {
        platform.next[at].push_back(line.index_or_none(platform.links.size()));
    }
}

/* Returns false after the last line. */
bool read_line(Line& line, Platform& platform, size_t lines_before)
{
    const auto what = line.next<std::string>();
    if (what == "end") {
        if (line.number() != static_cast<double>(lines_before)) {
            line.fail();
        }
    } else if (what == "processors") {
        platform.processors = line.next<int>();
        platform.speed = line.number();
    } else if (what == "hop_latency") {
        platform.hop_latency = line.number();
    } else if (what == "in_turn") {
        platform.in_turn_below = line.number();
    } else if (what == "adapter") {
        platform.adapter = line.number();
        platform.adapter_below = line.number();
    } else if (what == "calls") {
        platform.calls = line.next<std::string>();
        platform.calls_from = line.number();
    } else if (what == "table") {
        read_table_line(line, platform);
    } else if (what == "link") {
        read_link(line, platform);
    } else if (what == "switch") {
        line.next<std::string>();
        platform.switches++;
    } else if (what == "host") {
        read_host(line, platform);
    } else if (what == "next") {
        read_next(line, platform);
    } else {
        line.fail();
    }
    line.finish();
    return what != "end";
}

Platform read_platform(const std::string& name)
{
    std::ifstream file(name);
    Platform platform;
    std::string text;
    size_t lines = 0;
    bool more = true;
    while (more && std::getline(file, text)) {
        Line line(text, name + ":" + std::to_string(lines + 1));
        if (lines == 0 && text != "fabric-twin-platform 1") {
            throw FileError(name + ":1: this is no platform file of format 1; write it with this plugin's own library");
        }
        if (lines > 0 && text[0] != '#') {
            more = read_line(line, platform, lines);
        }
        lines++;
    }
    if (more) {
        throw FileError(name + ": the last line `end` is missing: the file was cut off; write it again");
    }
    return platform;
}

} // namespace

#endif

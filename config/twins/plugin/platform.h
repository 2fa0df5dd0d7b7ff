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
 *   register SIZE COUNT BYTES VALUE ...         of messages from SIZE on, what their hosts take to register so many
 *                                               bytes of memory that were not
 *   table inter|intra KIND COUNT SIZE VALUE ... linear between the points, level outside; two points a byte
 *                                               apart make a jump. KIND: send, receive, latency, and
 *                                               bandwidth (share of the rate)
 *   link NAME RATE shared|fatpipe|several RATE2 TO
 *                                               `several`: RATE for one flow, RATE2 for all where there are
 *                                               more; only this policy has RATE2. TO: the switch it leads to,
 *                                               `-` if that is a host
 *   switch NAME
 *   host NAME SWITCH SLOWNESS out COUNT LINK ... in COUNT LINK ... self COUNT LINK ...
 *                                               links from the host to its switch, from the switch to the
 *                                               host, and within the host; SLOWNESS multiplies its costs
 *   next SWITCH LINK ...                        for each host the link that leads there, `-` if it is here
 *   end LINES                                   the number of lines before it
 */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
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
    Table bandwidth{{{0.0, 1.0}}};
};

/* ------------------------------------------------------------ platform */

struct LinkLine {
    std::string name;
    double rate = 0.0;
    std::string policy;
    double rate_of_several = 0.0;
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
    Table registration{{{0.0, 0.0}}}; // by bytes
    double registers_from = std::numeric_limits<double>::infinity();
    std::vector<LinkLine> links;
    std::vector<std::string> switches;
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
        if (link == nowhere) {
            throw FileError("switch " + platform.switches[at] + " has no way to host " + platform.hosts[to].name);
        }
        if (way.size() >= platform.switches.size()) {
            throw FileError("the routes to host " + platform.hosts[to].name + " go in a circle through switch " +
                            platform.switches[at]);
        }
        way.push_back(link);
        at = platform.links[link].to;
    }
    return way;
}

/* ---------------------------------------------------------------- file */

/* The words of one line; every error names the file and the line. */
class Line {
    std::istringstream words_;
    std::string place_;

public:
    Line(const std::string& text, std::string place) : words_(text), place_(std::move(place)) {}

    [[noreturn]] void fail(const std::string& cause) const { throw FileError(place_ + ": " + cause); }

    std::string word(const char* what)
    {
        std::string found;
        if (!(words_ >> found)) {
            fail(std::string("the line ends where ") + what + " is due");
        }
        return found;
    }

    void expect(const char* wanted)
    {
        if (const std::string found = word(wanted); found != wanted) {
            fail("'" + found + "' where '" + wanted + "' is due");
        }
    }

    double number(const char* what, double least)
    {
        const std::string found = word(what);
        char* end = nullptr;
        const double value = std::strtod(found.c_str(), &end);
        if (*end != '\0' || !std::isfinite(value) || value < least) {
            fail("'" + found + "' is no " + what);
        }
        return value;
    }

    double positive(const char* what)
    {
        const double value = number(what, 0.0);
        if (value <= 0.0) {
            fail(std::string("the ") + what + " is not above zero");
        }
        return value;
    }

    /* A number that counts something of which there are `below`. */
    int index(const char* what, size_t below)
    {
        const double value = number(what, 0.0);
        if (value != std::floor(value) || value >= static_cast<double>(below)) {
            fail(std::string("there is no such ") + what);
        }
        return static_cast<int>(value);
    }

    /* The same, or `-`. */
    int index_or_none(const char* what, size_t below)
    {
        const auto place = words_.tellg();
        if (word(what) == "-") {
            return nowhere;
        }
        words_.seekg(place);
        return index(what, below);
    }

    std::vector<int> indices(const char* what, size_t below)
    {
        constexpr size_t most = 10000;
        std::vector<int> all(static_cast<size_t>(index("count", most)));
        for (int& each : all) {
            each = index(what, below);
        }
        return all;
    }

    void finish()
    {
        if (std::string rest; words_ >> rest) {
            fail("'" + rest + "' is left over at the end of the line");
        }
    }
};

Table read_table(Line& line)
{
    constexpr size_t most = 10000;
    const int count = line.index("count", most);
    if (count == 0) {
        line.fail("a table without points");
    }
    std::vector<std::pair<double, double>> points;
    for (int i = 0; i < count; i++) {
        const double size = line.number("size", 0.0);
        if (!points.empty() && size <= points.back().first) {
            line.fail("the sizes do not rise");
        }
        points.emplace_back(size, line.number("value", 0.0));
    }
    return Table(points);
}

void read_table_line(Line& line, Platform& platform)
{
    const std::string where = line.word("inter or intra");
    if (where != "inter" && where != "intra") {
        line.fail("'" + where + "' is neither inter nor intra");
    }
    Costs& costs = where == "inter" ? platform.inter : platform.intra;
    const std::map<std::string, Table*> kinds = {
        {"send", &costs.send}, {"receive", &costs.receive}, {"latency", &costs.latency}, {"bandwidth", &costs.bandwidth}};
    const std::string kind = line.word("kind of table");
    const auto found = kinds.find(kind);
    if (found == kinds.end()) {
        line.fail("'" + kind + "' is no kind of table");
    }
    *found->second = read_table(line);
}

/* Lines may refer to switches that come later, so this is held against them at the end. */
constexpr size_t most_switches = 1000000;

void read_link(Line& line, Platform& platform)
{
    LinkLine link;
    link.name = line.word("name");
    link.rate = line.positive("rate");
    link.policy = line.word("policy");
    if (link.policy == "several") {
        link.rate_of_several = line.positive("rate");
    } else if (link.policy != "shared" && link.policy != "fatpipe") {
        line.fail("'" + link.policy + "' is no policy of a link");
    }
    link.to = line.index_or_none("switch", most_switches);
    platform.links.push_back(link);
}

void read_host(Line& line, Platform& platform)
{
    HostLine host;
    host.name = line.word("name");
    host.at = line.index("switch", platform.switches.size());
    host.slowness = line.positive("slowness");
    line.expect("out");
    host.out = line.indices("link", platform.links.size());
    line.expect("in");
    host.in = line.indices("link", platform.links.size());
    line.expect("self");
    host.self = line.indices("link", platform.links.size());
    if (host.out.empty() || host.in.empty() || host.self.empty()) {
        line.fail("a host needs at least one link out, in and within");
    }
    platform.hosts.push_back(host);
}

void read_next(Line& line, Platform& platform)
{
    const int at = line.index("switch", platform.switches.size());
    platform.next.resize(platform.switches.size());
    for (size_t host = 0; host < platform.hosts.size(); host++) {
        const int link = line.index_or_none("link", platform.links.size());
        if (link != nowhere && platform.links[link].to == nowhere) {
            line.fail("link " + platform.links[link].name + " leads to no switch");
        }
        platform.next[at].push_back(link);
    }
}

/* Returns false after the last line. */
bool read_line(Line& line, Platform& platform, size_t lines_before)
{
    const std::string what = line.word("keyword");
    if (what == "end") {
        if (line.number("count", 0.0) != static_cast<double>(lines_before)) {
            line.fail("lines are missing before this one");
        }
    } else if (what == "processors") {
        constexpr size_t most = 100000;
        platform.processors = std::max(line.index("count", most), 1);
        platform.speed = line.positive("speed");
    } else if (what == "hop_latency") {
        platform.hop_latency = line.number("latency", 0.0);
    } else if (what == "in_turn") {
        platform.in_turn_below = line.number("size", 0.0);
    } else if (what == "adapter") {
        platform.adapter = line.positive("time");
        platform.adapter_below = line.number("size", 0.0);
    } else if (what == "calls") {
        platform.calls = line.word("part");
        if (platform.calls != "begin" && platform.calls != "whole") {
            line.fail("'" + platform.calls + "' is neither begin nor whole");
        }
        platform.calls_from = line.number("size", 0.0);
    } else if (what == "register") {
        platform.registers_from = line.number("size", 0.0);
        platform.registration = read_table(line);
    } else if (what == "table") {
        read_table_line(line, platform);
    } else if (what == "link") {
        read_link(line, platform);
    } else if (what == "switch") {
        platform.switches.push_back(line.word("name"));
    } else if (what == "host") {
        read_host(line, platform);
    } else if (what == "next") {
        read_next(line, platform);
    } else {
        line.fail("'" + what + "' is no keyword");
    }
    line.finish();
    return what != "end";
}

void require_whole(const std::string& name, const Platform& platform)
{
    if (platform.hosts.empty()) {
        throw FileError(name + ": there are no hosts");
    }
    for (const LinkLine& link : platform.links) {
        if (link.to >= static_cast<int>(platform.switches.size())) {
            throw FileError(name + ": link " + link.name + " leads to a switch that does not exist");
        }
    }
    if (platform.next.size() != platform.switches.size()) {
        throw FileError(name + ": a switch has no line `next`");
    }
    for (const auto& row : platform.next) {
        if (row.size() != platform.hosts.size()) {
            throw FileError(name + ": a switch has no line `next`, or two");
        }
    }
}

Platform read_platform(const std::string& name)
{
    std::ifstream file(name);
    if (!file) {
        throw FileError(name + ": cannot be read; write it again");
    }
    Platform platform;
    std::string text;
    size_t lines = 0;
    bool more = true;
    while (more && std::getline(file, text)) {
        Line line(text, name + ":" + std::to_string(lines + 1));
        if (lines == 0) {
            if (text != "fabric-twin-platform 1") {
                line.fail("this is no platform file of format 1; write it with this plugin's own library");
            }
        } else if (!text.empty() && text[0] != '#') {
            more = read_line(line, platform, lines);
        }
        lines++;
    }
    if (more) {
        throw FileError(name + ": the last line `end` is missing: the file was cut off; write it again");
    }
    require_whole(name, platform);
    return platform;
}

/* Looks every way up once, so that an error shows before the simulation begins. */
void require_ways(const std::string& name, const Platform& platform)
{
    const int hosts = static_cast<int>(platform.hosts.size());
    std::map<int, int> first_at; // one host stands for all of its switch
    for (int host = hosts - 1; host >= 0; host--) {
        first_at[platform.hosts[host].at] = host;
    }
    try {
        for (const auto& [at, from] : first_at) {
            for (int to = 0; to < hosts; to++) {
                trunks(platform, from, to);
            }
        }
    } catch (const FileError& error) {
        throw FileError(name + ": " + error.what());
    }
}

} // namespace

#endif

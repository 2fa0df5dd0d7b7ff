// SPDX-License-Identifier: BSD-3-Clause
/*
 * The platform of every twin: reads the flat file that FABRIC_TWIN_PLATFORM names and builds it in SimGrid.
 *
 *   smpirun -platform ./twin.so ...
 *
 * platform.h describes its lines.
 *
 * Routes are looked up when they are asked for: a thousand hosts have a million of them.
 */
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#include <smpi/smpi.h>

#include "long_messages.h"
#include "platform.h"
#include "releases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;
namespace routing = simgrid::kernel::routing;

/* The one zone of a twin; its routes are those of the platform. */
class Fabric : public routing::NetZoneImpl {
    const Platform& platform_;
    std::vector<simgrid::kernel::resource::StandardLinkImpl*> links_;
    std::unordered_map<const routing::NetPoint*, int> number_;

    void append(const std::vector<int>& which, routing::Route* into) const
    {
        for (const int link : which) {
            into->link_list_.push_back(links_[link]);
        }
    }

public:
    explicit Fabric(const Platform& platform) : NetZoneImpl("twin"), platform_(platform) {}

    void add(const s4u::Link* link) { links_.push_back(link->get_impl()); }

    void add(const s4u::Host* host, int number) { number_[host->get_netpoint()] = number; }

    void get_local_route(const routing::NetPoint* src, const routing::NetPoint* dst, routing::Route* into,
                         double* latency) override
    {
        const int from = number_.at(src);
        const int to = number_.at(dst);
        if (from == to) {
            append(platform_.hosts[from].self, into);
        } else {
            append(platform_.hosts[from].out, into);
            append(trunks(platform_, from, to), into);
            append(platform_.hosts[to].in, into);
        }
        if (latency != nullptr) {
            *latency += nominal_latency;
        }
    }
};

void set_policy(s4u::Link* link, const LinkLine& line)
{
    if (line.rate_of_several > 0.0) {
        const double share = line.rate_of_several / line.rate;
        link->set_sharing_policy(s4u::Link::SharingPolicy::NONLINEAR, [share](double capacity, int flows) {
            return flows > 1 ? capacity * share : capacity;
        });
    }
}

const Costs& costs_between(const Platform& platform, const s4u::Host* src, const s4u::Host* dst)
{
    return src == dst ? platform.intra : platform.inter;
}

using Slowness = std::unordered_map<const s4u::Host*, double>;

/*
 * One processor of an adapter for both directions: short messages leave one by one, with LogGP's gap between them
 * (Alexandrov et al., LogGP, 1995), and what comes in waits for those that leave. The way between two adapters is taken
 * as none, so a message that was sent at the same time as another one comes in while that one keeps the adapter. What the
 * processor of the host has begun to send goes first. So two messages meet if each host begins before the other's message
 * leaves: if the hosts are apart by less than sending costs them.
 */
class Adapters {
    const Platform& platform_;
    const Slowness& slowness_;
    std::unordered_map<const s4u::Host*, double> left_;  // when it has done with what left
    std::unordered_map<const s4u::Host*, double> begun_; // the same with what the host has begun to send

    bool keeps(double size, const s4u::Host* src, const s4u::Host* dst) const
    {
        return platform_.adapter > 0.0 && src != dst && size < platform_.adapter_below;
    }

    double next(double& free, double now, const s4u::Host* host) const
    {
        const double begin = std::max(now, free);
        free = begin + slowness_.at(host) * platform_.adapter;
        return begin;
    }

public:
    Adapters(const Platform& platform, const Slowness& slowness) : platform_(platform), slowness_(slowness) {}

    /* The host hands a message over in so many seconds. */
    void begin(double size, const s4u::Host* src, const s4u::Host* dst, double seconds)
    {
        if (keeps(size, src, dst)) {
            next(begun_[src], s4u::Engine::get_clock() + seconds, src);
        }
    }

    /* How long a message waits in both adapters that was handed over now. Called once for each. */
    double wait(double size, const s4u::Host* src, const s4u::Host* dst)
    {
        if (!keeps(size, src, dst)) {
            return 0.0;
        }
        const double now = s4u::Engine::get_clock();
        const double leaves = next(left_[src], now, src);
        return std::max(leaves, begun_[dst]) - now;
    }
};

void register_costs(const Platform& platform, const Slowness& slowness, Adapters& adapters)
{
    const auto send = [&](size_t size, const s4u::Host* src, const s4u::Host* dst) {
        const double bytes = static_cast<double>(size);
        const double seconds = slowness.at(src) * costs_between(platform, src, dst).send(bytes);
        adapters.begin(bytes, src, dst, seconds);
        return seconds;
    };
    const auto receive = [&](size_t size, const s4u::Host* src, const s4u::Host* dst) {
        return slowness.at(dst) * costs_between(platform, src, dst).receive(static_cast<double>(size));
    };
    smpi_register_op_cost_callback(SmpiOperation::SEND, send);
    smpi_register_op_cost_callback(SmpiOperation::ISEND, send);
    smpi_register_op_cost_callback(SmpiOperation::RECV, receive);
}

/*
 * Messages that leave one after another: those of a pair of hosts, because an MPI has one connection for them, and below
 * a size those of a host to all others, which an adapter or a kernel takes whole. SimGrid shares a link among all that is
 * under way; so each message waits, as latency, for those before it, which have the link of the host for themselves.
 */
class Turns {
    const Platform& platform_;
    std::unordered_map<const s4u::Host*, double> rate_; // of the host's link
    std::unordered_map<const s4u::Host*, double> host_; // when its link is free
    std::map<std::pair<const s4u::Host*, const s4u::Host*>, double> pair_;

public:
    explicit Turns(const Platform& platform) : platform_(platform) {}

    void add(const s4u::Host* host, double rate) { rate_[host] = rate; }

    /* How long a message that starts now waits. Called once for each. */
    double wait(double size, const s4u::Host* src, const s4u::Host* dst)
    {
        const double now = s4u::Engine::get_clock();
        double& pair = pair_[{src, dst}];
        double& host = host_[src];
        const bool is_whole = size < platform_.in_turn_below + envelope;
        const double begin = std::max({now, pair, is_whole ? host : now});
        pair = begin + size / rate_.at(src);
        if (is_whole) {
            host = pair;
        }
        return begin - now;
    }
};

/* Without the links of its hosts a route has only those between switches. */
using EndLinks = std::unordered_map<const s4u::Host*, std::pair<size_t, size_t>>;

void register_factors(const Platform& platform, const EndLinks& ends, Turns& turns, Adapters& adapters,
                      LongMessages& long_messages, s4u::NetZone* zone)
{
    auto* const model = network_model(zone);
    const auto payload = [](double size) { return std::max(size - envelope, 0.0); };
    const auto latency = [&, payload, model](double size, const s4u::Host* src, const s4u::Host* dst,
                                      const std::vector<s4u::Link*>& links,
                                      const std::unordered_set<s4u::NetZone*>& /*zones*/) {
        double seconds = costs_between(platform, src, dst).latency(payload(size));
        if (src != dst && platform.hop_latency > 0.0) {
            const size_t trunks = links.size() - ends.at(src).first - ends.at(dst).second;
            seconds += platform.hop_latency * static_cast<double>(trunks);
        }
        if (src != dst && platform.in_turn_below != nowhere) {
            seconds += turns.wait(size, src, dst);
        }
        seconds += adapters.wait(payload(size), src, dst);
        // Called once for each message, which is the last that began.
        long_messages.begin(&model->get_started_action_set()->back(), payload(size), src, dst, seconds);
        return seconds / nominal_latency;
    };
    // SimGrid's own factors are those of another cluster.
    const auto bandwidth = [](double /*size*/, const s4u::Host* /*src*/, const s4u::Host* /*dst*/,
                              const std::vector<s4u::Link*>& /*links*/,
                              const std::unordered_set<s4u::NetZone*>& /*zones*/) { return 1.0; };
    set_factors(zone, latency, bandwidth);
}

LongMessages* long_messages_of_twin = nullptr; // once it is built

void build(const Platform& platform)
{
    // SimGrid keeps the callbacks to its end, and owns the zone.
    static Slowness slowness;
    static EndLinks ends;
    static Turns turns(platform);
    static Adapters adapters(platform, slowness);
    static LongMessages long_messages(platform);
    long_messages_of_twin = &long_messages;
    auto* const fabric = new Fabric(platform);
    make_known(fabric);
    s4u::NetZone* const zone = fabric->get_iface();
    for (const LinkLine& line : platform.links) {
        s4u::Link* const link = add_link(zone, line.name, line.rate);
        set_policy(link, line);
        link->seal();
        fabric->add(link);
    }
    for (size_t i = 0; i < platform.hosts.size(); i++) {
        const HostLine& line = platform.hosts[i];
        s4u::Host* const host = add_host(zone, line.name, platform.speed);
        host->set_core_count(platform.processors);
        fabric->add(host, static_cast<int>(i));
        slowness[host] = line.slowness;
        turns.add(host, platform.links[line.out.front()].rate);
        ends[host] = {line.out.size(), line.in.size()};
        host->seal();
    }
    zone->seal();
    register_costs(platform, slowness, adapters);
    register_factors(platform, ends, turns, adapters, long_messages, zone);
}

} // namespace

extern "C" void load_platform(const s4u::Engine& /*engine*/)
{
    try {
        const char* const name = std::getenv("FABRIC_TWIN_PLATFORM");
        if (name == nullptr || *name == '\0') {
            throw FileError("FABRIC_TWIN_PLATFORM is not set; set it to the platform file of a twin");
        }
        static Platform platform;
        platform = read_platform(name);
        build(platform);
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "twin.so: %s\n", error.what());
        std::_Exit(EXIT_FAILURE);
    }
}

/*
 * Where the plugin was loaded before SimGrid (LD_PRELOAD), SimGrid's MPI_Wtime calls this one, and this SimGrid's own.
 */
extern "C" double PMPI_Wtime()
{
    static auto* const real = reinterpret_cast<double (*)()>(dlsym(RTLD_NEXT, "PMPI_Wtime"));
    if (long_messages_of_twin == nullptr) {
        return real();
    }
    const s4u::Host* const host = s4u::this_actor::get_host();
    long_messages_of_twin->read_clock(host, 1);
    const double seconds = real();
    long_messages_of_twin->read_clock(host, -1);
    return seconds;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * What each pair of `rotate` gets on a twin, without simulated processes: a transfer is a flow.
 *
 *   flows PLATFORM PAIRS ROUNDS SIZE EAGER THREADS TIMES
 *
 * PLATFORM is the file that platform.h describes. PAIRS has for each of ROUNDS rounds as many pairs of
 * int32, sender and receiver; each sends one message of SIZE bytes. Messages below EAGER leave at once. TIMES
 * receives for each pair, as a double, the seconds that rotate's sender would read from its clock.
 *
 * What a round takes is put together of what SimGrid makes of the same program (with the flags of
 * src/fabric_twins/smpirun.py), in this order:
 *
 *   the barrier     ranks leave a tree one after the other; who leaves earlier begins earlier
 *   fixed costs     of the message: of its sender, of the way, of each hop; then of the acknowledgement
 *   the transfer    flows share links max-min fairly, and share anew when one begins or ends
 *
 * What has no part in it: the bytes of barriers and acknowledgements beside the transfers (16 each), what
 * SimGrid's MPI_Waitsome sleeps between tests, and an acknowledgement's wait for an adapter that still sends what is of
 * the barrier, which would take longer than the transfer.
 *
 * max-min: nobody can have more without taking it from one that has no more than he. That is so if every flow has a
 * bottleneck: a full link on its way on which no other is faster (Bertsekas, Gallager, Data Networks, 6.5.2). When a
 * flow begins or ends, those whose bottleneck it changes are shared out again, the others as they are; then those
 * that lost their bottleneck by that as well, until there are no more of them. So few are looked at, and the shares
 * are those of all.
 */
#include "platform.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <queue>
#include <thread>

namespace {

/* Two rates, as shares of each other, and two times, in seconds, that differ by less are the same. */
constexpr double same = 1e-9;
constexpr double same_time = 1e-13;

/* rotate reads the clock, which takes so much of simulated time (smpi/wtime), before it sends. */
constexpr double clock_reading = 1e-7;

struct Pair {
    int32_t sender;
    int32_t receiver;
};

/* ------------------------------------------------------------- fixed costs */

class Costing {
    const Platform& platform_;
    const double eager_below_;

public:
    Costing(const Platform& platform, double eager_below) : platform_(platform), eager_below_(eager_below) {}

    /* An eager message costs its receiver something; of others it knows when the transfer ends. */
    double receive(double size, int at) const
    {
        return size < eager_below_ ? platform_.hosts[at].slowness * platform_.inter.receive(size) : 0.0;
    }

    double isend(double size, int at) const { return platform_.hosts[at].slowness * platform_.inter.send(size); }

    double adapter(int at) const { return platform_.hosts[at].slowness * platform_.adapter; }

    /* MPI_Send of what is not eager waits for the transfer, and costs nothing beside it. */
    bool send_waits(double size) const { return size >= eager_below_; }

    double latency(double size, size_t hops) const
    {
        return platform_.inter.latency(size) + platform_.hop_latency * static_cast<double>(hops);
    }

    double bytes(double size) const { return (size + envelope) / platform_.inter.bandwidth(size); }
};

/* The links from one host to another. */
struct Way {
    std::vector<int> links;
    size_t hops = 0;
};

Way way_between(const Platform& platform, int from, int to)
{
    Way way;
    const std::vector<int> between = trunks(platform, from, to);
    way.hops = between.size();
    way.links = platform.hosts[from].out;
    way.links.insert(way.links.end(), between.begin(), between.end());
    way.links.insert(way.links.end(), platform.hosts[to].in.begin(), platform.hosts[to].in.end());
    return way;
}

/* Of a message without contents that is alone on its way, from the end of its sender's cost. */
double small_transfer(const Platform& platform, const Costing& costing, int from, int to)
{
    const Way way = way_between(platform, from, to);
    double rate = std::numeric_limits<double>::infinity();
    for (const int link : way.links) {
        rate = std::min(rate, platform.links[link].rate);
    }
    return costing.latency(0.0, way.hops) + costing.bytes(0.0) / rate;
}

/*
 * When each host leaves a barrier that the first leaves last of all that are above it: Open MPI's tree, as SimGrid
 * has it (smpi/barrier:ompi_tree). On the way down a rank tells those that differ from it in one bit below its own
 * lowest, the highest bit first.
 */
std::vector<double> barrier_exits(const Platform& platform, const Costing& costing)
{
    const int ranks = static_cast<int>(platform.hosts.size());
    int top = 1;
    while (top < ranks) {
        top *= 2;
    }
    std::vector<double> at(platform.hosts.size(), 0.0); // when it was told; then when it has told all
    std::vector<double> adapter(platform.hosts.size(), 0.0); // when it has done with what left
    for (int jump = top / 2; jump > 0; jump /= 2) {
        for (int rank = 0; rank + jump < ranks; rank += 2 * jump) {
            const int told = rank + jump;
            const double transfer = small_transfer(platform, costing, rank, told);
            if (costing.send_waits(0.0)) {
                at[rank] += transfer;
                at[told] = at[rank];
            } else {
                at[rank] += costing.isend(0.0, rank);
                const double leaves = std::max(at[rank], adapter[rank]);
                adapter[rank] = leaves + costing.adapter(rank);
                at[told] = leaves + transfer + costing.receive(0.0, told);
            }
        }
    }
    return at;
}

/* ------------------------------------------------------------------- flows */

struct Flow {
    std::vector<int> links;
    double begin = 0.0; // of the transfer
    double left = 0.0;  // bytes, at `since`
    double since = 0.0;
    double rate = 0.0;
    double end = 0.0;
    int bottleneck = nowhere;
    unsigned version = 1; // of its end among the events, and the last that is among them
    unsigned queued = 0;
    bool chosen = false; // is being shared out
};

struct Link {
    double capacity = 0.0;
    std::vector<int> flows;
    double left = 0.0; // of those that are being shared out: what is left for them, and their number
    int waiting = 0;
    unsigned version = 0;
    bool chosen = false;
};

/* The flows of one round. What it holds is used again for the next. */
class Round {
    struct Event {
        double time;
        int flow;
        unsigned version;
        bool operator>(const Event& other) const { return time > other.time; }
    };

    struct Share {
        double rate;
        int link;
        unsigned version;
        bool operator>(const Share& other) const { return rate > other.rate; }
    };

    template <typename Item> using Least = std::priority_queue<Item, std::vector<Item>, std::greater<Item>>;

    std::vector<Link> links_;
    std::vector<Flow> flows_;
    std::vector<int> chosen_;       // flows
    std::vector<int> chosen_links_; // on their ways
    std::vector<int> order_;
    std::vector<int> ended_;
    Least<Event> events_;
    double now_ = 0.0;

    void choose(int number)
    {
        Flow& flow = flows_[number];
        if (!flow.chosen) {
            flow.chosen = true;
            chosen_.push_back(number);
            for (const int at : flow.links) {
                if (!links_[at].chosen) {
                    links_[at].chosen = true;
                    chosen_links_.push_back(at);
                }
            }
        }
    }

    /* Shares out what the flows that are not chosen leave, from the narrowest link on (progressive filling). */
    void share_out()
    {
        Least<Share> shares;
        for (const int at : chosen_links_) {
            Link& link = links_[at];
            link.left = link.capacity;
            link.waiting = 0;
            for (const int each : link.flows) {
                if (flows_[each].chosen) {
                    link.waiting++;
                    flows_[each].bottleneck = nowhere;
                } else {
                    link.left -= flows_[each].rate;
                }
            }
            link.left = std::max(link.left, 0.0);
            if (link.waiting > 0) {
                shares.push({link.left / link.waiting, at, ++link.version});
            }
        }
        while (!shares.empty()) {
            const Share least = shares.top();
            shares.pop();
            if (links_[least.link].version == least.version && links_[least.link].waiting > 0) {
                fill(least.link, least.rate, &shares);
            }
        }
    }

    /* Gives what waits on a link its rate; it is full then. */
    void fill(int full, double rate, Least<Share>* shares)
    {
        for (const int each : links_[full].flows) {
            Flow& flow = flows_[each];
            if (!flow.chosen || flow.bottleneck != nowhere) {
                continue;
            }
            flow.bottleneck = full;
            set_rate(each, rate);
            for (const int at : flow.links) {
                Link& link = links_[at];
                link.left = std::max(link.left - rate, 0.0);
                link.waiting--;
                if (link.waiting > 0 && at != full) {
                    shares->push({link.left / link.waiting, at, ++link.version});
                }
            }
        }
    }

    void set_rate(int number, double rate)
    {
        Flow& flow = flows_[number];
        if (flow.rate == rate) {
            return;
        }
        flow.left -= flow.rate * (now_ - flow.since);
        flow.since = now_;
        flow.rate = rate;
        flow.version++; // the event of its end is no longer true
    }

    /* Chooses those whose bottleneck is none any more, or who take from a chosen one. */
    void choose_disturbed()
    {
        const size_t count = chosen_links_.size();
        for (size_t i = 0; i < count; i++) {
            const int at = chosen_links_[i];
            const Link& link = links_[at];
            double load = 0.0;
            double fastest = 0.0;
            double least_chosen = std::numeric_limits<double>::infinity(); // of those that are held back here
            for (const int each : link.flows) {
                const Flow& flow = flows_[each];
                load += flow.rate;
                fastest = std::max(fastest, flow.rate);
                if (flow.chosen && flow.bottleneck == at) {
                    least_chosen = std::min(least_chosen, flow.rate);
                }
            }
            const bool full = load >= link.capacity * (1.0 - same);
            for (const int each : link.flows) {
                const Flow& flow = flows_[each];
                const bool lost = flow.bottleneck == at && (!full || fastest > flow.rate * (1.0 + same));
                if (!flow.chosen && (lost || flow.rate > least_chosen * (1.0 + same))) {
                    choose(each);
                }
            }
        }
    }

    /* Brings the shares of all in order again, given those that have none, or a wrong one. */
    void settle()
    {
        for (size_t before = 0; before != chosen_.size();) {
            before = chosen_.size();
            share_out();
            choose_disturbed();
        }
        for (const int number : chosen_) {
            Flow& flow = flows_[number];
            flow.chosen = false;
            if (flow.queued != flow.version) {
                flow.queued = flow.version;
                events_.push({flow.since + flow.left / flow.rate, number, flow.version});
            }
        }
        for (const int at : chosen_links_) {
            links_[at].chosen = false;
        }
        chosen_.clear();
        chosen_links_.clear();
    }

    void begin(int number)
    {
        Flow& flow = flows_[number];
        flow.since = now_;
        for (const int at : flow.links) {
            links_[at].flows.push_back(number);
        }
        choose(number);
    }

    void end(int number)
    {
        Flow& flow = flows_[number];
        flow.end = now_;
        flow.version++;
        for (const int at : flow.links) {
            std::vector<int>& all = links_[at].flows;
            *std::find(all.begin(), all.end(), number) = all.back();
            all.pop_back();
        }
    }

    /* Ends what ends at the next event; then those that it held back are shared out again. */
    void end_next()
    {
        ended_.clear();
        while (!events_.empty() && events_.top().time <= now_ + same_time) {
            const Event event = events_.top();
            events_.pop();
            if (flows_[event.flow].version == event.version) {
                ended_.push_back(event.flow);
                end(event.flow);
            }
        }
        for (const int number : ended_) {
            for (const int at : flows_[number].links) {
                for (const int other : links_[at].flows) {
                    if (flows_[other].bottleneck == at) {
                        choose(other);
                    }
                }
            }
        }
    }

public:
    explicit Round(const Platform& platform) : links_(platform.links.size())
    {
        for (size_t at = 0; at < links_.size(); at++) {
            links_[at].capacity = platform.links[at].rate;
        }
    }

    std::vector<Flow>& flows() { return flows_; }

    /* From the begins of all flows to their ends. */
    void run()
    {
        order_.resize(flows_.size());
        for (size_t i = 0; i < order_.size(); i++) {
            order_[i] = static_cast<int>(i);
        }
        std::sort(order_.begin(), order_.end(), [&](int a, int b) { return flows_[a].begin < flows_[b].begin; });
        size_t next = 0;
        while (true) {
            while (!events_.empty() && flows_[events_.top().flow].version != events_.top().version) {
                events_.pop();
            }
            if (next == order_.size() && events_.empty()) {
                return;
            }
            const double beginning = next < order_.size() ? flows_[order_[next]].begin
                                                          : std::numeric_limits<double>::infinity();
            now_ = std::min(beginning, events_.empty() ? beginning : events_.top().time);
            end_next();
            for (; next < order_.size() && flows_[order_[next]].begin <= now_ + same_time; next++) {
                begin(order_[next]);
            }
            settle();
        }
    }
};

/* ------------------------------------------------------------------ rounds */

/* What all rounds have in common. */
struct Setting {
    const Platform& platform;
    const Costing costing;
    const double size;
    const std::vector<double> exits; // of the barrier, by host
};

/* Fills in what each pair's sender reads from its clock, in seconds. */
void time_round(const Setting& setting, const Pair* pairs, size_t count, Round* round, double* times)
{
    const Costing& costing = setting.costing;
    round->flows().resize(count);
    for (size_t i = 0; i < count; i++) {
        Way way = way_between(setting.platform, pairs[i].sender, pairs[i].receiver);
        Flow flow;
        flow.begin = setting.exits[pairs[i].sender] + clock_reading + costing.isend(setting.size, pairs[i].sender) +
                     costing.latency(setting.size, way.hops);
        flow.left = costing.bytes(setting.size);
        flow.links = std::move(way.links);
        round->flows()[i] = std::move(flow);
    }
    round->run();
    for (size_t i = 0; i < count; i++) {
        const auto [sender, receiver] = pairs[i];
        const double transferred = round->flows()[i].end - setting.exits[sender];
        const double acknowledged = costing.isend(0.0, receiver) +
                                    small_transfer(setting.platform, costing, receiver, sender) +
                                    costing.receive(0.0, sender);
        times[i] = transferred + costing.receive(setting.size, receiver) + acknowledged;
    }
}

/* Rounds have nothing in common but the barrier before them, so threads take the next one each. */
void time_all(const Setting& setting, const std::vector<Pair>& pairs, size_t rounds, unsigned threads,
              std::vector<double>* times)
{
    const size_t count = pairs.size() / rounds;
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex guard;
    const auto work = [&] {
        try {
            Round round(setting.platform);
            for (size_t at = next++; at < rounds; at = next++) {
                time_round(setting, &pairs[at * count], count, &round, &(*times)[at * count]);
            }
        } catch (...) {
            const std::lock_guard<std::mutex> lock(guard);
            failure = std::current_exception();
            next = rounds;
        }
    };
    std::vector<std::thread> all;
    for (unsigned i = 1; i < threads; i++) {
        all.emplace_back(work);
    }
    work();
    for (std::thread& thread : all) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

/* -------------------------------------------------------------------- main */

void require_shared(const std::string& name, const Platform& platform)
{
    for (const HostLine& host : platform.hosts) {
        for (const auto* const side : {&host.out, &host.in}) {
            for (const int link : *side) {
                if (platform.links[link].policy != "shared") {
                    throw FileError(name + ": link " + platform.links[link].name + " is not of the policy `shared`");
                }
            }
        }
    }
    for (const LinkLine& link : platform.links) {
        if (link.to != nowhere && link.policy != "shared") {
            throw FileError(name + ": link " + link.name + " is not of the policy `shared`");
        }
    }
}

std::vector<Pair> read_pairs(const std::string& name, size_t rounds, size_t hosts)
{
    std::ifstream file(name, std::ios::binary | std::ios::ate);
    const auto bytes = file ? static_cast<size_t>(file.tellg()) : 0;
    if (rounds == 0 || bytes == 0 || bytes % (rounds * sizeof(Pair)) != 0) {
        throw FileError(name + ": cannot be read, or does not have that many pairs in each round");
    }
    std::vector<Pair> pairs(bytes / sizeof(Pair));
    file.seekg(0);
    file.read(reinterpret_cast<char*>(pairs.data()), static_cast<std::streamsize>(bytes));
    const auto there = [hosts](int32_t host) { return host >= 0 && static_cast<size_t>(host) < hosts; };
    for (const Pair& pair : pairs) {
        if (!there(pair.sender) || !there(pair.receiver) || pair.sender == pair.receiver) {
            throw FileError(name + ": has a pair that does not join two hosts");
        }
    }
    if (!file) {
        throw FileError(name + ": cannot be read to the end");
    }
    return pairs;
}

void write_times(const std::string& name, const std::vector<double>& times)
{
    std::ofstream file(name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(times.data()), static_cast<std::streamsize>(times.size() * sizeof(double)));
    file.close();
    if (!file) {
        throw FileError(name + ": cannot be written; free space");
    }
}

void run(char** arguments)
{
    const std::string name = arguments[1];
    const Platform platform = read_platform(name);
    require_ways(name, platform);
    require_shared(name, platform);
    const auto rounds = static_cast<size_t>(std::stod(arguments[3]));
    const std::vector<Pair> pairs = read_pairs(arguments[2], rounds, platform.hosts.size());
    const Costing costing(platform, std::stod(arguments[5]));
    const Setting setting = {platform, costing, std::stod(arguments[4]), barrier_exits(platform, costing)};
    std::vector<double> times(pairs.size());
    time_all(setting, pairs, rounds, static_cast<unsigned>(std::max(std::stod(arguments[6]), 1.0)), &times);
    write_times(arguments[7], times);
}

} // namespace

int main(int count, char** arguments)
{
    constexpr int expected = 8;
    try {
        if (count != expected) {
            throw FileError("usage: flows PLATFORM PAIRS ROUNDS SIZE EAGER THREADS TIMES");
        }
        run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "flows: %s\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Long messages that need the processors of both hosts, which have time for them only within MPI's calls: for the
 * handshake before them, or for all of them.
 *
 * Outside its calls a rank reads the clock: nothing else takes time on a twin (FLAGS of src/fabric_twins/smpirun.py). A host
 * is outside when all its ranks are. A message is looked at when an instant is over, in timers that end at once: what
 * takes no time, as posting it does, is no call that it could wait for.
 */
#ifndef LONG_MESSAGES_H
#define LONG_MESSAGES_H

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

#include "platform.h"
#include "releases.h"

#include <list>
#include <unordered_map>

namespace {

class LongMessages {
    using Action = simgrid::kernel::resource::Action;
    using Host = simgrid::s4u::Host;

    struct Message {
        Action* action;
        const Host* src;
        const Host* dst;
        double latency;       // that is left to pay
        double paid;          // when it is, while it goes
        bool goes = true;
        bool src_met = false; // by an instant within a call
        bool dst_met = false;
    };

    const Platform& platform_;
    std::unordered_map<const Host*, size_t> outside_; // ranks that read the clock
    std::list<Message> messages_;

    static double now() { return simgrid::s4u::Engine::get_clock(); }

    void look_at(double time)
    {
        simgrid::kernel::timer::Timer::set(time, [this] { look(); });
    }

    bool is_inside(const Host* host) { return outside_[host] < host->get_actor_count(); }

    /* Those that only begin within calls are let go for good. */
    bool is_through(Message& message)
    {
        const bool whole = platform_.calls == "whole";
        message.src_met = (message.src_met && !whole) || is_inside(message.src);
        message.dst_met = (message.dst_met && !whole) || is_inside(message.dst);
        const bool goes = message.src_met && message.dst_met;
        if (message.goes && !goes) {
            message.latency = std::max(message.paid - now(), 0.0);
            message.action->suspend();
        } else if (!message.goes && goes) {
            message.paid = now() + message.latency;
            look_at(message.paid);
        }
        message.goes = goes;
        if (goes && message.action->is_suspended() && now() >= message.paid) {
            message.action->resume();
        }
        return !whole && goes && !message.action->is_suspended();
    }

    void look()
    {
        messages_.remove_if([this](Message& message) { return is_through(message); });
    }

public:
    explicit LongMessages(const Platform& platform) : platform_(platform)
    {
        simgrid::s4u::Link::on_communication_state_change_cb([this](auto& action, auto /*previous*/) {
            // The type of the action is declared only; its base is at its beginning.
            const void* const ended = &action;
            messages_.remove_if([ended](const Message& message) { return message.action == ended; });
        });
    }

    void begin(Action* action, double size, const Host* src, const Host* dst, double latency)
    {
        if (!platform_.calls.empty() && src != dst && size >= platform_.calls_from) {
            messages_.push_back({action, src, dst, latency, now() + latency});
            look_at(now());
        }
    }

    /* A rank begins to read the clock (1), or has read it (-1). */
    void read_clock(const Host* host, int change)
    {
        outside_[host] += static_cast<size_t>(change);
        if (!messages_.empty()) {
            simgrid::kernel::actor::simcall_answered([this] { look_at(now()); });
        }
    }
};

} // namespace

#endif

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The interfaces of SimGrid that differ between 3.32 and 4.1.
 *
 *   3.34   the factors of latency and bandwidth are set in the zone; before, in its network model
 *   3.36   simcall.hpp replaces simix.hpp
 *   4.0    an engine has a root zone from the beginning, and a zone of one's own becomes its child; before, the first
 *          zone was the root. add_link and add_host replace create_link and create_host
 */
#ifndef RELEASES_H
#define RELEASES_H

#include <simgrid/version.h>

#if SIMGRID_VERSION < 33200 || SIMGRID_VERSION >= 40200
#error "this plugin was written for SimGrid 3.32 to 4.1 and uses interfaces that other releases may have changed"
#endif

#include <simgrid/kernel/resource/Model.hpp>
#if SIMGRID_VERSION < 33400
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>
#if SIMGRID_VERSION < 33600
#include <simgrid/simix.hpp>
#else
#include <simgrid/simcall.hpp>
#endif

#include <string>

namespace {

#if SIMGRID_VERSION >= 40000
void make_known(simgrid::kernel::routing::NetZoneImpl* zone)
{
    zone->set_parent(simgrid::s4u::Engine::get_instance()->get_netzone_root()->get_impl());
}

simgrid::s4u::Link* add_link(simgrid::s4u::NetZone* zone, const std::string& name, double rate)
{
    return zone->add_link(name, rate);
}

simgrid::s4u::Host* add_host(simgrid::s4u::NetZone* zone, const std::string& name, double speed)
{
    return zone->add_host(name, speed);
}
#else
void make_known(simgrid::kernel::routing::NetZoneImpl* /*zone*/) {}

simgrid::s4u::Link* add_link(simgrid::s4u::NetZone* zone, const std::string& name, double rate)
{
    return zone->create_link(name, rate);
}

simgrid::s4u::Host* add_host(simgrid::s4u::NetZone* zone, const std::string& name, double speed)
{
    return zone->create_host(name, speed);
}
#endif

#if SIMGRID_VERSION >= 33400
simgrid::kernel::resource::Model* network_model(const simgrid::s4u::NetZone* zone)
{
    // The type of the network model is declared only; its base is at its beginning.
    return reinterpret_cast<simgrid::kernel::resource::Model*>(zone->get_network_model());
}

template <class Latency, class Bandwidth>
void set_factors(const simgrid::s4u::NetZone* zone, Latency latency, Bandwidth bandwidth)
{
    zone->set_latency_factor_cb(latency);
    zone->set_bandwidth_factor_cb(bandwidth);
}
#else
simgrid::kernel::resource::Model* network_model(const simgrid::s4u::NetZone* zone)
{
    return dynamic_cast<simgrid::kernel::resource::Model*>(zone->get_network_model());
}

template <class Latency, class Bandwidth>
void set_factors(const simgrid::s4u::NetZone* zone, Latency latency, Bandwidth bandwidth)
{
    zone->get_network_model()->set_lat_factor_cb(latency);
    zone->get_network_model()->set_bw_factor_cb(bandwidth);
}
#endif

} // namespace

#endif

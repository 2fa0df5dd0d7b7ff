# SPDX-License-Identifier: BSD-3-Clause
"""Builders of nodes of a job, with the activity of their ports."""

from dataclasses import replace

from fabric_checks.ports.counter_growth import NodeChange, PortChange
from fabric_checks.ports.snapshots import Host, Port

MB = 1_000_000
QUIET = {
    "OutSegs": 100_000,
    "InSegs": 20_000,
    "RetransSegs": 0,
    "TCPOFOQueue": 0,
    "TCPDSACKRecv": 0,
    "InCsumErrors": 0,
}


def port(
    name="eth0",
    *,
    sent_MB=100.0,
    received_MB=100.0,
    grown=None,
    kind="interface",
    **about,
):
    """Return the activity of a port."""
    sent, received = (
        None if count is None else int(count * MB) for count in (sent_MB, received_MB)
    )
    about = {"up": True, "rate_MBps": 125.0} | about
    return PortChange(Port(name, kind, **about), sent, received, grown or {})


def node(name, *ports, seconds=10.0, host=None, load=0.1, **tcp):
    """Return the activity of a node."""
    ports = ports or (port(),)
    counted = {each.port.name: each for each in ports}
    return NodeChange(name, seconds, counted, QUIET | tcp, host or Host(), load)


def nodes(count=4, **changed):
    """Return nodes n1, n2, ...; a keyword changes one, as ``n3=dict(RetransSegs=500)``, or is another
    node."""
    made = []
    for name in (f"n{i + 1}" for i in range(count)):
        change = changed.get(name, {})
        made.append(change if isinstance(change, NodeChange) else node(name))
        if isinstance(change, dict):
            made[-1] = replace(made[-1], tcp=made[-1].tcp | change)
    return made


def texts(findings):
    """Return the texts of findings, which have to be one line each."""
    assert all(found.text.isprintable() for found in findings)
    return [found.text for found in findings]

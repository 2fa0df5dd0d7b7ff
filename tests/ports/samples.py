# SPDX-License-Identifier: BSD-3-Clause
"""Nodes of a job for the tests: what their ports did."""

from dataclasses import replace

from fabric_checks.ports.changes import NodeChange, PortChange
from fabric_checks.ports.snapshots import Host, Port

MB = 1_000_000
QUIET = {"OutSegs": 100_000, "InSegs": 20_000, "RetransSegs": 0, "TCPOFOQueue": 0, "TCPDSACKRecv": 0, "InCsumErrors": 0}


def port(name="eth0", *, sent_MB=100.0, received_MB=100.0, grown=None, doubts=(), kind="interface", **about):
    """Return what a port did."""
    sent, received = (None if count is None else int(count * MB) for count in (sent_MB, received_MB))
    about = {"up": True, "rate_MBps": 125.0} | about
    return PortChange(Port(name, kind, **about), sent, received, grown or {}, tuple(doubts))


def node(name, *ports, seconds=10.0, host=None, load=0.1, **tcp):
    """Return what a node did."""
    ports = ports or (port(),)
    counted = {each.port.name: each for each in ports}
    return NodeChange(name, seconds, counted, QUIET | tcp, host or Host(), load)


def nodes(count=4, **changed):
    """Return nodes n1, n2, ..., those that are named changed: ``n3=dict(RetransSegs=500)``, or another node."""
    made = []
    for name in (f"n{i + 1}" for i in range(count)):
        change = changed.get(name, {})
        made.append(change if isinstance(change, NodeChange) else node(name))
        if isinstance(change, dict):
            made[-1] = replace(made[-1], tcp=made[-1].tcp | change)
    return made


def texts(findings):
    """Return the texts of findings, which have to be one line each."""
    assert all(found["text"].isprintable() for found in findings)
    return [found["text"] for found in findings]

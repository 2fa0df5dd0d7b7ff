# SPDX-License-Identifier: BSD-3-Clause
"""What a job did, from two snapshots of the node that its script ran on: how long it took, and that node's traffic.

A job script only copies what the kernel says into a file, before and after the work; it is read here. Times come from
``/proc/uptime``, which no correction of the clock changes. Bytes come from the counters of the network interfaces, and
from those of InfiniBand and Omni-Path, which the interfaces do not see. What else is on the links of the node, such as
a shared file system, is among them. They are of this one node: what the others moved, no counter here tells.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

#: The files with the snapshots, in the job's folder.
BEFORE, AFTER = "cost-before.txt", "cost-after.txt"

_NETWORK, _VERBS = "/sys/class/net", "/sys/class/infiniband"
#: The link type of an interface that is IP over InfiniBand: ARPHRD_INFINIBAND of the kernel's if_arp.h.
_IP_OVER_INFINIBAND = "32"
#: The unit of the counters ``port_rcv_data`` and ``port_xmit_data`` (Linux, Documentation/ABI, sysfs-class-infiniband).
_VERBS_UNIT_B = 4
#: Counters of old hardware stop here.
_FULL = 2**32 - 1


def script_lines() -> list[str]:
    """Return what a job script begins with; nothing of it can fail the job or change its exit status.

    What is not there is left out. The second snapshot is taken however the script ends.
    """
    files = " ".join(
        (
            f"{_NETWORK}/*/type",
            f"{_NETWORK}/*/device/uevent",
            f"{_VERBS}/*/ports/*/counters/port_rcv_data",
            f"{_VERBS}/*/ports/*/counters/port_xmit_data",
        )
    )
    look = f"uname -n; cat /proc/uptime /proc/net/dev; grep -Hs . {files}"
    return [
        "fabric_folder=$PWD",
        f'fabric_snapshot() {{ {{ {look}; }} > "$fabric_folder/$1"; }} 2> /dev/null',
        f"trap 'fabric_snapshot {AFTER}' EXIT",
        f"fabric_snapshot {BEFORE} || :",
    ]


@dataclass(frozen=True)
class Snapshot:
    """What a node said at one moment.

    :param host: its name; :param uptime_s: how long it is up.
    :param received_B: bytes by the device that received them; :param sent_B: those sent.
    """

    host: str
    uptime_s: float | None
    received_B: Mapping[str, int] = field(default_factory=dict)
    sent_B: Mapping[str, int] = field(default_factory=dict)


def parse(text: str) -> Snapshot:
    """Read a snapshot; what is missing or not understood is left out.

    Of the network interfaces those with a device count, so that a bond, a bridge or a tunnel is not counted beside what
    is under it; where none has one, as in a container, all do. IP over InfiniBand is in the port's own counters.
    """
    lines = text.splitlines()
    host = lines[0].strip() if lines else ""
    uptime = re.fullmatch(r"(\d+\.\d+) \d+\.\d+", lines[1].strip()) if len(lines) > 1 else None
    interfaces: dict[str, tuple[int, int]] = {}
    real, over_infiniband = set(), set()
    ports: dict[str, dict[str, int]] = {}
    for line in lines[2:]:
        # Name, then the counters of what was received, bytes first, and eight further on those of what was sent.
        if found := re.fullmatch(r"\s*([^\s/][^\s]*?):\s*(\d+)((?:\s+\d+){7})\s+(\d+)(?:\s+\d+)*\s*", line):
            interfaces[found[1]] = int(found[2]), int(found[4])
        elif found := re.fullmatch(rf"{_NETWORK}/([^/]+)/type:(\d+)", line):
            if found[2] == _IP_OVER_INFINIBAND:
                over_infiniband.add(found[1])
        elif found := re.match(rf"{_NETWORK}/([^/]+)/device/uevent:", line):
            real.add(found[1])
        elif found := re.fullmatch(rf"{_VERBS}/([^/]+)/ports/(\d+)/counters/port_(rcv|xmit)_data:(\d+)", line):
            ports.setdefault(f"{found[1]}/{found[2]}", {})[found[3]] = int(found[4])
    interfaces.pop("lo", None)
    if ports:
        interfaces = {name: counts for name, counts in interfaces.items() if name not in over_infiniband}
    if real & interfaces.keys():
        interfaces = {name: counts for name, counts in interfaces.items() if name in real}
    received = {name: counts[0] for name, counts in interfaces.items()}
    sent = {name: counts[1] for name, counts in interfaces.items()}
    for name, counts in ports.items():
        if counts.keys() == {"rcv", "xmit"} and _FULL not in counts.values():
            received[name], sent[name] = (counts[key] * _VERBS_UNIT_B for key in ("rcv", "xmit"))
    return Snapshot(host, float(uptime[1]) if uptime else None, received, sent)


def elapsed_s(before: Snapshot, after: Snapshot, at_most_s: float | None = None) -> float | None:
    """Return the seconds between two snapshots, or None if they cannot tell.

    :param at_most_s: a time that no job takes, such as a multiple of its time limit.
    """
    if before.uptime_s is None or after.uptime_s is None or before.host != after.host:
        return None
    elapsed = round(after.uptime_s - before.uptime_s, 2)
    return elapsed if elapsed >= 0 and (at_most_s is None or elapsed <= at_most_s) else None


def node_traffic_B(before: Snapshot, after: Snapshot, hosts: Collection[str]) -> int | None:
    """Return how many bytes went in and out of one node of a job, or None if its counters cannot tell.

    :param hosts: the names of the job's nodes. The snapshots must be of one of them: the script of a job may run
        elsewhere.
    """
    if _short(after.host) not in map(_short, hosts) or before.host != after.host:
        return None
    if not after.sent_B or before.sent_B.keys() != after.sent_B.keys():
        return None
    grown = [
        then[name] - first[name]
        for first, then in ((before.received_B, after.received_B), (before.sent_B, after.sent_B))
        for name in then
    ]
    if min(grown) < 0:
        return None  # a counter was reset or began anew
    return sum(grown) or None  # none of these moved: what the node uses has no counters here


def _short(host: str) -> str:
    """Return a host's name without its domain, which some libraries give and others do not."""
    return host.split(".", 1)[0]

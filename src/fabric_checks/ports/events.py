# SPDX-License-Identifier: BSD-3-Clause
"""Events on a node while a program ran: NVLinks that went down, messages of its kernel."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import count_text, first_of, names_text, one_line
from fabric_checks.ports.counter_growth import NodeChange, Nodes
from fabric_checks.ports.outliers import finding, grouped, nodes_text

INACTIVE = "<inactive>"
#: Messages that are a cause whatever became of the program.
_ALARMING = re.compile(
    r"\bS?Xid\b|fallen off|link (?:is )?down|uncorrect|fatal|machine check|out of memory"
    r"|(?:gpu|asic|ring|health|internal) \w*.*(?:reset|timeout|hang|error)",
    re.IGNORECASE,
)
#: The most messages of a node that are shown, and the most characters of each.
_MOST, _LONGEST = 8, 160
#: What reading needs, by the error.
_NEEDS = {
    "EPERM": "CAP_SYSLOG, kernel.dmesg_restrict=0, or the group systemd-journal",
    "EACCES": "the right to read /dev/kmsg",
}


def of_nodes(nodes: Nodes, *, failed: bool) -> Iterator[Finding]:
    """Yield the findings of all events on nodes: if the program failed, of more of them."""
    yield from nvlinks(nodes)
    yield from kernel_messages(nodes, failed=failed)


def nvlinks(nodes: Nodes) -> Iterator[Finding]:
    """Yield a finding for each GPU whose NVLinks, or whose registration in their fabric, got lost."""
    for node in nodes:
        after = node.host.nvlink
        lost = grouped(
            (gpu, (link, state))
            for (gpu, link), state in node.nvlink_before.items()
            if state != after.get((gpu, link), state)
            and (link == "fabric" or after[gpu, link] == INACTIVE)
        )
        for gpu, states in lost.items():
            links = [link for link, _ in states if link != "fabric"]
            what = f"NVLink {names_text(links)}" if links else "the NVLink fabric"
            now = "inactive" if links else after[gpu, "fabric"]
            text = (
                f"node {node.node}: {what} of GPU {gpu} is {now} after the program, and was {states[0][1]}"
                " before it"
            )
            yield finding("gpu", [node.node], text, f"NVLink of GPU {gpu}", gpu=gpu)


def active_nvlinks(node: NodeChange) -> Counter[str]:
    """Return the number of NVLinks of each GPU that were active before the program."""
    found = Counter[str]()
    for (gpu, link), state in node.nvlink_before.items():
        if link != "fabric":
            found[f"active NVLinks of GPU {gpu}"] += state != INACTIVE
    return found


def kernel_messages(nodes: Nodes, *, failed: bool) -> Iterator[Finding]:
    """Yield what the kernels logged of adapters, links and GPUs: all if the program failed, else what alarms.

    A message may be of another job, and blames nobody.
    """
    for node in nodes:
        shown = [
            one_line(message)[:_LONGEST]
            for message in node.host.messages
            if failed or _ALARMING.search(message)
        ]
        if shown:
            text = f"node {node.node}: the kernel logged {count_text(len(shown), 'message')} meanwhile"
            of_node = finding(
                "host", [node.node], text, "kernel", severity=Severity.SUSPECT
            )
            yield replace(of_node, details=tuple(first_of(shown, most=_MOST)))
    unread = grouped((node.host.unread, node.node) for node in nodes)
    for error, hosts in sorted(unread.items()):
        if error and failed:
            needs = _NEEDS.get(error, f"/dev/kmsg; the error is {error}")
            text = (
                f"{nodes_text(hosts)}: kernel log cannot be read here (needs {needs})"
            )
            yield finding("host", hosts, text, "kernel log", severity=Severity.NOTE)

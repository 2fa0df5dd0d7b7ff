# SPDX-License-Identifier: BSD-3-Clause
"""TCP segments that were lost or arrived broken, and at which host.

The host that retransmits a segment is not necessarily the one that lost it: what is lost on the way into a
host is retransmitted by all its partners. But the host that misses a segment queues those that follow
(``TCPOFOQueue``) or counts the broken one (``InCsumErrors``). So a host with a bad link has most of the
retransmitted segments, or most of the missed ones, or half of both: the two shares add up to about 1 for it,
and are small for other hosts. Between two hosts alone no counter shows whose link it is; then both are named.
Where there are more, what is lost between two of them alone rather overflowed a queue, for a link has other
partners too: nobody is blamed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.ports.counter_growth import NodeChange, Nodes
from fabric_checks.ports.outliers import finding, is_chance, nodes_text

#: The largest share of a host's segments that may be retransmitted. Our own: hosts of healthy runs on the
#: test cluster had up to 4 in 10,000, and one packet of 100 that is lost makes 3 to 14 in 1,000.
LOST_SHARE = 1e-3
#: Fewer segments are not reported.
AT_LEAST = 10
#: The times that TCP took segments for lost: each may send tens of them again.
RECOVERIES = ("TCPSackRecovery", "TCPRenoRecovery", "TCPTimeouts", "TCPLossProbes")
#: So many broken segments are reported: a link's own check sums let none through.
BROKEN_AT_LEAST = 3
#: A host is named alone if its two shares make so much, and so many times that of the next: of three hosts, a
#: bad link has twice that of the next, of more three times. Two are named if the second has so many times
#: that of the third.
SCORE, TIMES_NEXT, TIMES_THIRD = 0.7, 1.8, 1.4


def lost_segments(nodes: Nodes) -> list[Finding]:
    """Return the finding that segments of TCP were lost, and where; none if they were not, or are not
    counted."""
    again = {
        node.node: _sent_again(node) for node in nodes if "RetransSegs" in node.tcp
    }
    broken = _counts(nodes, "InCsumErrors")
    seen = [node.node for node in nodes if _is_above(node, again.get(node.node, 0))]
    what, counter, misses = "were lost", "RetransSegs", "TCPOFOQueue"
    if sum(broken.values()) >= BROKEN_AT_LEAST:
        what, counter, misses = (
            "arrived with a wrong checksum",
            "InCsumErrors",
            "InCsumErrors",
        )
        seen = seen or [*filter(broken.get, broken)]
    if not seen:
        return []
    missed = _counts(nodes, misses)
    hosts = culprits(again, missed)
    growth = sum(again.values())
    text = (
        f"{_where(hosts, what, seen)}: up to {100 * _share(nodes, again):.2g} % of the TCP segments of a"
        f" node; {growth} were retransmitted, most by {_most(again)}"
    )
    if any(missed.values()):
        text += f"; missed mostly by {_most(missed)} ({misses} {sum(missed.values())})"
    is_certain = len(hosts) in (1, len(nodes))
    severity = Severity.FAULT if is_certain else Severity.SUSPECT
    return [
        finding(
            "port",
            hosts,
            text,
            counter,
            severity=severity,
            counter=counter,
            growth=growth,
        )
    ]


def _counts(nodes: Nodes, counter: str) -> dict[str, int]:
    """Return by how much a counter grew, by host; 0 where it is not counted."""
    return {node.node: node.tcp.get(counter, 0) for node in nodes}


def _where(hosts: Sequence[str], what: str, seen: Sequence[str]) -> str:
    """Return what happened to segments, and at which hosts.

    :param hosts: those to blame, if any; :param seen: those that noticed it.
    """
    if not hosts:
        return f"segments {what} on {nodes_text(seen)}, and no host stands out"
    part = f"node {hosts[0]}" if len(hosts) == 1 else f"between {' and '.join(hosts)}"
    return f"{part}: segments {what}"


def _share(nodes: Nodes, again: Mapping[str, int]) -> float:
    """Return the largest share of its segments that a node sent again."""
    sent = _counts(nodes, "OutSegs")
    return max(again.get(host, 0) / max(1, count) for host, count in sent.items())


def _sent_again(node: NodeChange) -> int:
    """Return how many segments were sent again because they were lost, not because they were late (RFC 2883).

    Receivers report duplicates. A busy machine reorders packets of up to 64 KiB: tens of segments are sent
    again at once, and one answer takes them back. Old kernels count such answers only.
    """
    late = node.tcp.get("TCPDSACKRecvSegs")
    if late is None:
        late = round(node.tcp.get("TCPDSACKRecv", 0) * _together(node))
    return max(0, node.tcp["RetransSegs"] - late)


def _together(node: NodeChange) -> float:
    """Return how many segments were sent again at a time: a packet of up to 64 KiB is lost whole."""
    times = [node.tcp[name] for name in RECOVERIES if name in node.tcp]
    return max(1.0, node.tcp["RetransSegs"] / max(1, sum(times))) if times else 1.0


def _is_above(node: NodeChange, again: int) -> bool:
    """Return whether more was lost than may be, not by chance: of what is lost together, each time counts
    once."""
    if again < AT_LEAST:
        return False
    together = _together(node)
    expected = LOST_SHARE * node.tcp.get("OutSegs", 0)
    return not is_chance(again / together, expected / together)


def culprits(again: Mapping[str, int], missed: Mapping[str, int]) -> list[str]:
    """Return whose link it is: one host, the two ends of a path, or none.

    :param again: segments that were sent again, by host; :param missed: segments that did not come as they
        should.
    """
    sent, lost = max(1, sum(again.values())), max(1, sum(missed.values()))
    score = {host: again.get(host, 0) / sent + missed[host] / lost for host in missed}
    order = sorted(score, key=lambda host: -score[host])
    if len(order) < 3:
        return sorted(order)
    first, second, third = (score[host] for host in order[:3])
    if first >= max(SCORE, TIMES_NEXT * second):
        return order[:1]
    is_pair = first + second >= 2 * SCORE and second >= TIMES_THIRD * third
    return sorted(order[:2]) if is_pair else []


def _most(counts: Mapping[str, int]) -> str:
    return max(counts, key=counts.__getitem__)

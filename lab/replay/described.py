# SPDX-License-Identifier: BSD-3-Clause
"""A cluster of one switch described by microbenchmarks alone: what two of its nodes measure, as a twin has
it."""

import itertools
import re

import numpy as np

#: SimGrid wants a latency.
LEAST_US = 0.1
#: From here on a message takes its time on the link, whatever the shaping lets through at once.
LONG_B = 1 << 16


def costs(text, largest):
    """Read what ``message_cost`` prints: send_us and receive_us by eager size, and the first size that is not
    eager.

    That is twice the largest, if all are.
    """
    lines = text.splitlines()
    assert lines[:1] == ["# size_B send_us receive_us eager"] and lines[-1:] == [
        "# complete"
    ], text
    rows = [
        re.fullmatch(r"(\d+) (\d+\.\d+) (\d+\.\d+) ([01])", line)
        for line in lines[1:-1]
    ]
    assert all(rows), text
    eager = list(itertools.takewhile(lambda row: row[4] == "1", rows))
    assert eager and int(rows[-1][1]) == largest, text
    send, receive = (
        {int(row[1]): float(row[column]) for row in eager} for column in (2, 3)
    )
    return send, receive, 2 * int(eager[-1][1])


def in_turn_below(text, largest):
    """Read what ``turns`` prints: the first size from which on messages of a node share its link.

    That is twice the largest, if all leave one after another.
    """
    lines = text.splitlines()
    assert lines[:1] == ["# size_B alone_us same_us another_us"] and lines[-1:] == [
        "# complete"
    ], text
    rows = [[float(word) for word in line.split()] for line in lines[1:-1]]
    assert all(len(row) == 4 for row in rows) and rows[-1][0] == largest, text
    # Shared, it takes twice as long.
    for size, alone, same, another in rows:
        assert same < 1.5 * alone, (
            f"messages of {size:.0f} B to the same node share the link:\n{text}"
        )
        if another > 1.5 * alone:
            return int(size)
    return 2 * int(rows[-1][0])


def description(name, nodes, streamed, message_costs, in_turn_B):
    """Return the description of a twin.

    The rate is the peak of streaming, that of both directions likewise. Send, receive, latency and
    the time at that rate are together half a round trip; the latency is what the processors do not take of
    it.

    :param streamed: output of ``streaming --directions both``, parsed; :param message_costs: as :func:`costs`
        returns;
    :param in_turn_B: as :func:`in_turn_below` returns.
    """
    ping_pong = streamed.times_us("ping_pong")
    rate = _peak_MBps(streamed.times_us("streaming"))
    both = 2 * _peak_MBps(streamed.times_us("bidirectional_streaming"))
    send, receive, eager_below = message_costs

    def at(table, size):
        return float(np.interp(size, list(table), list(table.values())))

    # What the processors do of a long message is done while it is under way.
    left = {
        size: max(0.0, time - size / rate - LEAST_US)
        for size, time in ping_pong.items()
    }
    send = {size: min(at(send, size), left[size]) for size in left}
    receive = {size: min(at(receive, size), left[size] - send[size]) for size in left}
    latency = {
        size: LEAST_US + left[size] - send[size] - receive[size] for size in left
    }
    return "\n".join(
        [
            f"name: {name}",
            "about: the test cluster, described by microbenchmarks on two of its nodes",
            "source: {fitted: streaming and message_cost before the trials}",
            f"nodes: {nodes}",
            "cpus_per_node: 1",
            "collectives: mpich",
            "inter_node:",
            f"  send_us: {_table(send)}",
            f"  receive_us: {_table(receive)}",
            f"  latency_us: {_table(latency)}",
            f"  rate_MBps: {rate:.6g}",
            f"  eager_below_B: {eager_below}",
            f"  in_turn_below_B: {in_turn_B}",
            f"host_bus: {{duplex: full, aggregate_MBps: {min(both, 2 * rate):.6g}}}",
            "topology: {kind: star}",
            "",
        ]
    )


def _peak_MBps(times_us):
    """Return the peak, of sizes that a link does not keep for a moment at no time."""
    return max(size / time for size, time in times_us.items() if size >= LONG_B)


def _table(values):
    return (
        "{" + ", ".join(f"{size}: {value:.6g}" for size, value in values.items()) + "}"
    )

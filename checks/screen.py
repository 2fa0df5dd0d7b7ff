# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the screen that several suites have: equal titles, sections and orders make their values one
row."""

from fabric_checks.core.metrics import PAIR, Headline

#: The collectives on the screen, in its order.
COLLECTIVES = ("allreduce", "alltoall", "allgather", "bcast")


def latency(quantity, rank=0, **parameters):
    """Return the latency between two processes."""
    title, short = "latency, smallest size", "latency"
    return Headline(title, quantity, PAIR, 10, rank, "first", "smallest", parameters=parameters, short=short)


def bandwidth(quantity, rank=0, **parameters):
    """Return the bandwidth between two processes, one way."""
    title, short = "bandwidth, peak", "bandwidth"
    return Headline(title, quantity, PAIR, 11, rank, "peak", "smallest", parameters=parameters, short=short)


def both_ways(quantity, rank=0, **parameters):
    """Return the bandwidth between two processes, both ways at once."""
    title, short = "both directions, peak", "both ways"
    return Headline(title, quantity, PAIR, 12, rank, "peak", "smallest", parameters=parameters, short=short)


def message_rate(quantity, rank=0):
    """Return the message rate between two processes, at the smallest size that is measured."""
    title, short = "message rate, 8 B", "rate, 8 B"
    return Headline(title, quantity, PAIR, 13, rank, "first", "smallest", short=short)


def barrier(quantity, rank=0):
    """Return the time of a barrier over all processes."""
    return Headline("barrier", quantity, "All processes", 20, rank)


def collectives(quantity, rank=0, names=COLLECTIVES):
    """Return the collectives over all processes.

    :param names: the values of the parameter ``benchmark`` for each of :data:`COLLECTIVES`.
    """
    return tuple(
        Headline(
            f"{title}, 8 B and 1 MiB",
            quantity,
            "All processes",
            order,
            rank,
            "ends",
            parameters={"benchmark": name},
        )
        for order, (title, name) in enumerate(zip(COLLECTIVES, names, strict=True), 21)
    )

# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the screen that several suites have: equal titles, sections and orders make their values one
row."""

from fabric_checks.core.metrics import PAIR, Headline

#: The collectives on the screen, in its order.
COLLECTIVES = ("allreduce", "alltoall", "allgather", "bcast")


def latency(quantity, rank=0, **parameters):
    """Return the latency between two processes."""
    return Headline(
        "latency, smallest size", quantity, PAIR, 10, rank, "first", "smallest", parameters=parameters
    )


def bandwidth(quantity, rank=0, **parameters):
    """Return the bandwidth between two processes, one way."""
    return Headline("bandwidth, peak", quantity, PAIR, 11, rank, "peak", "smallest", parameters=parameters)


def both_ways(quantity, rank=0, **parameters):
    """Return the bandwidth between two processes, both ways at once."""
    return Headline(
        "both directions, peak", quantity, PAIR, 12, rank, "peak", "smallest", parameters=parameters
    )


def message_rate(quantity, rank=0):
    """Return the message rate between two processes, at the smallest size that is measured."""
    return Headline("message rate, 8 B", quantity, PAIR, 13, rank, "first", "smallest")


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

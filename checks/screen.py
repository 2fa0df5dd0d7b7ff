# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the screen that several suites have: equal titles, sections and orders make their values one
row."""

from fabric_checks.core.metrics import PAIR, Headline

#: The collectives on the screen, in its order.
COLLECTIVES = ("allreduce", "alltoall", "allgather", "bcast")


#: The rows of two processes: title, point of the curve and order.
OF_PAIRS = {
    "latency": ("latency, smallest size", "first", 10),
    "bandwidth": ("bandwidth, peak", "peak", 11),
    "both ways": ("both directions, peak", "peak", 12),
    "message rate": ("message rate, 8 B", "first", 13),
}


def pair(kind, quantity, rank=0, **parameters):
    """Return a row of two processes: one of :data:`OF_PAIRS`."""
    title, point, order = OF_PAIRS[kind]
    return Headline(
        title, quantity, PAIR, order, rank, point, "smallest", parameters=parameters
    )


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

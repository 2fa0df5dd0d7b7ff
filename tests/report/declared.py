# SPDX-License-Identifier: BSD-3-Clause
"""What checks declare of themselves, for records that are made up: families and headlines."""

from dataclasses import asdict

from fabric_checks.core import families
from fabric_checks.core.metrics import PAIR, Headline

_POLL = {"parameters": {"poll": "none"}, "point": "last", "layouts": "most nodes"}


def _pair(row, quantity, rank, **parameters):
    title, order, point, short = {
        "latency": ("latency, smallest size", 10, "first", "latency"),
        "bandwidth": ("bandwidth, peak", 11, "peak", "bandwidth"),
        "both": ("both directions, peak", 12, "peak", "both ways"),
        "rate": ("message rate, 8 B", 13, "first", "rate, 8 B"),
    }[row]
    return Headline(title, quantity, PAIR, order, rank, point, "smallest", parameters=parameters, short=short)


def _collectives(quantity, rank, name):
    return [
        Headline(
            f"{each}, 8 B and 1 MiB",
            quantity,
            "All processes",
            order,
            rank,
            "ends",
            parameters={"benchmark": name(each)},
        )
        for order, each in enumerate(("allreduce", "alltoall", "allgather", "bcast"), 21)
    ]


def _lammps(rank):
    return [
        Headline(f"{each}, timesteps", "timestep_rate", "LAMMPS", order, rank, parameters={"problem": each})
        for order, each in enumerate(("lj", "chain", "eam", "chute", "rhodo"), 30)
    ]


def _rotate():
    for rank, pattern in enumerate(("rotate", "round-robin", "shift", "bisection")):
        for order, title, quantity, tasks, short in (
            (40, "median pair", "median_bandwidth", 1, ""),
            (41, "slowest pair", "slowest_pair_bandwidth", 3, ""),
            (42, "slowest pair to median", "slowest_to_median", 3, "slowest pair"),
        ):
            at = {"least_tasks": tasks, "parameters": {"pattern": pattern}, "short": short}
            yield Headline(title, quantity, "All pairs at once", order, rank, "value", "most nodes", **at)


#: By check; a family alone is of a check without headlines.
DECLARED = {
    "OsuLatency": (families.PAIRS, [_pair("latency", "latency", 0)]),
    "OsuBandwidth": (
        families.PAIRS,
        [_pair("bandwidth", "bandwidth", 0, benchmark="bw"), _pair("both", "bandwidth", 0, benchmark="bibw")],
    ),
    "OsuMessageRate": (families.PAIRS, [_pair("rate", "message_rate", 1)]),
    "ImbPointToPoint": (
        families.PAIRS,
        [_pair("latency", "time", 1, benchmark="PingPong"), _pair("bandwidth", "bandwidth", 2, benchmark="PingPong")],
    ),
    "ImbParallel": (families.PAIRS, [_pair("both", "bandwidth", 2, benchmark="Sendrecv")]),
    "Streaming": (
        families.STREAMING,
        [
            _pair("latency", "ping_pong_time", 2),
            _pair("bandwidth", "peak_bandwidth_streaming", 1),
            _pair("both", "peak_bandwidth_exchange", 1),
            _pair("rate", "message_rate_8B", 0),
        ],
    ),
    "StreamingQueue": (families.STREAMING, []),
    "OsuBarrier": (families.COLLECTIVES, [Headline("barrier", "latency", "All processes", 20)]),
    "ImbBarrier": (families.COLLECTIVES, [Headline("barrier", "time", "All processes", 20, 1)]),
    "OsuCollective": (families.COLLECTIVES, _collectives("latency", 0, str)),
    "ImbCollective": (families.COLLECTIVES, _collectives("time", 1, str.capitalize)),
    "LammpsBench": (families.APPLICATIONS, _lammps(0)),
    "LammpsScaled": (families.APPLICATIONS, _lammps(1)),
    "LammpsPpnSeries": (families.APPLICATIONS, []),
    "Rotate": (families.CROSS_SECTION, list(_rotate())),
    "LatencyMap": (families.LATENCY_MAP, []),
    "Overlap": (
        families.OVERLAP,
        [
            Headline(f"{name}, largest size", f"{name}_availability", "Left for other work", order, **_POLL)
            for order, name in ((50, "isend"), (51, "irecv"))
        ],
    ),
    "CollectiveOverlap": (
        families.OVERLAP,
        [Headline("iallreduce, largest size", "iallreduce_availability", "Left for other work", 52, point="last")],
    ),
    **{check: (families.STRESS, []) for check in ("HotSpot", "BufferReuse", "Notification")},
}


def declared(check, quantity, parameters):
    """Return the fields that the record of a metric has of what its check declares."""
    family, headlines = DECLARED.get(check, (None, []))
    own = {name: str(value) for name, value in (parameters or {}).items()}
    fits = (each for each in headlines if each.quantity == quantity and each.parameters.items() <= own.items())
    headline = next(fits, None)
    return {"family": family, "headline": asdict(headline) if headline else None}

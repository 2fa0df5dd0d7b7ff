# SPDX-License-Identifier: BSD-3-Clause
"""Write what is measured on a machine as public tools do, each in the order and by the method of that tool.

Forms and methods are those of the tools' sources and pages: nccl-tests 2.19.6 (``src/util.cu``,
``src/sendrecv.cu``), mpiGraph 1.5 (``mpiGraph.c``), perftest (``perftest_parameters.h``,
``perftest_communication.c``). ClusterKit is published without its source: its method is that of NVIDIA's page
*Running ClusterKit*, the form of ``bandwidth.txt`` that which scripts that read it expect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .machines import Pairs, Site, ordered, rounds, unordered

_MIB = 1 << 20


def _both(site: Site, pairs: Pairs, rail: int = 0) -> np.ndarray:
    """Return the rate by direction of pairs that exchange both ways, one pair after another."""
    back = [(other, one) for one, other in pairs]
    return np.minimum(site.alone(pairs, rail), site.alone(back, rail))


# -------------------------------------------------------------------------- ClusterKit


def clusterkit(site: Site, folder: Path, night: int) -> list[Path]:
    """Write both matrices: rounds of a tournament, both ways at once, and what is bad again, up to four
    times."""
    nodes = len(site.hosts)
    matrix = np.zeros((nodes, nodes))

    def measure(pairs: Pairs) -> None:
        flows = [*pairs, *((other, one) for one, other in pairs)]
        values = site.together(flows, 32 * _MIB / 1e6).reshape(2, -1)
        (both,) = site.noisy(2 * values.min(axis=0))
        for (one, other), value in zip(pairs, both, strict=True):
            matrix[one, other] = matrix[other, one] = value

    for met in rounds(nodes):
        measure(met)
    for again in range(4):
        bad = [pair for pair in unordered(nodes) if matrix[pair] < 0.93 * matrix.max()]
        bad = sorted(bad, key=lambda pair: matrix[pair])[: nodes * nodes >> again + 1]
        while bad:
            here = list[tuple[int, int]]()
            for pair in bad:
                if not set(pair) & {rank for other in here for rank in other}:
                    here.append(pair)
            measure(here)
            bad = [pair for pair in bad if pair not in here]
    latency = np.zeros((nodes, nodes))
    for (one, other), value in zip(
        unordered(nodes), site.latency(unordered(nodes)), strict=True
    ):
        latency[one, other] = latency[other, one] = value
    here = folder / f"night-{night}"
    here.mkdir(exist_ok=True)
    files = [here / "bandwidth.txt", here / "latency.txt"]
    files[0].write_text(
        "Message size: 33554432 B     Iterations: 16\n"
        + _matrix(site, matrix, "bandwidth", "MB/s", 1)
    )
    files[1].write_text(
        "Message size: 0 B     Iterations: 1024\n"
        + _matrix(site, latency, "latency", "usec", 2)
    )
    return files


def _matrix(site: Site, matrix: np.ndarray, what: str, unit: str, digits: int) -> str:
    nodes = len(site.hosts)
    lines = ["", "Rank:" + " " * 16 + "".join(f"{rank:>8}" for rank in range(nodes))]
    for rank, row in enumerate(matrix):
        lines.append(
            f"{rank:>8} ({site.hosts[rank]}):".ljust(21)
            + "".join(f"{value:8.{digits}f}" for value in row)
        )
    pairs = sorted(unordered(nodes), key=lambda pair: matrix[pair])
    for name, (one, other) in (("Minimum", pairs[0]), ("Maximum", pairs[-1])):
        between = f"between {site.hosts[one]} and {site.hosts[other]}"
        lines.append(f"{name} {what}: {matrix[one, other]:.{digits}f} {unit} {between}")
    mean = np.mean([matrix[pair] for pair in pairs])
    return "\n".join([*lines, f"Average {what}: {mean:.{digits}f} {unit}", ""])


# -------------------------------------------------------------------------- nccl-tests

_HEAD = """\
# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 33554432 maxBytes 134217728 step: 4(factor) warmup iters: 1 iters: 20 \
agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
{devices}
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
"""  # noqa: E501, W291  (as the program prints it)


def _ends(site: Site, pair: tuple[int, int], rail: int) -> list[dict[str, object]]:
    """Return both ranks of a launch."""
    return [{"rank": rank, "group": 0, "pid": 4100 + 7 * node, "hostname": site.hosts[node], "device": rail,
             "device_hex": f"0000:{0x1B + 17 * rail:02x}:00", "device_info": "NVIDIA H100 80GB HBM3"}
            for rank, node in enumerate(pair)]  # fmt: skip


def _number(value: float, width: int) -> str:
    """Return a number as ``getFloatStr`` does."""
    return next(
        (text for digits in (2, 1, 0) if len(text := f"{value:.{digits}f}") <= width),
        f"{value:.1e}",
    )


def nccl_text(site: Site, folder: Path, night: int) -> list[Path]:
    """Write the log of a loop over all pairs of ``sendrecv_perf`` on one GPU of each, one launch after
    another."""
    text = ""
    pairs = unordered(len(site.hosts))
    for rail in range(len(site.rails)):
        values = site.noisy(_both(site, pairs, rail), 4).reshape(
            2, 2, -1
        )  # size, out of place or in place
        for index, pair in enumerate(pairs):
            devices = "\n".join(
                "#  Rank {rank:2d} Group {group:2d} Pid {pid:6d} on {hostname:>10} device {device:2d} "
                "[{device_hex}] {device_info}".format(**end) for end in _ends(site, pair, rail))  # fmt: skip
            text += _HEAD.format(devices=devices)
            shown = 0.0
            for number, size in enumerate((32 * _MIB, 128 * _MIB)):
                text += f"{size:12}  {size // 4:12}  {'float':>8}  {'none':>6}  {-1:6}"
                for place in (0, 1):
                    gigabytes = (
                        values[number, place, index] / 1e3 * (0.985, 1.0)[number]
                    )
                    shown += gigabytes
                    bandwidth = f"{_number(gigabytes, 6):>6}"
                    text += f"  {_number(size / gigabytes / 1e3, 7):>7}  {bandwidth}  {bandwidth}  "
                    text += f"{('0', 'N/A')[place]:>{(6, 5)[place]}}"
                text += "\n"
            text += f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {shown / 4:g} \n"
            text += "#\n# Collective test concluded: sendrecv_perf\n\n"
    path = folder / f"pairs-{night}.log"
    path.write_text(text)
    return [path]


# ---------------------------------------------------------------------------- mpiGraph


def mpigraph(site: Site, folder: Path, night: int) -> list[Path]:
    """Write both tables: in step D all send to who is D further in the ring, at once."""
    nodes = len(site.hosts)
    seen = np.zeros((2, nodes, nodes))
    for distance in range(1, nodes):
        pairs = [(rank, (rank + distance) % nodes) for rank in range(nodes)]
        (values,) = site.noisy(site.together(pairs, 10 * _MIB / 1e6))
        for (one, other), value in zip(pairs, values, strict=True):
            seen[0, one, other] = value * 1e6 / _MIB
            seen[1, other, one] = seen[0, one, other] * (1 - site.rng.uniform(0, 0.004))
    names = [f"{host}:{rank}" for rank, host in enumerate(site.hosts)]
    lines = [
        f"START mpiGraph v1.5\nMsgSize\t1048576\nTimes\t10\nWindow\t10\nProcs\t{nodes}\n"
    ]
    lines += [
        f"{distance} of {nodes} ({distance / nodes:.1%})"
        for distance in range(1, nodes)
    ]
    lines.append("Gathering results")
    for name, to, matrix in (("Send", "to", seen[0]), ("Recv", "from", seen[1])):
        part = matrix[~np.eye(nodes, dtype=bool)]
        lines += [
            "",
            f"{name} max\t{part.max():f}",
            f"{name} avg\t{1 / np.mean(1 / part):f}",
            "",
        ]
        lines.append(f"{name}\t" + "".join(f"{each}\t" for each in names))
        lines += [f"{each} {to}\t" + "".join(f"{value:.3f}\t" for value in row)
                  for each, row in zip(names, matrix, strict=True)]  # fmt: skip
    path = folder / f"mpiGraph-{night}.out"
    path.write_text("\n".join([*lines, "END mpiGraph", ""]))
    return [path]


# ---------------------------------------------------------------------- perftest, CSV


_PERFTEST = """\
{client} -> {server}
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_{rail}
 Number of qps   : 1\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 TX depth        : 128
 CQ Moderation   : 1
 Mtu             : 4096[B]
 Link type       : IB
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 local address: LID 0x0a QPN 0x0126 PSN 0x8f1b2c RKey 0x1fffbd VAddr 0x007f2b5c800000
 remote address: LID 0x0b QPN 0x0127 PSN 0x3a7d11 RKey 0x1fffbe VAddr 0x007fa1d4800000
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    1000             {peak:<7.2f}            {average:<7.2f}\t\t     {rate:<7.6f}
---------------------------------------------------------------------------------------
"""


def perftest(site: Site, folder: Path, night: int) -> list[Path]:
    """Write what a loop over all ordered pairs of ``ib_write_bw`` prints at the client, one after another."""
    text = ""
    pairs = ordered(len(site.hosts))
    for rail in range(len(site.rails)):
        (values,) = site.noisy(site.alone(pairs, rail))
        for (one, other), value in zip(pairs, values, strict=True):
            text += _PERFTEST.format(client=site.hosts[one], server=site.hosts[other], rail=rail,
                                     peak=value * 8.016e-3, average=value * 8e-3,
                                     rate=value / 8.388608 / 1e6)  # fmt: skip
    path = folder / f"ib_write_bw-{night}.log"
    path.write_text(text)
    return [path]


def plain(
    site: Site, folder: Path, night: int, count: int = 1, alone: bool = False
) -> list[Path]:
    """Write a table of one's own: both orders of the rounds of a tournament, a round at once or each pair
    alone."""
    batches = [
        pairs
        for met in rounds(len(site.hosts))
        for pairs in (met, [(other, one) for one, other in met])
    ]
    rails = range(len(site.rails))
    return listed(
        site,
        folder / f"pairs-{night}.csv",
        [(rail, each) for each in batches for rail in rails],
        count,
        alone,
    )


def listed(
    site: Site,
    path: Path,
    batches: Sequence[tuple[int, Pairs]],
    count: int,
    alone: bool,
) -> list[Path]:
    """Write as CSV what so many measurements of some pairs of a rail give, alone or each list at once."""
    lines = ["# unit: MB/s, larger is better"]
    lines += [f"# pairs: {'alone' if alone else 'at once'}", "from,to,value"]
    for _ in range(count):
        for rail, pairs in batches:
            (values,) = site.noisy(
                site.alone(pairs, rail) if alone else site.together(pairs, 80.0, rail)
            )
            device = f":mlx5_{rail}" if len(site.rails) > 1 else ""
            lines += [f"{site.hosts[one]}{device},{site.hosts[other]}{device},{value:.1f}"
                      for (one, other), value in zip(pairs, values, strict=True)]  # fmt: skip
    path.write_text("\n".join([*lines, ""]))
    return [path]


Writer = Callable[[Site, Path, int], list[Path]]


@dataclass(frozen=True)
class Way:
    """A format, and how often each pair is measured.

    :param nights: the files of so many nights are given together. :param repeats: whether some pairs are in
        there more than once. :param devices: whether the format names the devices of a host. :param most:
        nodes.
    :param looks: the pairs that the verb then lists are measured three times, alone, and given, too; so often
        at most, as long as it lists others.
    :param alone: one pair ran at a time: by the format, or because the user says so.
    :param rounds: the format says which pairs ran at once.
    :param few: a pair has two values, of both directions together.
    """

    write: Writer
    nights: int
    repeats: bool
    devices: bool = False
    most: int = 128
    looks: int = 0
    alone: bool = False
    rounds: bool = False
    few: bool = False


WAYS = {
    "ClusterKit": Way(clusterkit, 1, False),
    "ClusterKit, two nights": Way(clusterkit, 2, True),
    "nccl-tests": Way(nccl_text, 1, False, True, 48, alone=True),
    "nccl-tests, two nights": Way(nccl_text, 2, True, True, 48, alone=True, few=True),
    "nccl-tests, three nights": Way(nccl_text, 3, True, True, 48, alone=True),
    "mpiGraph": Way(mpigraph, 1, False, rounds=True),
    "mpiGraph, two nights": Way(mpigraph, 2, True, rounds=True),
    "perftest": Way(perftest, 1, False, True, 48, alone=True),
    "perftest, two nights": Way(perftest, 2, True, True, 48, alone=True),
    "CSV": Way(plain, 1, False, True),
    "CSV at once, 3 values": Way(partial(plain, count=3), 1, True, True),
    "CSV alone, 3 values": Way(
        partial(plain, count=3, alone=True), 1, True, True, alone=True
    ),
    "CSV at once, then what is listed": Way(plain, 1, True, False, looks=3),
}

# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for nccl-tests and for the log of NCCL: text in their formats, of a machine that is made up."""

from fabric_checks.parsers.nccl_tests import BUS_FACTOR

TITLES = (
    "size",
    "count",
    "type",
    "redop",
    "root",
    "time",
    "algbw",
    "busbw",
    "#wrong",
    "time",
    "algbw",
    "busbw",
    "#wrong",
)


def number(value, width):
    """Return a number as nccl-tests prints it: with as many of two decimals as fit."""
    return next(
        text
        for digits in (2, 1, 0)
        if len(text := f"{value:{width}.{digits}f}") <= width or not digits
    )


#: What ``-I 1`` adds to each half of the titles, and two cells of each row: the times of a run without
#: spread.
PER_ITERATION = ("i_min", "i_max", "i_p99", "i_cv%")


def output(
    benchmark,
    hosts,
    gpus,
    sizes_B,
    *,
    bus_GBps=40.0,
    wrong=0,
    rank=None,
    per_iteration=False,
):
    """Return the text of one run on some hosts with as many processes as GPUs.

    :param bus_GBps: the bus bandwidth of large messages; :param rank: the only one that its process knows.
    :param per_iteration: whether it ran with ``-I 1``.
    """
    ranks = (
        [(host, gpu) for host in hosts for gpu in range(gpus)]
        if rank is None
        else [(hosts[0], rank)]
    )
    count = len(ranks)
    lines = [
        "# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809",
        f"# Collective test starting: {benchmark}_perf",
        (
            f"# nThread 1 nGpus 1 minBytes {sizes_B[0]} maxBytes {sizes_B[-1]} step: 4(factor) warmup iters:"
            " 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0"
        ),
        "#",
        "# Using devices",
    ]
    for at, (host, gpu) in enumerate(ranks):
        lines.append(
            f"#  Rank {at:2} Group  0 Pid {4000 + at:6} on {host:>10} device {gpu:2}"
            f" [0000:{16 * gpu + 27:02x}:00] H100"
        )
    more = PER_ITERATION if per_iteration else ()
    lines += [
        "#",
        "# " + " ".join([*TITLES[:9], *more, *TITLES[9:], *more]),
        "#  (B)  (elements)  (us)  (GB/s)",
    ]
    bandwidths = []
    for size_B in sizes_B:
        cells = [f"{size_B:12}  {size_B // 4:12}     float  sum      -1"]
        for slower in (1.0, 1.02):
            printed = number(
                slower
                * max(20.0, size_B * BUS_FACTOR[benchmark](count) / bus_GBps / 1e3),
                7,
            )
            rate = size_B / float(printed) / 1e3
            bandwidths.append(rate * BUS_FACTOR[benchmark](count))
            cells.append(
                f"{printed}  {number(rate, 6)}  {number(bandwidths[-1], 6)}  {wrong:6g}"
            )
            cells += [printed, printed, printed, "   0.00"] if per_iteration else []
        lines.append("  ".join(cells))
    verdict = "FAILED" if wrong else "OK"
    mean = sum(float(f"{each:.2f}") for each in bandwidths) / len(bandwidths)
    lines += [
        f"# Out of bounds values : {wrong} {verdict}",
        f"# Avg bus bandwidth    : {mean:g} ",
        "#",
    ]
    return "\n".join(lines) + "\n"


def log(
    hosts,
    gpus,
    *,
    network="IB",
    direct=True,
    adapter=lambda _host, gpu: gpu,
    bus=lambda _host, gpu: gpu,
):
    """Return what NCCL logs of all ranks.

    :param network: of all ranks, or a function of host and GPU, as ``direct``.
    :param adapter: the number of the adapter of a GPU of a host; :param bus: what the address of that GPU
        follows from.
    """
    names = " ".join(f"[{at}]mlx5_{at}:1/IB" for at in range(gpus))
    lines, count = [], len(hosts) * gpus
    for at, (host, gpu) in enumerate(
        (host, gpu) for host in hosts for gpu in range(gpus)
    ):
        of = network(host, gpu) if callable(network) else network
        is_direct = direct(host, gpu) if callable(direct) else direct
        begin = f"{host}:{4000 + at}:{4100 + at} [{gpu}] NCCL INFO "
        way = f"via NET/{of}/{adapter(host, gpu)}{'/GDRDMA' if is_direct else ''}"
        peer = (at + gpus) % count
        lines += [
            f"{begin}NET/IB : Using {names} [RO]; OOB eth0:10.0.0.{at}<0>",
            f"{begin}Using network {of}",
            f"{begin}Channel 00/0 : {at}[{gpu}] -> {peer}[{gpu}] [send] {way}",
            f"{begin}Channel 01/0 : {peer}[{gpu}] -> {at}[{gpu}] [receive] {way}",
            f"{begin}16 coll channels, 0 collnet channels, 0 nvls channels, 32 p2p channels, "
            "4 p2p channels per peer",
            f"{begin}ncclCommInitRank comm 0x55d0c rank {at} nranks {count} cudaDev {gpu} nvmlDev {gpu} "
            f"busId {16 * bus(host, gpu) + 27:x}000 commId 0x1f2e - Init COMPLETE",
        ]  # fmt: skip
    return "\n".join(lines) + "\n"

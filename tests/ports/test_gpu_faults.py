# SPDX-License-Identifier: BSD-3-Clause
"""Faults put into what NCCL logs and `ports` records of eight nodes of eight GPUs: each is named, and nobody
else."""

import random
from functools import cache

import pytest

from fabric_checks.parsers import nccl_debug
from fabric_checks.parsers.placement import RankPlace
from fabric_checks.ports import gpu_paths
from fabric_checks.ports.counter_growth import of_node
from fabric_checks.ports.evaluation import evaluate
from fabric_checks.ports.snapshots import parse
from tests.parsers import nccl
from tests.ports import pcie

HOSTS = [f"n{number}" for number in range(1, 9)]
IB = ["mlx5_*"]
TIMES = 20


def only(host, gpu, value, usual):
    """Return a function of host and GPU that has another value for one host, and there for one GPU or, if
    None, all."""
    return lambda at, number: (
        value if at == host and gpu in (None, number) else usual
    )(number)


#: By fault: how the log of NCCL and the files of a host differ from healthy ones, and what has to be said of
#: the host.
FAULTS = {
    "a rail with half the bytes": (lambda _host, gpu: ({}, {"share": {gpu: 0.5}}), "mlx5_{gpu}:1 carried"),
    "a rail without bytes": (lambda _host, gpu: ({}, {"share": {gpu: 0}}), "mlx5_{gpu}:1 is idle"),
    "a rail at half its rate": (lambda _host, gpu: ({}, {"slow": gpu}), "rate of mlx5_{gpu}:1 is 200 Gbit/s"),
    "a GPU that is missing": (
        lambda _host, gpu: ({}, {"gpus": [i for i in range(8) if i != gpu]}),
        "has no GPU {address}, as most nodes have",
    ),
    "a GPU without GPUDirect": (
        lambda host, gpu: ({"direct": only(host, gpu, lambda _: False, lambda _: True)}, {}),
        "GPU {gpu} goes through the host's memory",
    ),
    "a GPU on fewer lanes": (
        lambda _host, gpu: ({}, {"lanes": {pcie.gpu_path(gpu)[-1]: 8}}),
        "number of PCIe lanes at {address} is 8, on the other nodes 16",
    ),
    "sockets": (
        lambda host, gpu: ({"network": only(host, None, lambda _: "Socket", lambda _: "IB")}, {}),
        "uses Socket, on most nodes it uses IB (8 GPUs of 8 differ)",
    ),
    "GPUs in reverse": (
        lambda host, gpu: ({"bus": only(host, None, lambda number: 7 - number, lambda number: number)}, {}),
        "(8 GPUs of 8 differ)",
    ),
    "a shared adapter": (
        lambda host, gpu: ({"adapter": only(host, gpu, lambda at: at ^ 1, lambda at: at)}, {}),
        "GPU {gpu} sends through mlx5_{other}, on most nodes it sends through mlx5_{gpu}",
    ),
}  # fmt: skip


def file_text(host, generator, *, slow=None, share=None, **how):
    """Return the file of a node whose rails carried the same within 3 %, but for what differs."""
    sent_B = {
        f"mlx5_{rail}": int(
            10e9 * generator.uniform(0.97, 1.03) * (share or {}).get(rail, 1)
        )
        for rail in range(8)
    }
    after = pcie.host(**how, sent_B=sent_B)
    before = pcie.host(**how)
    if slow is not None:
        rate = f"/sys/class/infiniband/mlx5_{slow}/ports/1/rate"
        before[rate] = after[rate] = "200 Gb/sec (2X NDR)"
    return pcie.text(host, before, after)


@cache
def healthy(host, seed):
    return of_node(parse(file_text(host, random.Random(f"{host} {seed}"))))


def said(log, nodes):
    """Return all findings of a case, and the reason that it fails."""
    ranks = nccl_debug.parse(log)
    places = [
        RankPlace(at, host, host, str(at % 8), frozenset())
        for at, host in enumerate(sorted(HOSTS * 8))
    ]
    ports = evaluate(nodes, {}, fabric=IB, ranks=places)
    found = [*gpu_paths.findings(ranks), *ports.findings]
    return found, gpu_paths.disproof(ranks, IB) or ports.disproof


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_every_time_and_nobody_else(fault):
    how, text = FAULTS[fault]
    for seed in range(TIMES):
        generator = random.Random(f"{fault} {seed}")
        host, gpu = generator.choice(HOSTS), generator.randrange(8)
        log, files = how(host, gpu)
        nodes = [healthy(each, seed) for each in HOSTS if each != host]
        nodes.append(of_node(parse(file_text(host, generator, **files))))
        found, disproof = said(nccl.log(HOSTS, 8, **log), nodes)
        blamed = {name for each in found if each.is_fault for name in each.hosts}
        texts = [each.text for each in found]
        assert blamed == {host} and any(
            text.format(gpu=gpu, other=gpu ^ 1, address=pcie.gpu_path(gpu)[-1]) in each
            for each in texts
        ), (
            seed,
            texts,
        )
        assert (disproof or "").startswith(
            "NCCL went over TCP (Socket) on node " + host
        ) == (fault == "sockets")


def test_a_healthy_machine_is_quiet_every_time():
    for seed in range(TIMES):
        assert said(nccl.log(HOSTS, 8), [healthy(host, seed) for host in HOSTS]) == (
            [],
            None,
        )

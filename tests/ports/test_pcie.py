# SPDX-License-Identifier: BSD-3-Clause
"""GPUs and adapters by PCIe: what is near what, and the hosts that are unlike the others."""

from dataclasses import replace

import pytest

from fabric_checks.parsers.placement import RankPlace
from fabric_checks.ports import pcie as judged
from fabric_checks.ports.evaluation import evaluate
from fabric_checks.ports.snapshots import Gpu
from tests.ports import pcie
from tests.ports.samples import texts

IB = ["mlx5_*"]


def ranks(count=8, ppn=8):
    """Return the ranks of nodes n1, n2, ..."""
    names = [f"n{at + 1}" for at in range(count) for _ in range(ppn)]
    return [
        RankPlace(rank, name, name, "0", frozenset()) for rank, name in enumerate(names)
    ]


def found(nodes, **more):
    return evaluate(
        nodes, {}, fabric=IB, **{"ranks": ranks(len(nodes))} | more
    ).findings


def test_a_healthy_machine_is_quiet_and_its_adapters_are_in_the_record():
    done = evaluate(pcie.job(), {}, fabric=IB, ranks=ranks())
    assert done.findings == []
    assert done.record["gpus"]["n3"] == {
        str(gpu): [f"mlx5_{gpu}:1"] for gpu in range(8)
    }
    assert done.values == {"least_rail_share": pytest.approx(100)}
    assert (
        "gpus" not in evaluate(pcie.job(2, n1={"gpus": ()}, n2={"gpus": ()}), {}).record
    )


@pytest.mark.parametrize(
    "paths, nearest",
    [
        # A switch of two levels, a root, a NUMA node, nothing in common.
        (
            {
                "a": (*pcie.switch(0), "0000:19:02.0", "0000:1c:00.0"),
                "b": pcie.adapter_path(1, 1),
            },
            ("a:1",),
        ),
        (
            {
                "a": ("pci0000:17", "0000:17:05.0", "0000:1c:00.0"),
                "b": pcie.adapter_path(1, 1),
            },
            ("a:1",),
        ),
        ({"a": pcie.adapter_path(1, 1), "b": pcie.adapter_path(2, 2)}, ("a:1", "b:1")),
        ({"a": pcie.adapter_path(4, 4), "b": pcie.adapter_path(5, 5)}, ()),
        ({"a": ("pci10000:00", "10000:00:01.0"), "b": pcie.gpu_path(0)[:-1]}, ("b:1",)),
    ],
)
def test_the_nearest_adapter_shares_most_bridges_then_the_numa_node(paths, nearest):
    at = {name: (path, int(path[0] > "pci0000:4f")) for name, path in paths.items()}
    made = pcie.rows([(pcie.gpu_path(0), 0)], at)
    node = judged_node(made)
    assert judged.nearest(judged.numbered([node]), [node], [])["n1"] == {0: nearest}


def test_a_real_gpu_is_read(golden):
    """An H100 of a virtual machine is on the root bus: its adapter is no nearer than any other device."""
    node = pcie.of_node(pcie.parse(golden("ports/h100.txt")))
    path = ("pci0000:00", "0000:00:06.0")
    assert node.host.gpus == {"0000:00:06.0": Gpu(path, None)}
    assert node.host.lanes[path[-1]] == 16
    assert judged.nearest(judged.numbered([node]), [node], ["eth0"])["vm"] == {
        0: ("eth0",)
    }
    assert judged.findings([node], ["eth0"]) == []


def judged_node(made):
    return pcie.of_node(pcie.parse(pcie.text("n1", made, made)))


@pytest.mark.parametrize(
    "how, text",
    [
        (
            {"adapters": [0, 1, 2, 3, 4, 5, 7], "rails": ()},
            "mlx5_6:1 (0000:7a:00.0) is missing here but present on most nodes",
        ),
        (
            {"lanes": {"0000:68:00.0": 4, "0000:67:01.0": 4}},
            "the PCIe link of GPU 5, mlx5_5:1 has 4 lanes at 0000:68:00.0",
        ),
        (
            {"before": {}, "gpus": [0, 1, 2, 3, 4, 6, 7]},
            "GPU 0000:6b:00.0 was there before the case and is missing after",
        ),
    ],
)
def test_a_host_unlike_the_others_is_named(how, text):
    named = found(pcie.job(n3=how))
    assert {tuple(each.hosts) for each in named} == {("n3",)} and all(
        each.is_fault for each in named
    )
    assert any(each.startswith(f"node n3: {text}") for each in texts(named)), texts(
        named
    )


def test_a_host_that_lost_a_device_hides_no_other():
    lost = {"before": {}, "gpus": [0, 1, 2, 3, 4, 6, 7]}
    absent = {"gpus": [1, 2, 3, 4, 5, 6, 7]}
    named = found(pcie.job(n3=lost, n5=absent))
    assert {host for each in named for host in each.hosts} == {"n3", "n5"}


def test_fewer_gpus_at_other_addresses_are_counted_without_names():
    other = judged_node(
        pcie.rows([(pcie.adapter_path(at, at), 0) for at in range(7)], {})
    )
    (text,) = texts(
        judged.findings([*pcie.job(4), replace(other, node="n5")], ["none"])
    )
    assert text.startswith(
        "node n5: 1 GPU of 8 is missing here but present on most nodes"
    )


def test_a_snapshot_that_was_cut_says_nothing_of_what_is_missing():
    cut = pcie.text("n3", pcie.host(), pcie.host(gpus=[0])).replace(
        "# rows", "# cut: more than 1 MiB\n# rows"
    )
    assert judged.findings([*pcie.job(4), pcie.of_node(pcie.parse(cut))], IB) == []


@pytest.mark.parametrize("count", [1, 2])
def test_without_a_majority_nobody_is_blamed(count):
    nodes = pcie.job(count, n1={"at": lambda rail: 7 - rail, "share": {3: 0.5}})
    assert [each for each in found(nodes) if each.is_fault] == []


def test_rails_that_are_uneven_everywhere_are_not_compared():
    uneven = {rail: 1 / (1 + rail) for rail in range(8)}
    assert found(pcie.job(**{f"n{at}": {"share": uneven} for at in range(1, 9)})) == []


def test_rails_of_gpus_without_a_rank_may_idle():
    idle = {rail: 0 for rail in range(1, 8)}
    nodes = pcie.job(2, n1={"share": idle}, n2={"share": idle})
    assert found(nodes, ranks=ranks(2, 1)) == []
    assert len(found(nodes, ranks=ranks(2, 8))) == 7


@pytest.mark.parametrize(
    "value",
    [
        "",
        "/sys/devices/" + "x" * 9000,
        "/sys/devices/pci0000:00",
        "0000:00:1f.0\x1b[31m",
        "!EACCES",
    ],
)
def test_paths_and_numbers_that_are_none_are_left_out(value):
    """What is printed of them is an address, or the name of a port."""
    hostile = pcie.rows(
        [],
        {name: (pcie.adapter_path(1, 1), 0) for name in ("mlx5_8\x1b[31m", "y" * 99)},
    )
    made = {
        path: value if "/drivers/" in path or path.endswith("width") else kept
        for path, kept in (pcie.host() | hostile).items()
    }
    node = judged_node(made)
    assert list(node.ports) == [f"mlx5_{rail}:1" for rail in range(8)]
    assert node.host.gpus == {}
    assert node.host.lanes == {}
    text = texts(judged.findings([*pcie.job(4), replace(node, node="n5")], IB))[0]
    assert text.startswith("node n5: GPU 0 (0000:1b:00.0), GPU 1 (0000:2b:00.0),")
    assert "and 4 more are missing" in text

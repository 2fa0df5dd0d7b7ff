# SPDX-License-Identifier: BSD-3-Clause
"""A case whose bytes went another way than on the night before."""

import pytest
from msgspec import structs

from fabric_checks.nightly.carriers import changes
from fabric_checks.records import archive_writer
from tests import builders as samples
from tests.nightly.samples import NIGHT

IB, IB_TWO = (
    {"mlx5_0:1": 10**9},
    {"mlx5_0:1": 5 * 10**8, "mlx5_1:1": 5 * 10**8, "eth0": 10**6},
)
TCP = {"eth0": 10**9}


def found(tmp_path, *carried, fabric=()):
    records = [
        samples.record(
            run,
            system="s",
            ports=None
            if each is None
            else {"nodes": {}, "carried_B": each, "fabric": list(fabric)},
        )
        for run, each in enumerate(carried)
    ]
    archive_writer.add(
        samples.write(tmp_path / "perflogs" / "A.jsonl", records), tmp_path / "archive"
    )
    return changes(
        tmp_path / "archive",
        structs.replace(NIGHT, system="s", session=records[-1]["session"]),
    ).findings


def test_another_way_is_a_finding(tmp_path):
    (finding,) = found(tmp_path, IB, IB_TWO, TCP)
    case = "A %layout=1x2 @s:p+e"
    assert (
        finding.title
        == f"the bytes of {case} went over eth*; when last measured, they went over mlx5_*"
    )
    assert finding.cases == {case} and finding.keys == {f"wire {case}"}


@pytest.mark.parametrize(
    "carried",
    [(IB,), (IB, IB_TWO), (TCP, IB, IB), (IB, {"eth0": 9}), (IB, None), (None, TCP)],
)
def test_the_same_way_the_first_time_or_few_bytes_are_none(tmp_path, carried):
    assert found(tmp_path, *carried) == ()


def test_another_way_than_a_named_network_is_left_to_its_proof(tmp_path):
    assert found(tmp_path, IB, TCP, fabric=["mlx5_*"]) == ()

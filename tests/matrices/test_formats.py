# SPDX-License-Identifier: BSD-3-Clause
"""Formats told apart by their content, and what measures pairs again."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import formats
from fabric_checks.matrices.model import End
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput
from tests.matrices.made import clusterkit_text, csv_text, matrix


def test_formats_are_told_apart_by_content(golden):
    assert isinstance(formats.parse(golden("rotate/mpich-5.0.2.txt")), RotateOutput)
    assert isinstance(formats.parse(golden("latency_map/mpich-5.0.2.txt")), LatencyOutput)
    for text, name in ((csv_text(matrix(3, 1)), "CSV"), (clusterkit_text(matrix(3, 1)), "ClusterKit")):
        (table,) = formats.parse(text)
        assert table.format == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b c\n", "no matrix of pairs as these print it: rotate, latency_map, ClusterKit, nccl-tests"),
        (clusterkit_text(matrix(3, 1)) + csv_text(matrix(3, 1)), "the output of ClusterKit and of CSV or TSV"),
    ],
)
def test_what_is_of_no_format_or_of_two_is_refused(text, message):
    with pytest.raises(OutputError) as caught:
        formats.parse(text)
    assert message in str(caught.value)


def test_what_to_measure_again_is_a_hostfile_commands_or_pairs(monkeypatch):
    pairs = [(End("a"), End("b")), (End("c"), End("d")), (End("c"), End("e"))]
    text, commands = formats.again("ClusterKit", pairs, "hosts.txt")
    assert text == "a\nb\nc\nd\n" and commands == ["clusterkit.sh -f hosts.txt --exe_opt '-d bw -d lat -x'"]
    assert formats.again("CSV", pairs[:1], "hosts.txt") == ("from,to\na,b\n", [])
    monkeypatch.setattr("fabric_checks.matrices.clusterkit.NEXT", "run {sender} {receiver}")
    assert formats.again("ClusterKit", pairs[:1], "hosts.txt") == ("run a b\n", ["run a b"])

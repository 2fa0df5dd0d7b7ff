# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory finds the outputs of GPU programs in a page, and a parser that reads a cell wrongly."""

from dataclasses import replace
from textwrap import indent

import pytest

from fabric_checks.parsers import nccl_tests
from lab.parsers import gpu_outputs
from tests.parsers import nccl

SIZES_B = [1024 * 4**power for power in range(8)]
CELLS = 6 * len(SIZES_B)


@pytest.fixture
def page():
    """Return a page with two outputs, one of them indented and with the log of NCCL between its rows."""
    first = nccl.output("all_reduce", ["n1", "n2"], 4, SIZES_B)
    second = nccl.output("sendrecv", ["n1"], 8, SIZES_B, per_iteration=True).replace(
        "\n  ", "\nn1:1:2 [0] NCCL INFO a\n  "
    )
    return f"Some words\n\n{first}\nmore words\n\n{indent(second, '    ')}"


def test_each_output_of_a_page_is_read_in_every_cell(page):
    outputs = list(gpu_outputs.of_nccl_tests(page))
    assert [gpu_outputs.read_nccl(output) for output in outputs] == [(CELLS, True)] * 2


def test_a_parser_that_swaps_two_columns_is_noticed(page, monkeypatch):
    right = nccl_tests.parse

    def swapped(*arguments):
        output = right(*arguments)
        return replace(output, in_place=output.out_of_place)

    monkeypatch.setattr(nccl_tests, "parse", swapped)
    assert not gpu_outputs.read_nccl(next(gpu_outputs.of_nccl_tests(page)))[1]


def test_osu_on_devices_is_read_between_other_outputs():
    text = (
        "# OSU MPI-CUDA Latency Test v7.5\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1    2.50\n2 "
        "   2.60\n"
    )
    outputs = list(
        gpu_outputs.of_osu(
            f"$ srun\n\n{text}\n{text.replace('2.60', '3.60')}\nwords\n# OSU MPI Latency Test v7.5\n"
        )
    )
    assert [gpu_outputs.read_osu(output) for output in outputs] == [(2, True)] * 2

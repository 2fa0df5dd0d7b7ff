# SPDX-License-Identifier: BSD-3-Clause
"""The data of the parsers: their parts fit each other."""

import re

from fabric_checks.parsers import data, imb, osu, osu_columns


def test_every_title_of_imb_is_that_of_a_known_column():
    known = data.load("imb.yaml")
    tables = [*known["titles"], known["others"], *known["non_blocking"].values()]
    assert {title for table in tables for title in table.split()} <= {*known["columns"]}


def test_a_bandwidth_is_computed_where_one_is_printed():
    for benchmark in data.load("imb.yaml")["messages"]:
        assert "Mbytes/sec" in imb._titles("IMB-RMA", benchmark), benchmark


def test_every_column_of_osu_has_a_title():
    known = data.load("osu_columns.yaml")
    named = " ".join([*known["own"].values(), known["added"]])
    assert {*re.findall(r"\w+", named)} <= {*known["titles"].values()}
    assert all(
        osu_columns.read(f"# Size {title}", 1) == ("size_B", name)
        for title, name in (
            ("MB/s", "bandwidth_MBps"),
            ("Overlap(%)", "overlap_percent"),
        )
    )


def test_every_benchmark_of_osu_has_a_title():
    assert all(title.endswith(" Test") for title in osu.TITLES.values())

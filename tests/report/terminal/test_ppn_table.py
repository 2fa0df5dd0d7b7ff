# SPDX-License-Identifier: BSD-3-Clause
"""The table of one process a node against more."""

from tests.builders import bare as record
from tests.report.terminal.test_summary import shown


def compared(metric, values, size_B=None, unit="us", better="smaller", kind="ratio", **changes):
    (_, one), (_, more) = values.items()
    value = more / one if kind == "ratio" else more - one
    name = metric if size_B is None else f"{metric}_{kind}_{size_B}B"
    of = metric if size_B is None else f"{metric}_{size_B}B"
    return record(
        metric=name,
        quantity=f"{metric}_{kind}",
        size_B=size_B,
        value=value,
        unit="1" if kind == "ratio" else "%",
        can_be_zero=kind == "difference",
        better=better,
        compared={"metric": of, "quantity": metric, "unit": unit, "values": values},
        **changes,
    )


def rows(text, what):
    return [line.split() for line in text.splitlines() if what in line.split()]


def test_a_curve_shows_its_ends_and_the_worst():
    sizes = {0: 0.8, 8: 0.9, 64: 1.5, 512: 1.1, 4096: 1.0}
    text = shown(*(compared("latency", {"2x1": 2.0, "1x2": 2 * r}, size) for size, r in sizes.items()))
    shown_rows = rows(text, "latency")
    assert [row[row.index("latency") + 1] for row in shown_rows] == ["0", "64", "4K"]
    assert "2x1: 2  1x2: 3" in " ".join(text.split()).replace("1x2: 3", " 1x2: 3") and "1.5" in text
    assert "One process a node against more" in text and "loses most" in text


def test_the_worst_bandwidth_is_the_lowest():
    sizes = {1: 1.0, 8: 0.4, 64: 2.5, 512: 1.0}
    text = shown(
        *(
            compared("bandwidth", {"2x1": 10.0, "2x2": 10 * r}, size, unit="MB/s", better="larger")
            for size, r in sizes.items()
        )
    )
    assert [row[row.index("bandwidth") + 1] for row in rows(text, "bandwidth")] == ["1", "8", "512"]


def test_a_difference_has_its_sign_and_the_comparison_stands_nowhere_else():
    text = shown(compared("availability", {"2x1": 90.0, "1x2": 45.5}, unit="%", kind="difference"))
    assert "-44.5 %" in text
    assert len(rows(text, "availability")) == 1


def test_records_without_comparisons_make_no_table():
    assert "against more" not in shown(record(metric="t", value=1.0, unit="s"))

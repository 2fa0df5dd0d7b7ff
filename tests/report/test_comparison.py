# SPDX-License-Identifier: BSD-3-Clause
"""A comparison as texts: folding, order, counts, and the forms that it is written in."""

import io
import json

import pytest
from rich.console import Console

from fabric_checks.comparison.compare import COLUMNS, compare, select, worst
from fabric_checks.report import comparison as forms
from tests.builders import parts, runs

TIGHT = [1.00, 1.01, 0.99, 1.0, 1.02, 0.98]


def page_of(comparison):
    return forms.page(comparison, select(comparison.frame))


def curve(side, factor=1.0, sizes=(1, 2, 4, 8, 16), **changes):
    for size in sizes:
        point = {"metric": f"latency_{size}B", "size_B": size}
        yield from runs(
            side, [factor * size * value for value in TIGHT], **point, **changes
        )


def compared(*records, labels=("A", "B")):
    return compare(parts(*records), labels)


def rows(comparison):
    ((_, *found),) = page_of(comparison).tables.values()
    return found


def test_a_curve_with_one_verdict_is_one_row():
    comparison = compared(curve("A"), curve("B", 1.1))
    ((verdict, test, layout, metric, one, two, unit, change, note),) = rows(comparison)
    assert (verdict, test, layout, unit, note) == (
        "worse",
        "OsuLatency",
        "2x1",
        "us",
        "",
    )
    assert metric == "latency_1B and 4 more"
    assert one.startswith("1 (") and one.endswith("), n 6")
    assert two.startswith("1.1 (") and two.endswith("), n 6")
    assert change.startswith("+10 % (")


def test_a_curve_with_two_verdicts_is_two_rows_the_worse_first():
    comparison = compared(
        curve("A"), curve("B", 1, (1, 2, 4)), curve("B", 1.2, (8, 16))
    )
    worse, same = rows(comparison)
    assert worse[0] == "worse" and worse[3] == "latency_8B and 1 more"
    assert worse[7].startswith("+20 % (")
    assert same[0] == "no difference" and same[3] == "latency_1B and 2 more"
    assert same[7].startswith("0 %; ") and same[7].endswith("would be detected")
    notes = page_of(comparison).notes
    assert notes[0] == "B against A: 5 metrics: 2 worse, 3 no difference"
    assert (
        "5 were judged by intervals at 95 %: if nothing had changed, about 0.25"
        in notes[1]
    )
    assert worst(select(comparison.frame))["values"].sum() == 5


def test_a_single_value_goes_by_the_name_of_its_metric_and_has_intervals():
    ((_, _, _, metric, one, two, _, change, _),) = rows(
        compared(curve("A", sizes=(8,)), curve("B", 1.1, sizes=(8,)))
    )
    assert metric == "latency_8B"
    assert (
        one.startswith("8 (")
        and two.startswith("8.8 (")
        and change.startswith("+10 % (")
    )


@pytest.mark.parametrize("unit, written", [("%", "+10 points"), ("us", "+10 us")])
def test_a_difference_is_in_points_or_in_the_unit(unit, written):
    own = {
        "metric": "host_availability",
        "quantity": "availability",
        "size_B": None,
        "unit": unit,
    }
    values = [0.0, 20.0, 20.2, 19.8, 20.1, 19.9, 20.0]
    ((*_, change, _),) = rows(
        compared(
            runs("A", values, **own), runs("B", [10 + each for each in values], **own)
        )
    )
    assert change.startswith(written)


def test_places_stand_in_the_rows():
    there, elsewhere = {"environ": "mpich"}, {"environ": "impi"}
    more = compared(
        *(curve(side, **own) for side in "AB" for own in (there, elsewhere))
    )
    found = rows(more)
    assert {row[1] for row in found} == {
        "OsuLatency (cluster:compute+mpich)",
        "OsuLatency (cluster:compute+impi)",
    }


def test_tests_without_values_on_a_side_are_one_line():
    both = [*runs("A", TIGHT), *runs("B", TIGHT)]
    alone = [
        row
        for name in "bcdef"
        for row in runs("B", TIGHT, test=f"{name} %size=8", check=name)
    ]
    found = compared([*both, *alone])
    assert [(row[0], row[-1]) for row in rows(found)] == [("no difference", "")]
    assert (
        page_of(found).notes[0]
        == "not in A: 5 tests (b 8, c 8, d 8 and 2 more); --csv lists them"
    )


def test_few_runs_name_the_remedy():
    page = page_of(compared(runs("A", [1]), runs("B", [1])))
    assert any("`ci/run --reruns=4`" in line for line in page.notes)


def test_reasons_stand_in_the_rows():
    comparison = compared(curve("A"), curve("B", 1, program="another program"))
    assert rows(comparison)[0][8] == "program: osu in A, another program in B"


def test_simulated_values_are_marked_in_every_form():
    comparison = compared(
        curve("A", evidence="fitted"), curve("B", evidence="predicted")
    )
    page = page_of(comparison)
    text = "A is a simulation: fitted; B is a simulation: predicted"
    assert all(row[8] == f"simulated; {text}" for row in rows(comparison))
    assert "simulated; A" in shown(page)
    assert (
        json.loads(forms.as_json(comparison, comparison.frame, [], []))["rows"][0][
            "note"
        ]
        == text
    )


HOSTILE = (
    "=1+1 <script>alert(1)</script> \x1b[31mred\x07 [bold]x[/] "
    "| `c` ![i](http://a.b/c) \u202ertl\nline & \"q\" 'q' {{7*7}}"
)


def hostile():
    own = {
        "test": HOSTILE,
        "check": HOSTILE,
        "metric": HOSTILE,
        "quantity": HOSTILE,
        "size_B": None,
        "system": HOSTILE,
    }
    return compared(
        runs(HOSTILE, TIGHT, **own),
        runs("B", TIGHT, **own),
        runs(
            "B", [None], **own | {"metric": None, "test": "x", "fail_reason": HOSTILE}
        ),
        labels=(HOSTILE, "B"),
    )


def shown(page):
    out = io.StringIO()
    console = Console(
        file=out,
        width=2000,
        force_terminal=True,
        color_system="standard",
        highlight=False,
    )
    for part in forms.render(page):
        console.print(part)
    return out.getvalue()


def test_nothing_in_a_record_steers_a_terminal():
    text = shown(page_of(hostile()))
    assert "[bold]x[/]" in text and "\x1b[31mred" not in text and "\u202e" not in text


def test_json_has_everything():
    comparison = compared(
        curve("A"), curve("B", 1.1), runs("A", TIGHT, metric="peak", quantity="peak")
    )
    content = json.loads(forms.as_json(comparison, comparison.frame, ["no"], ["bad"]))
    assert content["counts"]["worse"] == 5 and content["counts"]["missing"] == 1
    assert (
        content["objections"] == ["no"]
        and content["faults"] == ["bad"]
        and content["by_chance"] == pytest.approx(0.25)
    )
    assert len(content["rows"]) == 6 and tuple(content["rows"][0]) == COLUMNS

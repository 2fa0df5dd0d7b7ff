# SPDX-License-Identifier: BSD-3-Clause
"""History: what stands out of its noise is a finding, and nothing else is."""

from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from fabric_checks.analysis.statistics.change_points import MIN_RUNS
from fabric_checks.nightly.trends import stands_out
from fabric_checks.nightly.trends import trends as of_night
from tests import builders as samples
from tests.nightly.samples import NIGHT

#: Series of the simulation, and nights of each.
SERIES, NIGHTS = 400, 30


def trends(results, session):
    return of_night(results, structs.replace(NIGHT, system="s", session=session))


def history(tmp_path, values, name="A", **changes):
    """Write records of one series, a night a value; return their folder with the name of the last session."""
    records = [samples.record(run, system="s", check=name, test=f"{name} %layout=1x2", value=float(value),
                              **changes)
               for run, value in enumerate(values)]  # fmt: skip
    samples.write(tmp_path / "perflogs" / f"{name}.jsonl", records)
    return tmp_path / "perflogs", records[-1]["session"]


def found(tmp_path, values, **changes):
    results, session = history(tmp_path, values, **changes)
    return trends(results, session)


def noisy(level, count, seed=1, spread=0.02):
    return level * (1 + spread * np.random.default_rng(seed).standard_normal(count))


def test_a_lasting_loss_is_found_after_three_nights_and_not_before(tmp_path):
    before, after = noisy(100, 12), noisy(70, 3, seed=2)
    kind = {
        "better": "larger",
        "unit": "MB/s",
        "metric": "bandwidth_8B",
        "quantity": "bandwidth",
    }
    early = found(tmp_path / "two", [*before, *after[:2]], **kind)
    assert not early.findings and early.nights == 14
    (finding,) = found(tmp_path / "three", [*before, *after], **kind).findings
    assert "worse by" in finding.title and finding.cases == {"A %layout=1x2 @s:p+e"}
    assert finding.keys == {"level of A %layout=1x2 @s:p+e"}


@pytest.mark.parametrize(
    "levels, spread, is_found",
    [
        ([130], 0.02, True),
        ([105], 0.001, False),
        ([130], 0.10, False),
        ([70], 0.02, False),
        ([150, 100], 0.02, False),
    ],
    ids=["clear", "less than a tenth", "within the noise", "for the better", "mended"],
)
def test_the_changes_that_are_findings(tmp_path, levels, spread, is_found):
    after = [
        value
        for seed, level in enumerate(levels, 2)
        for value in noisy(level, 5, seed=seed, spread=spread)
    ]
    assert (
        bool(found(tmp_path, [*noisy(100, 12, spread=spread), *after]).findings)
        == is_found
    )


@pytest.mark.parametrize(
    "before, after, unit, is_found",
    [
        *(
            (100, 90, "us", True),
            (100, 90.5, "us", False),
            (90.5, 100, "us", False),
            (0, 1, "us", True),
        ),
        (10, 8.9, "us", True),
        (50, 44, "%", False),
        (50, 39, "%", True),
    ],
)
def test_values_that_can_be_0_change_by_a_tenth_of_the_larger_level(
    before, after, unit, is_found
):
    """Of values in per cent ten points."""
    change = SimpleNamespace(
        by_difference=True,
        noise=0.0,
        unit=unit,
        change=after - before,
        median_before=before,
        median_after=after,
    )
    assert stands_out(change) == is_found


def test_passes_of_one_night_are_one_run(tmp_path):
    """Nights differ more than passes: five of a slow night make no change that lasts."""
    records = [
        samples.record(
            run,
            check="A",
            test="A %layout=1x2",
            value=float(value),
            jobid=f"{run}-{number}",
        )
        for run, level in enumerate([100] * 10 + [140])
        for number, value in enumerate(noisy(level, 5, seed=run, spread=0.001))
    ]
    path = samples.write(tmp_path / "a.jsonl", records)
    judged = trends(path, records[-1]["session"])
    assert not judged.findings and judged.nights == 11


def test_cases_that_changed_on_one_night_are_one_finding(tmp_path):
    for number in range(9):
        results, session = history(
            tmp_path,
            [*noisy(100, 9, seed=number), *noisy(150, 3, seed=50 + number)],
            name=f"C{number}",
        )
    (finding,) = trends(results, session).findings
    assert finding.title.startswith("9 cases are worse than before; the first: ")
    assert len(finding.cases) == 9 and any(
        "and 3 more" in line for line in finding.details
    )


def test_other_changes_of_that_time_are_listed(tmp_path):
    records = [
        samples.record(
            run,
            value=100.0 if run < 9 else 150.0,
            mpi="MPICH 4" if run < 9 else "MPICH 5",
        )
        for run in range(12)
    ]
    path = samples.write(tmp_path / "a.jsonl", records)
    (finding,) = trends(path, records[-1]["session"]).findings
    assert "at the same time mpi: MPICH 4 -> MPICH 5" in finding.details


def test_a_short_history_is_counted_and_not_searched(tmp_path):
    judged = found(tmp_path, [100.0] * (MIN_RUNS - 1))
    assert (judged.nights, judged.findings) == (MIN_RUNS - 1, ())


def test_only_series_measured_tonight_are_searched(tmp_path):
    results, _ = history(tmp_path, [*noisy(100, 9), *noisy(150, 4)], name="Old")
    results, session = history(tmp_path, noisy(100, 14), name="New")
    assert not trends(results, session).findings


@pytest.mark.parametrize("noise", ["normal", "long tail"])
def test_no_false_alarm(tmp_path, noise, report_table):
    """Each of many stable series, after a month of nights; a long tail is Student's t with 3 degrees of
    freedom."""
    rng = np.random.default_rng(7)
    draw = (
        rng.standard_normal
        if noise == "normal"
        else (lambda size: rng.standard_t(3, size))
    )
    records = [
        samples.record(run, metric=f"m_{number}", value=float(value))
        for number in range(SERIES)
        for run, value in enumerate(100 * np.exp(0.05 * draw(NIGHTS)))
    ]
    path = samples.write(tmp_path / "a.jsonl", records)
    judged = trends(path, records[NIGHTS - 1]["session"])
    assert judged.nights == NIGHTS
    report_table(
        f"findings among {SERIES} stable series of {NIGHTS} nights, {noise}",
        [str(len(judged.findings))],
    )
    assert not judged.findings, judged.findings[0].title

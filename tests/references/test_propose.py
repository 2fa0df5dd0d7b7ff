# SPDX-License-Identifier: BSD-3-Clause
"""When history proposes a reference, and what that does to the one that stands."""

import pytest

from fabric_checks.core.errors import ReferenceError
from tests.references.records import STANDING, bandwidth, proposed, record


@pytest.fixture
def proposal(tmp_path):
    """Return a function that returns the proposal for one series, given its reference in the file."""

    def of(records, reference=None, **limits):
        text = (
            STANDING.format(reference=reference)
            if reference
            else "no_reference: [{why: none}]\n"
        )
        (found,) = proposed(tmp_path, records, text, **limits)
        return found

    return of


def runs(count, value=1.3, make=record, **changes):
    return [make(day, value, **changes) for day in range(count)]


def test_a_new_reference(proposal):
    found = proposal(
        [record(day, value) for day, value in enumerate([1.3, 1.31, 1.29, 1.3, 1.4])]
    )
    assert found.action == "new"
    assert found.reference == (1.3, None, 0.077, "us")
    assert found.slot.index == ("$partition", "$environ", "layout")
    assert (found.slot.check, *found.slot.keys) == (
        "OsuLatency",
        "yours:compute",
        "mpich-cray",
        "2x1",
    )
    history = found.history
    assert history.first == "2026-11-01"
    assert history.last == "2026-11-05"
    assert history.nodes == ("n1", "n2")
    assert history.program == "osu 7.5.2"


def test_of_what_should_be_large_the_lower_side_is_bounded_and_parameters_are_keys(
    proposal,
):
    found = proposal(runs(5, 900.0, bandwidth))
    assert found.reference == (900.0, -0.02, None, "MB/s")
    assert found.slot.index == ("$partition", "$environ", "benchmark", "layout")
    assert found.slot.keys[2] == "bw"


def test_too_few_runs_are_refused_however_many_records_they_left(proposal):
    again = [record(0), *runs(4)]
    found = proposal(again)
    assert found.action == "refused"
    assert found.why == "4 passes, but 5 are needed"
    assert proposal(again, min_passes=4).action == "new"


def passes(count, value=1.3, **changes):
    """Return the records of one run that goes through its cases several times."""
    return [
        record(0, value, time=f"2026-11-01T03:{number:02}:00+00:00", **changes)
        for number in range(count)
    ]


def test_each_pass_of_a_run_counts_and_a_record_of_two_sources_counts_once(proposal):
    found = proposal([*passes(5), *passes(5)])
    assert found.action == "new"
    assert found.history.values == (1.3,) * 5
    assert found.history.runs == 1


def test_passes_of_few_runs_make_nothing_stricter(proposal):
    found = proposal(passes(30), "[1.3, null, 0.5, us]")
    assert found.action == "kept"
    assert found.why == "would be stricter after 1 run, but 20 are needed"


def test_what_failed_before_it_had_values_is_not_used_and_what_missed_a_reference_is(
    proposal,
):
    failed = record(5, None, metric=None, case_result="fail", unit=None)
    missed = record(6, 1.6, result="fail", case_result="fail")
    found = proposal([*runs(5), failed, record(6), missed])
    assert len(found.history.values) == 6
    assert found.history.failed == 1
    assert found.derived.upper == 0.116


@pytest.mark.parametrize(
    "reference, values, count, action",
    [
        ("[1.3, null, 0.02, us]", 1.3, 5, "unchanged"),
        ("[1.3, null, 0.02, us]", 1.303, 30, "unchanged"),
        ("[1.3, null, 0.02, us]", 1.5, 5, "loosened"),
        (
            "[1.3, null, 0.5, us]",
            1.5,
            25,
            "loosened",
        ),  # the bound is stricter, but the value is worse
        ("[1.3, null, 0.5, us]", 1.3, 19, "kept"),
        ("[1.3, null, 0.5, us]", 1.3, 20, "changed"),
        ("[1.5, null, 0.02, us]", 1.3, 20, "changed"),
        ("[1.3, -0.1, 0.5, us]", 1.3, 20, "changed"),
        ("[1.3, -0.1, null, us]", 1.3, 19, "kept"),
        ("[$xfail, known, [1.3, null, 0.5, us]]", 1.3, 20, "refused"),
        ("[1300, null, 0.5, ns]", 1.3, 20, "refused"),
    ],
)
def test_what_it_does_to_a_reference_that_stands(
    proposal, reference, values, count, action
):
    found = proposal(runs(count, values), reference)
    assert found.action == action, found
    assert (
        "known" not in reference
        or found.why == "expected to fail: known; remove the $xfail first"
    )
    assert (found.reference is not None) == (action in ("changed", "loosened"))


def test_a_bound_of_the_other_side_stays(proposal):
    assert proposal(runs(20), "[1.3, -0.1, 0.5, us]").reference == (
        1.3,
        -0.1,
        0.02,
        "us",
    )


def test_simulations_are_refused(proposal):
    with pytest.raises(
        ReferenceError,
        match="yours is simulated: its references come from published documents",
    ):
        proposal(runs(5, evidence="fitted"))


def test_series_with_a_common_reference_are_refused(tmp_path):
    shared = (
        "OsuLatency:\n  $index: [layout]\n  2x1: {latency_8B: [1.3, null, 0.1, us]}\n"
    )
    found = proposed(tmp_path, [*runs(5), *runs(5, environ="impi")], shared)
    assert [each.action for each in found] == ["refused"] * 2
    assert found[0].why.startswith(
        "2 series share this reference; separate them by $index"
    )


def test_an_index_without_a_value_in_records_is_named(tmp_path):
    odd = STANDING.replace("layout]", "fanciness]").format(
        reference="[1.3, null, 0.1, us]"
    )
    (found,) = proposed(tmp_path, runs(5), odd)
    assert (
        found.why
        == "the $index of OsuLatency names 'fanciness', but no record has its value"
    )

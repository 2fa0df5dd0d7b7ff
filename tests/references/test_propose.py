# SPDX-License-Identifier: BSD-3-Clause
"""When history proposes a reference, and what that does to the one that stands."""

import pytest

from fabric_checks.core.errors import ReferenceError
from fabric_checks.references import reference_file
from fabric_checks.references.propose import Limits, propose
from tests.references.records import bandwidth, frame, record

STANDING = """
OsuLatency:
  $index: [$partition, $environ, layout]
  yours:compute:
    mpich-cray:
      2x1:
        latency_8B: {reference}
no_reference: [{{why: no values yet}}]
"""


@pytest.fixture
def file(tmp_path):
    def write(reference=None, text=STANDING):
        path = tmp_path / "yours.yaml"
        path.write_text(text.format(reference=reference) if reference else "no_reference: [{why: none}]\n")
        reference_file.load.cache_clear()
        return reference_file.load(path)

    return write


def proposal(file, records, **limits):
    (found,) = propose(frame(records), file, Limits(**limits))
    return found


def runs(count, value=1.3, make=record, **changes):
    return [make(day, value, **changes) for day in range(count)]


def test_a_new_reference(file):
    found = proposal(file(), [record(day, value) for day, value in enumerate([1.3, 1.31, 1.29, 1.3, 1.4])])
    assert (found.action, found.reference) == ("new", (1.3, None, 0.077, "us"))
    assert found.slot.index == ("$partition", "$environ", "layout")
    assert (found.slot.check, *found.slot.keys) == ("OsuLatency", "yours:compute", "mpich-cray", "2x1")
    history = found.history
    assert (history.first, history.last, history.nodes) == ("2026-11-01", "2026-11-05", ("n1", "n2"))
    assert history.versions["program"] == ("osu 7.5.2",) and history.versions["hash"] == ("abcdef1234567",)


def test_of_what_should_be_large_the_lower_side_is_bounded_and_parameters_are_keys(file):
    found = proposal(file(), runs(5, 900.0, bandwidth))
    assert found.reference == (900.0, -0.02, None, "MB/s")
    assert found.slot.index == ("$partition", "$environ", "benchmark", "layout")
    assert found.slot.keys[2] == "bw"


def test_too_few_runs_are_refused_however_many_records_they_left(file):
    again = [record(0), *runs(4)]
    found = proposal(file(), again)
    assert (found.action, found.why) == ("refused", "4 runs, but 5 are needed")
    assert proposal(file(), again, min_runs=4).action == "new"


def test_a_run_counts_once(file):
    found = proposal(file(), [*runs(4, 1.0), *(record(4, value) for value in (9.0, 9.0, 1.0, 1.0, 1.0))])
    assert found.history.values == (1.0,) * 5


def test_a_run_missed_a_reference_if_one_of_its_passes_did(file):
    found = proposal(file(), [*runs(5), record(4, 1.5, result="fail", case_result="fail")])
    assert (len(found.history.values), found.history.failed) == (5, 1)


def test_what_failed_before_it_had_values_is_not_used_and_what_missed_a_reference_is(file):
    failed = record(5, None, metric=None, case_result="fail", unit=None)
    missed = record(6, 1.6, result="fail", case_result="fail")
    found = proposal(file(), [*runs(5), failed, missed])
    assert (len(found.history.values), found.history.failed) == (6, 1)
    assert found.derived.decided_by == "extreme"


@pytest.mark.parametrize(
    ("reference", "values", "count", "action"),
    [
        ("[1.3, null, 0.02, us]", 1.3, 5, "unchanged"),
        ("[1.3, null, 0.02, us]", 1.303, 30, "unchanged"),
        ("[1.3, null, 0.02, us]", 1.5, 5, "loosened"),
        ("[1.3, null, 0.5, us]", 1.5, 25, "loosened"),  # the bound is stricter, but the value is worse
        ("[1.3, null, 0.5, us]", 1.3, 19, "kept"),
        ("[1.3, null, 0.5, us]", 1.3, 20, "changed"),
        ("[1.5, null, 0.02, us]", 1.3, 20, "changed"),
        ("[1.3, -0.1, 0.5, us]", 1.3, 20, "changed"),
        ("[1.3, -0.1, null, us]", 1.3, 19, "kept"),
        ("[$xfail, known, [1.3, null, 0.5, us]]", 1.3, 20, "refused"),
        ("[1300, null, 0.5, ns]", 1.3, 20, "refused"),
    ],
)
def test_what_it_does_to_a_reference_that_stands(file, reference, values, count, action):
    found = proposal(file(reference), runs(count, values))
    assert found.action == action, found
    assert (found.reference is not None) == (action in ("changed", "loosened"))


def test_what_is_expected_to_fail_is_refused_with_its_reason(file):
    found = proposal(file("[$xfail, a slow switch, [1.3, null, 0.5, us]]"), runs(20))
    assert found.why == "expected to fail: a slow switch; remove the $xfail first"


def test_a_bound_of_the_other_side_stays(file):
    assert proposal(file("[1.3, -0.1, 0.5, us]"), runs(20)).reference == (1.3, -0.1, 0.02, "us")


def test_simulations_are_refused(file):
    with pytest.raises(ReferenceError, match="yours is simulated: its references come from published documents"):
        propose(frame(runs(5, evidence="fitted")), file())


def test_series_that_share_a_place_are_refused(file):
    shared = STANDING.replace("$partition, $environ, layout", "layout").replace(
        "  yours:compute:\n    mpich-cray:\n", ""
    )
    shared = shared.replace("      2x1:", "  2x1:").replace("        latency", "    latency")
    records = [*runs(5), *runs(5, environ="impi")]
    found = propose(frame(records), file("[1.3, null, 0.1, us]", shared))
    assert [each.action for each in found] == ["refused"] * 2
    assert found[0].why.startswith("2 series share this reference; separate them by $index")


def test_an_index_that_records_cannot_answer_is_said(file):
    odd = STANDING.replace("layout]", "fanciness]")
    found = proposal(file("[1.3, null, 0.1, us]", odd), runs(5))
    assert found.why == "the $index of OsuLatency names 'fanciness', but no record has its value"

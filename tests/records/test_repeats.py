# SPDX-License-Identifier: BSD-3-Clause
"""What repeats say of a miss: for a run, for its records alone, and for readers of series."""

import pytest

from fabric_checks.core.finding import Severity
from fabric_checks.records import reader, repeats, runs, sources
from fabric_checks.records.findings import findings_of
from fabric_checks.report.findings import counts_text, problems, references_text
from tests import builders

MISS, MET = 3.0, 2.0
AGAIN = [f"{builders.SESSION}-repeat-{number}" for number in (1, 2, 3)]


def value(value, **changes):
    """Return the record of a latency whose reference is 2 us, at most 2.2."""
    is_met = value <= 2.2
    result = {"result": "pass" if is_met else "fail"}
    case = {"case_result": result["result"], "fail_reason": None if is_met else "slow"}
    of = {
        "metric": "t",
        "reference": 2.0,
        "lower": None,
        "upper": 0.1,
        "no_reference": None,
    }
    return (
        builders.bare(value=value, unit="us", nodelist=["n1"], **of, **case, **result)
        | changes
    )


def repeated(*values):
    """Return the records of the repeats of a run."""
    return [
        value(each, session=session)
        for each, session in zip(values, AGAIN, strict=False)
    ]


@pytest.mark.parametrize(
    ("values", "result", "severity", "text"),
    [
        ([MET, MET], "unconfirmed", Severity.NOTE, "not confirmed 1 of 3: 3, 2, 2 us"),
        ([MET], "unconfirmed", Severity.NOTE, "not confirmed 1 of 2: 3, 2 us"),
        (
            [MISS, MET],
            "unconfirmed",
            Severity.SUSPECT,
            "not confirmed 2 of 3: 3, 3, 2 us",
        ),
        (
            [MET, MISS],
            "unconfirmed",
            Severity.SUSPECT,
            "not confirmed 2 of 3: 3, 2, 3 us",
        ),
        (
            [MISS, MISS],
            "fail",
            None,
            "confirmed 3 of 3: 3, 3, 3 us; no other nodes were free",
        ),
    ],
)
def test_a_miss_is_confirmed_by_repeats_that_all_miss(values, result, severity, text):
    (found,) = repeats.judged([value(MISS), *repeated(*values)])
    assert found["result"] == result
    assert found["case_result"] == result
    assert [each.severity for each in findings_of(found)] == (
        [severity] if severity else []
    )
    assert repeats.confirmation_text(found).startswith(text)
    assert found["value"] == MISS


def test_other_nodes_tell_the_nodes_from_the_whole_and_acquit_nobody():
    here = repeated(MISS, MISS)
    for there, says in ((MET, "met on n2 (2), so it is these nodes"),
                        (MISS, "missed on n2 (3), so it is not these nodes alone")):  # fmt: skip
        elsewhere = value(there, session=AGAIN[2], nodelist=["n2"])
        (found,) = repeats.judged([value(MISS), *here, elsewhere])
        assert found["result"] == "fail"
        assert repeats.confirmation_text(found).endswith(says)
    # Only elsewhere, as where a scheduler did not give the nodes that were asked for.
    (found,) = repeats.judged(
        [value(MISS), value(MET, session=AGAIN[0], nodelist=["n2"])]
    )
    assert found["result"] == "fail"
    assert repeats.confirmation_text(found).startswith(
        "not measured again on its nodes; met on n2"
    )


def test_a_repeat_without_a_value_says_why_and_acquits_nobody():
    failed = builders.failed(session=AGAIN[0]) | {"fail_reason": "node n1\nis down"}
    (found,) = repeats.judged([builders.record(session=builders.SESSION, result="fail", reference=1.0,
                                               no_reference=None), failed])  # fmt: skip
    assert found["result"] == "fail"
    assert "a repeat failed: node n1 is down" in repeats.confirmation_text(found)


def test_a_case_with_another_fault_stays_failed_and_others_are_as_they_were():
    worse = [
        value(MISS, metric="worse", session=each)
        for each in (builders.SESSION, *AGAIN[:2])
    ]
    other = value(MISS, test="B %layout=1x2", check="B")
    once, again, untouched = repeats.judged(
        [value(MISS), worse[0], other, *worse[1:], *repeated(MET, MET)]
    )
    assert [once["result"], again["result"], untouched["result"]] == [
        "unconfirmed",
        "fail",
        "fail",
    ]
    assert once["case_result"] == again["case_result"] == "fail"
    assert untouched["confirmation"] is None


@pytest.fixture
def results(tmp_path):
    """Return a folder of results with a miss that both repeats met."""
    failed = builders.case(result="fail", fail_phase="performance")
    failed["perfvalues"] = {"s:p:t": [MISS, 2.0, None, 0.1, "us", "fail"]}
    for number, session in enumerate([builders.SESSION, *AGAIN[:2]]):
        case = builders.case() if number else failed
        records = [value(MISS), *repeated(MET, MET)]
        builders.write_session(tmp_path, [case], session=session, records=records)
    return tmp_path


def test_a_run_and_its_records_judge_by_the_repeats_alike(results):
    alone = runs.session_of_records(results / "perflogs", None)
    for session in (runs.load_session(results), alone):
        assert session.name == builders.SESSION
        assert [each["value"] for each in session.records] == [MISS]
        assert not runs.verdict(session) and not problems(session)
        assert (
            counts_text(session.cases)
            == "0 of 1 case passed, 1 with an unconfirmed miss"
        )
        assert references_text(session.records) == (
            "1 held to references, none missed; unconfirmed by repeats: t of A 1x2"
        )


def test_repeats_are_no_runs_and_no_values_of_a_series(results):
    assert [run.session for run in runs.listed(results)[0]] == [builders.SESSION]
    assert builders.load(results, ["value"]).frame["value"].to_list() == [MISS]
    both = reader.load([sources.Source("a", results, repeats=True)], ["value"])
    assert sorted(both.frame["value"]) == [MET, MET, MISS]
    # By its own name, a repeat is read like any other run.
    assert [each["value"] for each in runs.load_session(results, AGAIN[0]).records] == [
        MET
    ]

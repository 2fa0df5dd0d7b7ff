# SPDX-License-Identifier: BSD-3-Clause
"""Reference files."""

import pytest

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.metrics import Metric
from fabric_checks.references import reference_file
from tests.references import records

CASE = {"check": "A", "partition": "s:p", "environ": "e", "layout": "1x2"}
METRICS = [Metric("t", "us", "smaller"), Metric("b", "MB/s", "larger")]


@pytest.fixture
def load(tmp_path):
    return lambda text: records.load(tmp_path, text)


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: [", ":[12]: not valid YAML"),
        ("- a", "the top level must be a mapping"),
        ("A: {t: [1, null, 1, us]}", "A: must be a mapping with an \\$index"),
        ("no_references: []", "no_references: unknown; did you mean no_reference?"),
        ("derive: []", "derive: unknown; did you mean derived?"),
        (
            "A: {$index: [layout], 1x2: 3}",
            "A: 1x2: '3' where \\$index requires another level",
        ),
        (
            "A: {$index: [layout], 1x2: {t: [1, 0.1, 0.5, us]}}",
            "the lower share '0.1' does not fit",
        ),
        (
            "A: {$index: [layout], 1x2: {t: [1, null, -0.5, us]}}",
            "the upper share '-0.5' does not fit",
        ),
        (
            "A: {$index: [layout], 1x2: {t: [.nan, null, 0.5, us]}}",
            "the value 'nan' is not a finite number",
        ),
        (
            "A: {$index: [layout], 1x2: {t: [0, null, 0.5, us]}}",
            "is not a finite number other than 0",
        ),
        (
            "A: {$index: [layout], 1x2: {t: [1, null, null, us]}}",
            "t: has no bound; give it one, or a reason",
        ),
        ("A: {$index: [layout], 1x2: {t: [1, null, 0.5]}}", "is not of the form"),
        ("no_reference: [{check: A}]", "'why' is missing: a text"),
        (
            "no_reference: [{why: x, chek: A}]",
            "yaml:1: no_reference: 0: chek: unknown; did you mean check",
        ),
        (
            "no_reference: [{why: x, check: 'A('}]",
            "check is 'A\\('; give a regular expression",
        ),
        (
            "evidence: [{check: A}]",
            "'evidence' is missing: one of fitted, predicted, said, simulated",
        ),
        ("evidence: [{evidence: fitted}]", "evidence: 0: 'fitted' needs its 'source'"),
    ],
)
def test_malformed_files(load, text, message):
    with pytest.raises(ReferenceError, match=message) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    assert ".yaml" in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(
        ReferenceError,
        match="No such file or directory; every system needs a reference file",
    ):
        reference_file.load(tmp_path / "nowhere.yaml")


def test_every_metric_gets_a_reference_or_a_reason(load):
    file = load("no_reference: [{metric: b, why: nobody measured it}]")
    found, reasons = reference_file.complete(
        file, {"t": (1.0, None, 0.1, "us")}, METRICS, **CASE
    )
    assert found == {"t": (1.0, None, 0.1, "us"), "b": (0, None, None, "MB/s")}
    assert reasons == {"b": "nobody measured it"}


def test_reasons_match_in_full(load):
    file = load("no_reference: [{check: A, layout: 1x., metric: t, why: x}]")
    assert file.why_none(metric="t", **CASE) == "x"
    assert file.why_none(metric="tt", **CASE) is None
    assert file.why_none(metric="t", **CASE | {"check": "AB"}) is None
    assert file.why_none(metric="t", **CASE | {"layout": "2x1"}) is None


@pytest.mark.parametrize(
    "found, message",
    [
        ({}, "t has no reference; add one, or give a reason under no_reference"),
        (
            {"t": (1, None, 1, "us"), "c": (1, None, 1, "us")},
            "orphan: c: the check declares no such metric",
        ),
        ({"t": (1, None, 1, "s")}, "t is in us, but its reference is in s"),
    ],
)
def test_gaps_and_orphans(load, found, message):
    file = load("no_reference: [{metric: b, why: x}]")
    with pytest.raises(ReferenceError, match=message) as caught:
        reference_file.complete(file, found, METRICS, **CASE)
    assert "A on s:p with e, 1x2" in str(caught.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("B: {$index: [layout], 1x2: {t: [1, null, 1, us]}}", "orphan entry 'B'"),
        (
            "A: {$index: [$partition], 's:q': {t: [1, null, 1, us]}}",
            "orphan: A: s:q: there is no such partition here",
        ),
    ],
)
def test_entries_of_what_does_not_exist_are_refused(load, text, message):
    known = {"$partition": ["s:p"], "$environ": ["e"], "layout": ["1x2", "2x1"]}
    reference_file.require_known(
        load("A: {$index: [$partition], 's:.*': {t: [1, null, 1, us]}}"), ["A"], known
    )
    with pytest.raises(ReferenceError, match=message):
        reference_file.require_known(load(text), ["A"], known)


def test_an_expected_failure_has_a_reference_too(load):
    load("A: {$index: [layout], 1x2: {t: [$xfail, known, [1, 0, 0, us]]}}")
    with pytest.raises(ReferenceError, match="has no bound"):
        load("A: {$index: [layout], 1x2: {t: [$xfail, known, [1, null, null, us]]}}")


EVIDENCE = "evidence: [{check: A, metric: t, evidence: fitted, source: Table 2}, {evidence: simulated}]"


def test_evidence_says_how_a_value_comes_to_be(load):
    file = load(EVIDENCE)
    fitted = file.evidence_of(held=True, metric="t", **CASE)
    assert fitted.evidence == "fitted"
    assert fitted.source == "Table 2"
    # What is held to nothing is not fitted because of its name.
    assert file.evidence_of(held=False, metric="t", **CASE).evidence == "simulated"
    assert file.evidence_of(held=True, metric="b", **CASE).evidence == "simulated"
    assert (
        load("no_reference: [{why: x}]").evidence_of(held=True, metric="t", **CASE)
        is None
    )

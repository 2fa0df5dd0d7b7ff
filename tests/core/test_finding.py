# SPDX-License-Identifier: BSD-3-Clause
"""A finding: its identity, its severity, and its form in a record."""

import json

import msgspec
import pytest

from fabric_checks.core.finding import Finding, Severity, cause, same_cause
from fabric_checks.records.findings import findings_of


def finding(**fields):
    return Finding(
        **{
            "kind": "port",
            "severity": Severity.FAULT,
            "text": "symbol_error grew by 900",
        }
        | fields
    )


def test_identity_does_not_depend_on_the_text():
    one = finding(hosts=("n1",), key="port n1/mlx5_0 symbol_error")
    other = finding(
        hosts=("n1",), key="port n1/mlx5_0 symbol_error", text="symbol_error: 12 more"
    )
    assert one.key == other.key


def test_without_a_key_of_its_own_it_is_kind_and_part_or_else_kind_and_hosts_in_any_order():
    assert finding(part="node n3", hosts=("n3",)).key == "port node n3"
    assert (
        finding(hosts=("n2", "n1")).key
        == finding(hosts=("n1", "n2")).key
        == "port n1 n2"
    )
    assert finding().key == "port"


def test_an_advice_that_text_or_details_have_is_no_line_of_its_own():
    assert finding(advice="look", details=("a",)).lines == ("a", "look")
    assert finding(advice="look", details=("a", "look")).lines == ("a", "look")
    assert finding(advice="look", text="it grew; look").lines == ()


@pytest.mark.parametrize("severity", list(Severity))
def test_a_record_has_all_of_it(severity):
    whole = finding(
        severity=severity,
        hosts=("n1",),
        size=2.5,
        size_unit="us",
        advice="look",
        details=("a", "b"),
    )
    assert findings_of({"findings": [json.loads(json.dumps(whole.as_dict()))]}) == [
        whole
    ]
    assert whole.is_fault == (severity is Severity.FAULT)


@pytest.mark.parametrize(
    "change",
    [
        {"severity": "bad"},
        {"hosts": "n1"},
        {"size": "much"},
        {"data": 3},
        {"details": 1},
    ],
)
def test_what_is_no_finding_is_refused(change):
    with pytest.raises(msgspec.ValidationError):
        findings_of({"findings": [finding().as_dict() | change]})


@pytest.mark.parametrize("name", ["kind", "severity", "text"])
def test_what_lacks_a_member_is_refused(name):
    data = finding().as_dict()
    del data[name]
    with pytest.raises(msgspec.ValidationError):
        findings_of({"findings": [data]})


def test_failures_of_one_cause_differ_in_numbers_paths_and_their_own_names():
    reason = "in sanity: {0}: rank {1} of 2: [mpiexec@n{1}] ../stage/{0}_{1}/job.err: no launcher nosuch"
    names = ["OsuLatency %layout=2x1 @s:p", "Rotate @s:p", "ImbPingPong @s:p"]
    reasons = {
        name: reason.format(name.split(" ")[0], number)
        for number, name in enumerate(names)
    }
    assert same_cause(reasons | {"A @s:p": "in sanity: no output"}) == [
        names,
        ["A @s:p"],
    ]
    assert cause("a  b 3.5") == "a b 0"

# SPDX-License-Identifier: BSD-3-Clause
"""Each case that reads a faulty reference file fails with the fault; tests/test_end_to_end has a whole
session."""

import pytest
import reframe as rfm
import yaml
from reframe.core.exceptions import PerformanceError
from reframe.core.runtime import runtime

from fabric_checks.references import lookup
from tests import loading

REFERENCE = """
OsuLatency:
  $index: [$partition, $environ, layout]
  local:node:
    mpich:
      1x2:
        latency_0B: [{value}, null, 0.1, us]
no_reference:
- {{metric: 'latency_[1-9].*', why: only the zero-byte latency is judged}}
"""


@pytest.fixture(scope="module")
def case(of_module):
    """Return one case, set up, which is held to nothing yet."""
    of_module.setenv("FABRIC_MPI", "mpich")
    (found,) = [
        case
        for case in loading.cases("local", suite="osu/pt2pt.py")
        if case.environ.name == "mpich"
        and type(case.check).__name__ == "OsuLatency"
        and str(case.check.layout) == "1x2"
    ]
    return found


@pytest.fixture
def read(case, tmp_path):
    """Return a function that lets the case read a text as the file of its system."""

    def read(text):
        (tmp_path / "local.yaml").write_text(text)
        # The reasons of the shipped file were read at its set-up.
        for fact in case.check.facts.metrics.values():
            fact.no_reference = None
        runtime().site_config.add_sticky_option(
            "general/reference_prefix", str(tmp_path)
        )
        case.check.read_references()
        return case.check

    yield read
    runtime().site_config.remove_sticky_option("general/reference_prefix")


def held(check):
    """Return what each metric is held to."""
    return {
        metric.name: tuple(check.reference[f"local:node:{metric.name}"])
        for metric in check.metrics()
    }


def test_a_sound_file_judges_one_metric_and_says_why_not_the_others(read):
    check = read(REFERENCE.format(value=1e9))
    check.require_references()
    assert held(check)["latency_0B"] == (1e9, None, 0.1, "us") and held(check)[
        "latency_1B"
    ][1:3] == (
        None,
        None,
    )
    assert check.facts.metrics["latency_0B"].no_reference is None
    assert (
        check.facts.metrics["latency_1B"].no_reference
        == "only the zero-byte latency is judged"
    )


@pytest.mark.parametrize(
    "change, message",
    [
        (
            ("latency_0B", "latency_0"),
            "orphan: latency_0: the check declares no such metric there; fix or delete it",
        ),
        (
            ("OsuLatency", "OsuLatensy"),
            "orphan entry 'OsuLatensy': no check class has that name; fix or delete it",
        ),
        (
            ("local:node", "local:nod"),
            "OsuLatency: local:nod: mpich: 1x2: there is no such partition here (there is local:node)",
        ),
        (("us]", "ms]"), "latency_0B is in us, but its reference is in ms"),
        (
            ("layout]", "layuot]"),
            "$index names 'layuot', which the check does not have",
        ),
        (("0.1, us", "null, us"), "latency_0B: has no bound"),
        (
            ("latency_[1-9].*", "latency_[1-9]"),
            "has no reference; add one, or give a reason",
        ),
    ],
)
def test_a_wrong_file_fails_and_leaves_the_values(read, change, message):
    check = read(REFERENCE.format(value=1e9).replace(*change))
    with pytest.raises(PerformanceError) as caught:
        check.require_references()
    assert message in str(caught.value) and "\n" not in str(caught.value).strip()
    # Every value is measured and logged nevertheless, and held to nothing.
    assert len(held(check)) == 24 and all(
        each[1:3] == (None, None) for each in held(check).values()
    )
    assert (
        "the reference file is wrong" in check.facts.metrics["latency_0B"].no_reference
    )


@pytest.mark.parametrize(
    "entry",
    [
        "{$index: [layout], 1x2: {t: [1, null, 0.1, us]}, '.*': {t: [2, null, 0.1, us]}}",
        "{$index: [layout], '1.*': {t: [2, null, 0.1, us]}, '.x2': {u: [3, null, 0.1, us]}}",
        "{$index: [size, layout], 8: {'.*': {t: [1, null, 0.1, us]}}}",
        "{$index: [size, layout], 16: {'.*': {t: [1, null, 0.1, us]}}}",
        "{$index: [layout, size], 1x2: {'1.*': {t: [1, null, 0.1, us]}}, '.*': {8: {t: [2, null, 0.1, us]}}}",
        "{$index: [layout], 'x2': {t: [1, null, 0.1, us]}}",
    ],
)
def test_a_case_finds_its_references_as_reframe_does(tmp_path, entry):
    class Check(rfm.RunOnlyRegressionTest):
        layout, size = "1x2", 8

    (tmp_path / "s.yaml").write_text(f"Check: {entry}\n")
    check = Check()
    check.reference = {"$ref": str(tmp_path / "s.yaml")}
    try:
        expected = dict(check.reference[check])
    except KeyError:
        expected = {}
    _, found = lookup.descend(yaml.safe_load(entry), lambda item: getattr(check, item))
    assert {metric: tuple(each) for metric, each in found.items()} == expected


def test_without_a_file_values_are_recorded_but_a_named_one_has_to_exist(
    read, tmp_path, monkeypatch
):
    check = read(REFERENCE.format(value=1e9))
    (tmp_path / "local.yaml").unlink()
    check.read_references()
    check.require_references()
    assert all(each[1:3] == (None, None) for each in held(check).values())
    assert (
        check.facts.metrics["latency_0B"].no_reference
        == f"there is no {tmp_path}/local.yaml"
    )
    monkeypatch.setitem(check.current_partition.extras, "references", "yours")
    check.read_references()
    with pytest.raises(
        PerformanceError, match=r"yours\.yaml: .*every system needs a reference file"
    ):
        check.require_references()

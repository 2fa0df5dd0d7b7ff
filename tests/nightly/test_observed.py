# SPDX-License-Identifier: BSD-3-Clause
"""The findings of a run: each cause once, by name."""

import json

import pytest

from fabric_checks.nightly import observed as findings_of
from fabric_checks.nightly.summary import Summary, as_json, terminal
from fabric_checks.records.repeats import judged
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.slurm.output import CAUSES
from tests.nightly import samples
from tests.nightly.samples import MACHINE, NIGHT, case, fault, record, session

DOWN = [
    Node(name, f"{name} is down (switch 2 lost power)")
    for name in ("n5", "n6", "n7", "n8")
]
WAITED = model.timed_out(
    "12",
    31,
    "Slurm",
    "Nodes required for job are DOWN",
    [Node("n1"), *DOWN],
    unschedulable=True,
)


def observed(*cases, records=None):
    return findings_of.observed(NIGHT, session(*cases, records=records))


def test_a_sound_run_has_no_finding():
    found = observed(case("A"), case("B"))
    assert not found.findings and not found.failures
    assert found.measured == {f"A @{MACHINE}", f"B @{MACHINE}"}


def test_a_slow_node_is_one_finding_with_all_that_it_explains():
    """The signs tell how bad it is: of what is blamed, of values on either side of references, of reasons."""
    slow = fault("n3", text="n3 sends at 0.4", size=0.6)
    errors = fault(
        "n3",
        kind="port",
        text="n3: symbol_error grew by 900",
        key="port n3 mlx5_0 symbol_error",
    )
    sharing = fault("n1", "n2", kind="sharing", severity="note")
    records = [
        record("Shift", findings=[fault("n3", "n7", kind="pair"), sharing]),
        record("Rotate", findings=[errors, slow]),
        record(
            "Alltoall",
            nodelist=["n1", "n3"],
            result="fail",
            reference=100,
            value=40,
            unit="MB/s",
        ),
        record(
            "Other",
            nodelist=["n1", "n2"],
            result="fail",
            reference=100,
            value=130,
            unit="MB/s",
        ),
        record(
            "Map", findings=[fault("n7", "n8", kind="pair", size=512.0, size_unit="us")]
        ),
    ]
    missed = [
        case(name, "fail", "performance error: m=50", "performance")
        for name in ("Alltoall", "Other")
    ]
    hung_ = case("Hung", "fail", "sanity error: line 17: no end")
    found = observed(
        *map(case, ("Rotate", "Shift", "Map")), *missed, hung_, records=records
    ).findings
    node, path, other, hung = found
    assert node.hosts == ("n3",) and node.title == "n3 sends at 0.4"
    (line,) = (
        line for line in node.details if "Alltoall" in line and "seen by" not in line
    )
    assert "m is 40 MB/s; the reference is 100, 60 % off" in line
    assert {"pair n3 to n7", errors["text"]} <= {*node.details}
    assert node.keys == {"n3", f"Alltoall @{MACHINE}"}
    assert node.sizes == {
        "sender n3": 0.6, "port n3 mlx5_0 symbol_error": 0.0, "pair n3 n7": 0.0,
        f"Alltoall @{MACHINE}: m": 0.6
    }  # fmt: skip
    assert (path.sizes, path.largest("us")) == ({"pair n7 n8": 512.0}, 512.0)
    assert path.subject == "the path between n7 and n8"
    assert (
        other.title.startswith(f"Other @{MACHINE}: m is 130 MB/s")
        and "on n1, n2" in other.title
    )
    assert other.sizes == {f"Other @{MACHINE}: m above": pytest.approx(0.3)}
    assert hung.sizes == {f"Hung @{MACHINE}: sanity error: line 0: no end": 0.0}


@pytest.mark.parametrize(
    "listed, keys",
    [
        (
            [
                fault("n1"),
                fault("n2"),
                fault("n3", "n4", kind="pair"),
                fault("n1", "n5", kind="pair"),
            ],
            ["n1", "n2", "n3 n4"],
        ),
        (
            [fault(kind="cable", part="the cable leaf-1 to spine-0")],
            ["the cable leaf-1 to spine-0"],
        ),
        (
            [fault("n3", severity="suspect"), fault("n3", kind="own", severity="note")],
            [],
        ),
    ],
    ids=["nodes and paths", "a cable without a node", "uncertain"],
)
def test_each_part_that_an_analysis_is_certain_of_is_a_finding(listed, keys):
    found = observed(case("R"), records=[record("R", findings=listed)]).findings
    assert [" ".join(each.keys) for each in found] == keys


def failed(test, ending, *, state="CANCELLED", began=None, nodelist=()):
    """Return a case that failed so, and its record."""
    at = {"job_state": state, "job_began": began, "nodelist": list(nodelist)}
    at["node_faults"] = dict(ending.node_faults)
    reason = f"sanity error: {ending.text}"
    return case(test, "fail", reason), record(
        test, case_result="fail", metric=None, fail_reason=reason, **at
    )


def test_nodes_out_of_service_are_one_finding_for_all_waiting_cases():
    waiting, records = zip(*(failed(f"W{i}", WAITED) for i in range(3)), strict=True)
    (found,) = observed(case("A"), *waiting, records=[record("A"), *records]).findings
    assert found.hosts == ("n5", "n6", "n7", "n8")
    assert (
        "3 cases could not run or could not finish: n5 is down (switch 2 lost power); n6"
        in found.title
    )
    assert "service n5" in found.keys and found.cases == {each.name for each in waiting}


@pytest.mark.parametrize(
    "state, nodes, hosts, says",
    [
        ("NODE_FAIL", DOWN, ("n5",), "could not run or could not finish"),
        (
            "TIMEOUT",
            [],
            (),
            f"B @{MACHINE}: sanity error: job 7 ran on n1, n5; it ran over its time limit",
        ),
    ],
    ids=["a node died", "the program hangs"],
)
def test_a_job_that_was_ended_blames_the_node_that_died_or_its_case(
    state, nodes, hosts, says
):
    ending = model.terminated("7", ["n1", "n5"], CAUSES[state], state, nodes)
    lost, of_it = failed(
        "B",
        ending,
        state=state,
        began="2026-01-01T00:00:00+00:00",
        nodelist=["n1", "n5"],
    )
    (found,) = observed(case("A"), lost, records=[record("A"), of_it]).findings
    assert found.hosts == hosts and says in found.title


def test_cases_that_fail_alike_are_one_finding_and_others_are_not():
    alike = [
        case(f"C{i}", "fail", f"sanity error: line {i}: the size {2**i} is missing")
        for i in range(3)
    ]
    found = observed(
        case("A"), *alike, case("D", "fail", "sanity error: no output")
    ).findings
    assert [len(each.cases) for each in found] == [3, 1]
    assert found[0].title.startswith(
        f"3 cases failed for one reason, the first: C0 @{MACHINE}: "
    )


BUILD = case(
    "Programs", "fail", "build system error: cc not found", "compile", fixture=True
)
MISSED = case("B", "fail_deps")


def test_a_failed_build_lists_the_cases_that_did_not_run():
    (found,) = observed(case("A"), BUILD, MISSED).findings
    assert found.title == f"{BUILD.name}: build system error: cc not found"
    assert found.cases == {BUILD.name, MISSED.name}
    assert found.details == [f"did not run for want of it: {MISSED.name}"]


@pytest.mark.parametrize(
    "cause", ["No space left on device", "Disk quota exceeded", "Read-only file system"]
)
def test_a_full_disk_fails_the_night_and_blames_no_machine(cause):
    found = observed(
        case("A"),
        case("B", "fail", f"/x/B.jsonl: {cause}: 3 records are lost", "cleanup"),
    )
    assert not found.findings and cause in found.failures[0]


LACKS = fault(
    kind="topology", severity="note", text="the topology is not used: it lacks n3"
)


def test_a_topology_that_is_not_used_is_one_note_for_all_its_cases():
    names = ("V", "R", "S")
    found = observed(
        *map(case, names), records=[record(name, findings=[LACKS]) for name in names]
    )
    assert not found.findings and not found.failures and not found.blind
    assert found.warnings == (
        f"the topology is not used: it lacks n3: 3 cases, the first R @{MACHINE}",
    )


def test_a_finding_is_a_sentence_of_at_most_thirty_words_with_its_subject():
    text = (
        "node n3 sends at 0.6 of the rate of others"
        + ", and more words follow here" * 5
    )
    listed = [
        fault("n3", text=text, size=0.4, details=["12 pairs alone"]),
        fault("n3", kind="port"),
    ]
    (found,) = observed(case("R"), records=[record("R", findings=listed)]).findings
    assert len(found.title.split()) <= 30
    # What does not fit follows, and nothing is there twice.
    assert f"{found.title}, {found.details[0].removeprefix('... ')}" == text
    assert "12 pairs alone" in found.details and text not in found.details
    assert (found.subject, found.largest("share")) == ("node n3", 0.4)
    rail = fault(
        *(f"n{n}" for n in range(1, 9)), kind="rail", text="all nodes: eth1 is idle"
    )
    (of_all,) = observed(case("R"), records=[record("R", findings=[rail])]).findings
    assert (of_all.title, of_all.subject) == (
        "all nodes: eth1 is idle",
        "nodes n1, n2, n3 and 5 more",
    )


def cancelled(test):
    ending = model.terminated("7", ["n1", "n3"], CAUSES["CANCELLED"], "CANCELLED", [])
    return failed(
        test, ending, began="2026-01-01T00:00:00+00:00", nodelist=["n1", "n3"]
    )


def test_what_somebody_cancelled_is_no_sign_against_a_node():
    stopped, of_it = cancelled("Hung")
    rotate = record(
        "Rotate", findings=[fault("n3", kind="port", key="port n3 RetransSegs")]
    )
    found = observed(case("Rotate"), stopped, records=[rotate, of_it])
    (node,), (line,) = found.findings, found.warnings
    assert (node.keys, node.cases, node.sizes) == (
        {"n3"}, {f"Rotate @{MACHINE}"}, {"port n3 RetransSegs": 0}
    )  # fmt: skip
    assert "1 case cancelled" in line and stopped.name in line


def test_what_an_interrupted_run_left_out_is_no_finding():
    left = [
        case(test, "abort", "aborted due to KeyboardInterrupt", "run")
        for test in ("Hung", "Later")
    ]
    found = observed(case("Rotate"), *left, records=[record("Rotate")])
    (line,) = found.warnings
    assert not found.findings and not found.failures
    assert (found.cases, found.passed) == (1, 1)
    assert found.incomplete == "1 of 3 cases ran"
    assert "2 cases not run to the end, as the run was interrupted" in line
    assert all(each.name in line for each in left)


#: Of cases whose reasons differ in numbers, paths and their own names.
LAUNCH = (
    "sanity error: rank 0 of {0}: [mpiexec@n{0}] /stage/{1}_{0}/job.err: cannot "
    "find launcher nosuch for {1}"
)
BROKEN = [
    case(name, "fail", LAUNCH.format(number, name))
    for number, name in enumerate(
        ("OsuLatency", "OsuBandwidth", "ImbPingPong", "Rotate", "Streaming")
    )
]


@pytest.mark.parametrize(
    "cases, records, says",
    [
        ([], [], "nothing was recorded"),
        ([], [record("A")], "ReFrame ended before it could write its report"),
        (
            [failed("W", WAITED)[0]],
            [failed("W", WAITED)[1]],
            "; ".join(each.fault for each in DOWN),
        ),
        ([BUILD, MISSED], [], "cc not found"),
        (
            BROKEN,
            [],
            "no case gave a value: 5 cases failed for one reason, the first: ",
        ),
        (
            [case("A", "fail", "sanity error: no output")],
            [record("A", None)],
            "no case gave a value",
        ),
        # The ports of the case that was cancelled show what may be acknowledged.
        (
            [cancelled("H")[0]],
            [cancelled("H")[1] | {"findings": [fault("n3", kind="port")]}],
            "no case gave",
        ),
    ],
    ids=[
        "nothing",
        "killed",
        "no node",
        "a build",
        "one launcher",
        "no value",
        "cancelled",
    ],
)
def test_a_run_that_measured_nothing_failed_and_blames_nothing(cases, records, says):
    of = session(*cases, records=records)
    of = type(of)(of.name, of.report if cases else None, of.cases, of.records)
    found = findings_of.observed(NIGHT, of)
    assert says in found.failures[-1]
    assert not found.findings or found.measured


def repeated(again, test="Osu"):
    """Return the records of a miss and of its repeats."""
    of = {"reference": 2.0, "upper": 0.1, "no_reference": None, "unit": "us"}
    session = samples.SESSION
    return [
        record(
            test, session=f"{session}-repeat-{number}" if number else session, value=value,
            result="fail" if value > 2.2 else "pass", **of,
        )
        for number, value in enumerate([3.0, *again])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("again", "title", "unconfirmed"),
    [
        ([3.1, 3.2], "confirmed 3 of 3: 3, 3.1, 3.2 us", ""),
        ([3.1, 2.0], "", "not confirmed 2 of 3: 3, 3.1, 2 us"),
        ([2.1, 2.0], "", "not confirmed 1 of 3: 3, 2.1, 2 us"),
    ],
)
def test_a_miss_is_a_finding_if_its_repeats_confirm_it(again, title, unconfirmed):
    records = judged(repeated(again))
    result = records[0]["result"]
    missed = case("Osu", result, "m missed" if title else None, "performance")
    found = observed(missed, records=records)
    assert [title in each.findings[0].text for each in found.findings] == [True] * bool(
        title
    )
    assert [unconfirmed in line for line in found.unconfirmed] == [True] * bool(
        unconfirmed
    )
    summary = Summary(found)
    assert summary.all_quiet and unconfirmed in terminal(summary)
    assert json.loads(as_json(summary))["unconfirmed"] == list(found.unconfirmed)

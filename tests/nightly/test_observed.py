# SPDX-License-Identifier: BSD-3-Clause
"""The findings of a run: each cause once, by name."""

import pytest

from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly import observed as findings_of
from fabric_checks.nightly.model import plain_sizes
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.slurm.output import exit_reason
from tests.nightly.samples import MACHINE, NIGHT, case, fault, record, session

DOWN = [Node(name, f"{name} is down (switch 2 lost power)") for name in ("n5", "n6", "n7", "n8")]
WAITED = model.timed_out(
    "12", 31, "Slurm", "Nodes required for job are DOWN", [Node("n1"), *DOWN], unschedulable=True
)


def observed(found):
    return findings_of.observed(NIGHT, found)


def test_a_sound_run_has_no_finding():
    found = observed(session(case("A"), case("B")))
    assert not found.findings and not found.failures
    assert found.measured == {f"A @{MACHINE}", f"B @{MACHINE}"}


def test_a_slow_node_is_one_finding_with_all_that_it_explains():
    """The signs tell how bad it is: of what is blamed, of values on either side of references, of reasons."""
    slow = fault("n3", text="n3 sends at 0.4", size=0.6)
    errors = fault("n3", kind="port", text="n3: symbol_error grew by 900", key="port n3 mlx5_0 symbol_error")
    records = [
        record("Rotate", findings=[slow, errors]),
        record(
            "Shift",
            findings=[fault("n3", "n7", kind="pair"), fault("n1", "n2", kind="sharing", severity="note")],
        ),
        record("Alltoall", nodelist=["n1", "n3"], result="fail", reference=100, value=40, unit="MB/s"),
        record("Other", nodelist=["n1", "n2"], result="fail", reference=100, value=130, unit="MB/s"),
        record("Map", findings=[fault("n7", "n8", kind="pair", size=512.0, size_unit="us")]),
    ]
    missed = [case(name, "fail", "performance error: m=50", "performance") for name in ("Alltoall", "Other")]
    cases = [
        *map(case, ("Rotate", "Shift", "Map")),
        *missed,
        case("Hung", "fail", "sanity error: line 17: no end"),
    ]
    node, path, other, hung = observed(session(*cases, records=records)).findings
    assert node.hosts == ("n3",) and node.title == "n3 sends at 0.4"
    assert any(
        "Alltoall" in line and "m is 40 MB/s; the reference is 100, 60 % off" in line for line in node.details
    )
    assert any(line == "pair n3 to n7" for line in node.details)
    assert node.keys == {"n3", f"Alltoall @{MACHINE}"}
    assert plain_sizes(node) == {
        "sender n3": 0.6, "port n3 mlx5_0 symbol_error": 0.0, "pair n3 n7": 0.0,
        f"Alltoall @{MACHINE}: m": 0.6
    }  # fmt: skip
    assert (plain_sizes(path), path.largest("us")) == ({"pair n7 n8": 512.0}, 512.0)
    assert other.title.startswith(f"Other @{MACHINE}: m is 130 MB/s") and "on n1, n2" in other.title
    assert plain_sizes(other) == {f"Other @{MACHINE}: m above": pytest.approx(0.3)}
    assert plain_sizes(hung) == {f"Hung @{MACHINE}: sanity error: line 0: no end": 0.0}


CABLE = fault(kind="cable", part="the cable leaf-1 to spine-0", text="it is slow", size=0.5)


@pytest.mark.parametrize(
    ("listed", "titles"),
    [
        (
            [fault("n1"), fault("n2"), fault("n3", "n4", kind="pair"), fault("n1", "n5", kind="pair")],
            {("n1",): "sender n1", ("n2",): "sender n2", ("n3", "n4"): "pair n3 to n4"},
        ),
        ([fault("n1", text="so", size=0.5)], {("n1",): "node n1 is slow: so"}),
        ([fault("n1", "n2", text="so", size=0.5)], {("n1", "n2"): "the path between n1 and n2 is slow: so"}),
        ([CABLE], {(): "the cable leaf-1 to spine-0 is slow: it is slow"}),
        (
            [
                fault("n3", severity="suspect"),
                fault("n3", kind="own", severity="note"),
            ],
            {},
        ),
    ],
    ids=[
        "nodes and paths",
        "text without its node",
        "text without its path",
        "a cable without a node",
        "uncertain",
    ],
)
def test_each_part_that_an_analysis_is_certain_of_is_a_finding(listed, titles):
    found = observed(session(case("R"), records=[record("R", findings=listed)])).findings
    assert {each.hosts: each.title for each in found} == titles
    assert all(each.keys == {" ".join(each.hosts) or CABLE["part"]} for each in found)


def failed(test, ending, *, state="CANCELLED", began=None, nodelist=()):
    """Return a case that failed so, and its record."""
    at = {
        "job_state": state,
        "job_began": began,
        "nodelist": list(nodelist),
        "node_faults": dict(ending.node_faults),
    }
    reason = f"sanity error: {ending.text}"
    return case(test, "fail", reason), record(test, case_result="fail", metric=None, fail_reason=reason, **at)


def test_nodes_out_of_service_are_one_finding_for_all_waiting_cases():
    waiting, records = zip(*(failed(f"W{i}", WAITED) for i in range(3)), strict=True)
    (found,) = observed(session(case("A"), *waiting, records=[record("A"), *records])).findings
    assert found.hosts == ("n5", "n6", "n7", "n8")
    assert found.title.startswith(
        "3 cases could not run or could not finish: n5 is down (switch 2 lost power); n6 is"
    )
    assert "service n5" in found.keys and found.cases == {each.name for each in waiting}


def test_where_nothing_could_run_the_night_failed():
    waiting, of_it = failed("W", WAITED)
    found = observed(session(waiting, records=[of_it]))
    assert not found.findings
    assert found.failures == (
        "no case could run: " + "; ".join(f"{n.name} is down (switch 2 lost power)" for n in DOWN),
    )


@pytest.mark.parametrize(
    ("state", "nodes", "hosts", "says"),
    [
        ("NODE_FAIL", DOWN, ("n5",), "could not run or could not finish"),
        ("TIMEOUT", [], (), f"B @{MACHINE}: sanity error: job 7 ran on n1, n5; it ran over its time limit"),
    ],
    ids=["a node died", "the program hangs"],
)
def test_a_job_that_was_ended_blames_the_node_that_died_or_its_case(state, nodes, hosts, says):
    ending = exit_reason("7", state, ["n1", "n5"], nodes)
    lost, of_it = failed("B", ending, state=state, began="2026-01-01T00:00:00+00:00", nodelist=["n1", "n5"])
    (found,) = observed(session(case("A"), lost, records=[record("A"), of_it])).findings
    assert found.hosts == hosts and says in found.title


def test_cases_that_fail_alike_are_one_finding_and_others_are_not():
    alike = [case(f"C{i}", "fail", f"sanity error: line {i}: the size {2**i} is missing") for i in range(3)]
    found = observed(session(case("A"), *alike, case("D", "fail", "sanity error: no output"))).findings
    assert [len(each.cases) for each in found] == [3, 1]
    assert found[0].title.startswith(f"3 cases failed for one reason, the first: C0 @{MACHINE}: ")


BUILD = case("Programs", "fail", "build system error: cc not found", "compile", fixture=True)


def test_a_failed_build_lists_the_cases_that_did_not_run():
    missed = case("B", "fail_deps")
    (found,) = observed(session(case("A"), BUILD, missed)).findings
    assert "could not be built: build system error: cc not found" in found.title
    assert found.cases == {BUILD.name, missed.name}
    assert [line for line in found.details if "did not run" in line] == [
        f"among the cases that need it and did not run: {missed.name}"
    ]
    alone = observed(session(BUILD, missed))
    assert not alone.findings and alone.failures[0].startswith("nothing could be built")


@pytest.mark.parametrize("cause", ["No space left on device", "Disk quota exceeded", "Read-only file system"])
def test_a_full_disk_fails_the_night_and_blames_no_machine(cause):
    full = case("B", "fail", f"/x/B.jsonl: {cause}: 3 records are not in the perflog", "cleanup")
    found = observed(session(case("A"), full))
    assert not found.findings and cause in found.failures[0]


def test_a_run_that_measured_nothing_failed():
    assert observed(session()).failures
    killed = session(records=[record("A")])
    assert observed(type(killed)(killed.name, None, (), killed.records)).failures


def test_a_slow_node_and_the_errors_of_its_port_are_one_finding():
    """Two symptoms of one cause; the port alone is marked as such."""
    errors = fault(
        "n3", kind="port", key="port n3 symbol_error", text="node n3: symbol_error of mlx5_0:1 grew by 900"
    )
    slow = fault("n3", text="node n3 sends at 0.5 of the median", size=0.5)

    def found(**findings):
        records = [record(name, findings=[each]) for name, each in findings.items()]
        return observed(session(*map(case, findings), records=records)).findings

    both = found(Osu=errors, Rotate=slow)
    assert [finding.title for finding in both] == [slow["text"]]
    assert both[0].details[:2] == (errors["text"], f"seen by Osu @{MACHINE}, Rotate @{MACHINE}")
    (alone,) = found(Osu=errors)
    assert alone.title == errors["text"]
    assert found(Osu=fault("n3", kind="port", severity="suspect")) == ()


LACKS = fault(kind="topology", severity="note", text="the topology is not used: it lacks n3")


def test_a_topology_that_is_not_used_is_one_note_for_all_its_cases():
    names = ("V", "R", "S")
    found = observed(session(*map(case, names), records=[record(name, findings=[LACKS]) for name in names]))
    assert not found.findings and not found.failures and not found.blind
    assert found.warnings == (f"the topology is not used: it lacks n3: 3 cases, the first R @{MACHINE}",)


def test_a_finding_is_a_sentence_of_at_most_thirty_words_with_its_subject_and_sizes():
    text = "node n3 sends at 0.6 of the rate of others" + ", and more words follow here" * 5
    listed = [fault("n3", text=text, size=0.4, details=["12 pairs alone"]), fault("n3", kind="port")]
    (found,) = observed(session(case("R"), records=[record("R", findings=listed)])).findings
    assert len(found.title.split()) <= 30 and text.startswith(found.title)
    # What does not fit follows, and nothing is there twice.
    assert found.details[0] == "... and more words follow here, and more words follow here"
    assert "12 pairs alone" in found.details and text not in found.details
    assert found.title + ", " + found.details[0].removeprefix("... ") == text
    assert (found.subject, found.largest("share")) == ("node n3", 0.4)
    rail = fault(*(f"n{n}" for n in range(1, 9)), kind="rail", text="all nodes: eth1 is idle")
    (of_all,) = observed(session(case("R"), records=[record("R", findings=[rail])])).findings
    assert (of_all.title, of_all.subject) == ("all nodes: eth1 is idle", "nodes n1, n2, n3 and 5 more")


def test_every_finding_has_a_size_by_its_key():
    """Without one it could not be acknowledged."""
    waiting, of_it = failed("W", WAITED)
    cases = [case("A"), waiting, BUILD, case("C", "fail", "sanity error: no output"), case("R")]
    records = [record("A"), of_it, record("R", findings=[fault("n3"), fault("n1", "n5", kind="pair")])]
    found = observed(session(*cases, records=records)).findings
    assert len(found) == 5 and all(each.sizes for each in found)


def test_one_broken_launcher_is_one_cause_and_the_night_failed():
    """Seven cases whose reasons differ in numbers, paths and their own names, and not one value."""
    names = ("OsuLatency", "OsuBandwidth", "ImbPingPong", "Rotate", "Streaming", "Lammps", "Npb")
    reason = (
        "sanity error: rank 0 of {0}: [mpiexec@n{0}] /stage/{1}_{0}/job.err: cannot find launcher nosuch"
        " for {1}"
    )
    broken = [case(name, "fail", reason.format(number, name)) for number, name in enumerate(names)]
    found = observed(session(*broken, records=[]))
    assert not found.findings and found.verdict is Verdict.FAILED and found.verdict.exit_status == 1
    (failure,) = found.failures
    assert "7 cases" in failure and "cannot find launcher nosuch" in failure and "other reason" not in failure
    (one,) = observed(session(case("Own"), *broken)).findings
    assert len(one.cases) == 7


def cancelled(test, **changes):
    return failed(test, exit_reason("7", "CANCELLED", ["n1", "n3"], []), began="2026-01-01T00:00:00+00:00",
                  nodelist=["n1", "n3"], **changes)  # fmt: skip


def test_what_somebody_cancelled_is_no_sign_against_a_node():
    stopped, of_it = cancelled("Hung")
    rotate = record(
        "Rotate", findings=[fault("n3", kind="port", key="port n3 RetransSegs", text="n3 loses segments")]
    )
    found = observed(session(case("Rotate"), stopped, records=[rotate, of_it]))
    (node,) = found.findings
    assert (
        node.keys == {"n3"}
        and node.cases == {f"Rotate @{MACHINE}"}
        and plain_sizes(node) == {"port n3 RetransSegs": 0}
    )
    (line,) = found.warnings
    assert "1 case cancelled" in line and stopped.name in line


@pytest.mark.parametrize("of", [cancelled, None], ids=["its only case was cancelled", "no value"])
def test_a_night_that_measured_nothing_is_never_quiet(of):
    """Not even if the ports of the case that was cancelled show what is acknowledged."""
    lost = fault("n3", kind="port", text="n3 loses segments")
    stopped, of_it = (
        of(
            "Hung",
        )
        if of
        else (case("A", "fail", "sanity error: no output"), record("A", None))
    )
    found = observed(session(stopped, records=[of_it | {"findings": [lost]}]))
    assert found.with_more(acknowledged=found.findings).verdict is Verdict.FAILED
    (failure,) = found.failures
    assert "no case gave a value" in failure


def test_all_nodes_at_two_fifths_of_their_links_are_a_fault_of_the_night():
    text = "all pairs reach at most 0.40 of the rate of their links"
    found = observed(
        session(case("R"), records=[record("R", findings=[fault(kind="line rate", size=0.6, text=text)])])
    )
    assert found.verdict is Verdict.FINDINGS and found.verdict.exit_status == 3
    assert text in found.findings[0].title

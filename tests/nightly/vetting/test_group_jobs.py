# SPDX-License-Identifier: BSD-3-Clause
"""The outcome of a session of one case, and the commands of a round, with stand-ins for ReFrame."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fabric_checks.nightly.vetting import group_jobs
from fabric_checks.nightly.vetting.group_jobs import Jobs, VetError, outcome_of, run_all
from fabric_checks.nightly.vetting.group_tests import Outcome
from fabric_checks.schedulers import reservations
from tests.nightly.samples import case, fault, record, session


def outcome(*cases, records):
    return outcome_of(session(*cases, records=records), "the last line")


def test_a_case_that_passes_tells_who_is_slow():
    listed = [
        fault("n3", text="n3 sends at 0.5"),
        fault("n1", "n2", kind="pair"),
        fault("n5", severity="suspect"),
    ]
    own = record("R", findings=listed, limits={"node": 0.1, "pair": None})
    found = outcome(case("R"), case("Build", fixture=True), records=[own])
    assert found == Outcome(True, {}, {"n3": "n3 sends at 0.5"}, ("pair n1 to n2",), "pass", (
        "any node slower by 10 % or more would have been found, if slow throughout",
    ))  # fmt: skip


@pytest.mark.parametrize(
    "more, waited",
    [
        ({"job_state": "CANCELLED", "nodelist": None}, True),
        (
            {
                "job_state": "CANCELLED",
                "nodelist": None,
                "node_faults": {"n2": "n2 is down"},
            },
            False,
        ),  # the cause
        (
            {
                "job_state": "CANCELLED",
                "nodelist": None,
                "job_began": "2026-11-20T21:00:00+00:00",
            },
            False,
        ),
    ],
)
def test_a_job_that_never_began_tells_nothing_of_its_nodes(more, waited):
    late = case("R", "fail", "job 7 is still waiting")
    assert (
        outcome(late, records=[record("R", None, case_result="fail", **more)]).waited
        == waited
    )


@pytest.mark.parametrize("phase, refused", [("run", True), ("sanity", False)])
def test_a_job_that_is_not_accepted_has_no_record_and_tells_nothing_of_its_nodes(
    phase, refused
):
    """As Slurm refuses nodes of several blocks, with "Requested node configuration is not available"."""
    found = outcome(
        case("R", "fail", "job scheduler error: sbatch: Batch job", phase), records=[]
    )
    assert (found.refused, found.failed, found.faulty) == (refused, not refused, {})


NOISE = {"kind": "noise", "severity": "suspect", "text": "a pair differs by 8 %"}


@pytest.mark.parametrize(
    "node, nodes, more, unsure",
    [
        (0.5, 8, [NOISE], ""),
        (0.7, 8, [NOISE], "a pair differs by 8 %"),
        (0.7, 8, [], "only a node slower by 70 % would have been named"),
        (None, 8, [], "no node would have been named"),
        (None, 4, [], "no node would have been named"),
        (None, 3, [NOISE], "a pair differs by 8 %"),
        (
            None,
            3,
            [],
            "",
        ),  # so few never tell it, and all are tested together in the end
    ],
)
def test_a_case_that_could_miss_half_a_rate_is_unsure(node, nodes, more, unsure):
    listed = record("R", findings=more, limits={"node": node}) | {"nodes": nodes}
    assert outcome(case("R"), records=[listed]).unsure == unsure


def test_a_case_that_misses_references_has_run():
    missed = case("R", "fail", "performance error: m=50", "performance")
    assert outcome(missed, records=[record("R", result="fail")]).passed


def test_a_case_that_fails_names_the_nodes_that_the_scheduler_does():
    lost = case("R", "fail", "sanity error: job 7 ran on n1, n2\n  and more")
    found = outcome(
        lost,
        records=[
            record("R", None, case_result="fail", node_faults={"n2": "n2 is\ndown"})
        ],
    )
    assert found == Outcome(
        False, {"n2": "n2 is down"}, why="sanity error: job 7 ran on n1, n2"
    )


@pytest.mark.parametrize(
    "cases, says",
    [
        ([], "0 cases ran instead of one: the last line"),
        ([case("R"), case("S")], "2 cases ran instead of one"),
        (
            [
                case("R", "fail_deps"),
                case("B", "fail", "cc not found", "compile", fixture=True),
            ],
            "cc not found",
        ),
    ],
)
def test_a_session_without_its_one_case_blames_no_node(cases, says):
    with pytest.raises(VetError, match=says):
        outcome(*cases, records=[])


def test_each_job_has_its_nodes_and_its_limit():
    jobs = Jobs("s", Path("/r"), "oak:all", "mpich", 1.5, ("-C", "x.py"))
    line, environment = jobs._command("s-1", ("n1", "n2", "n5"))
    assert line[line.index("-n") + 1] == "%layout=3x1$" and line[-3:] == [
        "-C",
        "x.py",
        "-r",
    ]
    limits = [line[at + 1] for at, word in enumerate(line) if word == "-S"]
    assert limits == ["time_limit=90s", "max_pending_time=300s"]
    assert line[line.index("--system") + 1] == "oak:all"
    assert environment == {
        "FABRIC_SESSION": "s-1",
        "FABRIC_RESULTS": "/r",
        reservations.NODES: "n[1-2,5]",
    }


def test_a_job_on_ten_thousand_nodes_can_be_started(monkeypatch):
    """Linux refuses a variable of more than 128 KiB."""
    nodes = tuple(f"frontier{number:05}" for number in range(10_000, 0, -1))
    _, environment = Jobs("s", Path("/r"), "s:p", "e", 1)._command("s-1", nodes)
    assert len(environment[reservations.NODES]) < 100
    monkeypatch.setenv(reservations.NODES, environment[reservations.NODES])
    assert sorted(reservations.nodes_asked_for()) == sorted(nodes)


def test_the_last_line_of_each_command_and_its_minutes(monkeypatch):
    class Process:
        def __init__(self, line, env, **_):
            self.printed = env["PRINTED"]

        def communicate(self):
            return self.printed, None

        def poll(self):
            return 0

    monkeypatch.setattr("fabric_checks.nightly.supervision.subprocess.Popen", Process)
    monkeypatch.setattr(
        group_jobs,
        "time",
        SimpleNamespace(monotonic=iter([9000.0, 9030.0, 9150.0, 9240.0]).__next__),
    )
    done = run_all([(["reframe"], {"PRINTED": text}) for text in ("a\nb\n", "c", "\n")])
    assert done == [("b", 0.5), ("c", 2.5), ("it printed nothing", 4.0)]


def test_the_jobs_of_a_vet_are_numbered_and_last_as_long_as_their_case(monkeypatch):
    monkeypatch.setattr(
        group_jobs, "run_all", lambda lines: [("end", 2.0) for _ in lines]
    )
    records = {
        "s-1": [record("R") | {"elapsed_s": 90.0}],
        "s-2": [record("R")],
        "s-3": [record("R")],
    }
    monkeypatch.setattr(
        group_jobs.runs,
        "load_session",
        lambda _, name: session(case("R"), records=records[name]),
    )
    jobs = Jobs("s", Path("/r"), "oak:all", "mpich", 1.5)
    assert [minutes for _, minutes in jobs.run([("n1", "n2"), ("n3", "n4")])] == [
        1.5,
        2.0,
    ]
    assert jobs.run([("n1", "n3")])[0][0].passed and jobs.sessions == [
        "s-1",
        "s-2",
        "s-3",
    ]


def test_a_job_of_which_reframe_leaves_nothing_ends_the_vet(tmp_path, monkeypatch):
    monkeypatch.setattr(
        group_jobs, "run_all", lambda lines: [("no room", 2.0) for _ in lines]
    )
    with pytest.raises(VetError, match="s-1: ReFrame left nothing: no room"):
        Jobs("s", tmp_path, "oak:all", "mpich", 1.5).run([("n1", "n2")])

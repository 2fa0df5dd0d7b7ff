# SPDX-License-Identifier: BSD-3-Clause
"""Misses that are measured again: which, how often, where; and whole runs with a stand-in for the program."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric_checks.cli import repeating, run
from fabric_checks.core.levels import LEVELS
from fabric_checks.records import repeats, runs
from fabric_checks.report.terminal import progress
from fabric_checks.schedulers.model import Node
from tests import builders
from tests.conftest import FABRIC_CHECKS, GOLDEN, TESTS
from tests.sessions import NAME, Run

LATENCY = (GOLDEN / "osu-py/4.1.2/osu_latency.txt").read_text()
SLOW = re.sub(r"(?m)^( *1024\s+)\S+", r"\g<1>50.00", LATENCY)
REFERENCES = """
no_reference:
- {why: of no matter here}
OsuLatency:
  $index: [$partition, $environ, layout]
  local:node: {mpich: {1x2: {latency_1024B: [4.5, null, 0.1, us]}}}
"""


@pytest.fixture
def whole(tmp_path):
    """Return a function that runs OsuLatency by the command; the sessions that a pattern of the shell
    matches measure a latency of 50 us, the others one of 4.43."""
    folder, play = tmp_path / "references", tmp_path / "play.sh"
    folder.mkdir()
    (folder / "local.yaml").write_text(REFERENCES)
    (tmp_path / "slow").write_text(SLOW)
    (tmp_path / "well").write_text(LATENCY)

    def of(slow):
        play.write_text(
            f'[ "${{PMI_RANK:-0}}" = 0 ] || exit 0\n'
            f'case "$FABRIC_SESSION" in {slow}) cat {tmp_path}/slow ;; *) cat {tmp_path}/well ;; esac\n'
        )
        return Run(
            tmp_path / "results", "-n", "OsuLatency", settings=TESTS / "playback/settings.py",
            suites=["osu/pt2pt.py"], before=[FABRIC_CHECKS, "run", "--confirm=2", "--"],
            PLAYBACK_COMMAND=f"sh {play}", RFM_REFERENCE_PREFIX=str(folder),
        ).wait()  # fmt: skip

    return of


def test_a_whole_run_with_a_miss_that_repeats_meet_is_a_success(whole):
    done = whole("*-test")
    assert (done.status, done.gate) == (0, 0), done.output
    (miss,) = [each for each in done.session.records if each["result"] == "unconfirmed"]
    assert miss["confirmation"]["values"] == [50.0, 4.43, 4.43]
    screen = " ".join(done.output.split())
    assert "unconfirmed by repeats: latency_1024B of OsuLatency 1x2" in screen
    assert "not confirmed 1 of 3: 50, 4.43, 4.43 us" in done.shown


def test_a_whole_run_with_a_miss_that_repeats_miss_says_so(whole):
    done = whole("*")
    assert done.status == 1
    assert done.gate == 3
    assert "confirmed 3 of 3: 50, 50, 50 us; no other nodes were free" in done.output
    assert sorted((done.results / "logs").glob("*.json")) == []


@pytest.mark.parametrize(
    ("line", "given", "times"),
    [
        (["--mode", "nightly"], None, 2),
        (["--mode=smoke"], None, 2),
        (["--mode", "acceptance"], None, 0),
        (["--mode", "procurement"], None, 0),
        (["-n", "Osu"], None, 0),
        (["--mode", "nightly"], 0, 0),
        (["-n", "Osu"], 1, 1),
    ],
)
def test_the_level_says_how_often_unless_the_user_does(line, given, times):
    assert run._times(["reframe", *line, "-r"], given) == times


def test_where_cases_run_several_times_no_level_measures_a_miss_again():
    assert all(level.confirm == 0 for level in LEVELS.values() if level.passes > 1)


@pytest.mark.parametrize("given", ["two", "-1", "10"])
def test_a_wrong_number_of_repeats_is_refused_before_anything_runs(monkeypatch, given):
    monkeypatch.setattr(run, "_run", lambda *_: pytest.fail("it was run"))
    done = CliRunner().invoke(
        run.command, [f"--confirm={given}", "--", "reframe", "-r"]
    )
    assert done.exit_code == 2 and "--confirm" in done.output and given in done.output


class Session:
    """A run of cases on n1 and n2 of a cluster of Slurm, whose repeats are written by a test.

    :param repeat: returns the records of a repeat: takes its number, and its cases with their nodes.
    """

    def __init__(self, folder, records, cases, repeat=lambda number, asked: ()):
        self.folder, self.repeat, self.records, self.asked = (
            folder,
            repeat,
            list(records),
            [],
        )
        builders.write_session(folder, cases, session=NAME, records=self.records)

    def run(self, line, env):
        assert line[:2] == ["reframe", "-r"] and "--reruns=0" in line
        asked = json.loads(Path(env["FABRIC_REPEAT"]).read_text())
        self.asked.append(asked)
        more = self.repeat(len(self.asked), asked)
        self.records += [each | {"session": env["FABRIC_SESSION"]} for each in more]
        builders.write_session(
            self.folder, [builders.case()], session=env["FABRIC_SESSION"], records=self.records
        )  # fmt: skip
        return 0

    def measure_again(self, times=2):
        return repeating.Repeater(
            ["reframe", "-r"], self.folder, NAME, self.run
        ).measure_again(times)


def miss(test="A %layout=2x1", **changes):
    """Return the record of a miss."""
    of = {"metric": "t", "value": 3.0, "unit": "us", "reference": 2.0, "upper": 0.1, "no_reference": None,
          "result": "fail", "case_result": "fail", "fail_reason": "slow",
          "nodelist": ["n1", "n2"]}  # fmt: skip
    return builders.bare(test=test, session=NAME, **of) | changes


def failing(test="A %layout=2x1", phase="performance", **changes):
    """Return its case."""
    values = {"s:p:t": [3.0, 2.0, None, 0.1, "us", "fail"]}
    return builders.case(test, "fail", fail_phase=phase, perfvalues=values, **changes)


MET = {"value": 2.0, "result": "pass", "case_result": "pass", "fail_reason": None}


@pytest.mark.parametrize(
    ("records", "cases"),
    [
        ([builders.failed(session=NAME)], [failing(phase="sanity")]),
        ([miss(reference=None, no_reference="why")], [failing()]),
        ([miss(result="xpass")], [failing()]),
        ([miss(jobid="1"), miss(jobid="2")], [failing()]),
        ([miss(evidence="fitted")], [failing()]),
        ([miss()], [failing(), builders.case("B", "abort")]),
    ],
    ids=[
        "a fault",
        "no reference",
        "expected",
        "two passes",
        "simulated",
        "interrupted",
    ],
)
def test_what_is_no_miss_by_chance_is_not_repeated(tmp_path, records, cases):
    session = Session(tmp_path, records, cases)
    assert not session.measure_again() and not session.asked


def test_only_cases_with_misses_are_repeated_on_their_nodes(tmp_path):
    records = [miss(), miss("B", **MET)]
    session = Session(
        tmp_path, records, [failing(), builders.case("B")], lambda *_: [miss(**MET)]
    )
    assert session.measure_again()
    assert session.asked == [{"A %layout=2x1 @s:p+e": ["n1", "n2"]}] * 2


FREE = ["n1", "n3", "n4", "n5"]


@pytest.mark.parametrize(("free", "there", "scheduler", "job"), [
    (FREE, ["n3", "n4"], "slurm", None),
    (["n1", "n2", "n3"], None, "slurm", None),
    (FREE, ["n3", "n4"], "fabric-in-slurm-job", None),
    (FREE, None, "fabric-in-slurm-job", "7"),
    (FREE, None, "fabric-in-pbs-job", None),
])  # fmt: skip
def test_a_confirmed_miss_is_measured_on_other_nodes_that_are_free(
    tmp_path, monkeypatch, free, there, scheduler, job
):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    if job:
        monkeypatch.setenv("SLURM_JOB_ID", job)
    partition = {"scheduler": scheduler, "access": ["-p x"]}
    nodes = [*map(Node, free), Node("n8", "it is down"), Node("n9", is_busy=True)]
    monkeypatch.setattr(
        repeating.service, "configuration", lambda _: {"partitions": [partition]}
    )
    monkeypatch.setattr(repeating.service, "nodes_for", lambda *_: nodes)

    def repeat(_, asked):
        (own,) = asked.values()
        return [miss(nodelist=own, **({} if own == ["n1", "n2"] else MET))]

    session = Session(tmp_path, [miss()], [failing()], repeat)
    assert not session.measure_again()
    where = [own for asked in session.asked for own in asked.values()]
    assert where == [["n1", "n2"]] * 2 + ([there] if there else [])
    (found,) = runs.load_session(tmp_path, NAME).records
    assert found["confirmation"]["of"] == 3
    assert [each["nodelist"] for each in found["confirmation"]["elsewhere"]] == (
        [there] if there else []
    )


@pytest.mark.parametrize(("again", "status"), [(MET, 0), ({}, 1)])
def test_a_run_that_has_repeated_its_misses_itself_is_judged_by_that(
    tmp_path, monkeypatch, again, status
):
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setattr(run, "session_id", lambda: NAME)
    monkeypatch.setattr(run, "_run", lambda *_: pytest.fail("it was repeated"))
    repeated = [
        miss(session=f"{NAME}{repeats.SUFFIX}{number}", **again) for number in (1, 2)
    ]
    Session(tmp_path, [miss(), *repeated], [failing()])
    log = tmp_path / "logs" / f"{NAME}.log"
    log.parent.mkdir(exist_ok=True)
    log.touch()
    state = progress.State(again=2)
    assert run._measure_again(2, [], lambda _: None, [], state) == status


def test_a_repeat_that_does_not_end_by_itself_is_the_last(tmp_path):
    session = Session(tmp_path, [miss()], [failing()])
    run_it = session.run
    session.run = lambda *of: run_it(*of) + 130
    assert not session.measure_again() and len(session.asked) == 1

# SPDX-License-Identifier: BSD-3-Clause
"""Nights on a cluster of eight nodes: a quiet one, one with a slow link, one after its repair; others that go
wrong."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from fabric_checks.records.runs import load_session
from tests.cluster.conftest import CI, cluster_of
from tests.conftest import TESTS
from tests.guard import GUARD_S, wait_for

HERE = TESTS / "cluster/nights"
#: All nodes at once, and two of them.
ALL, TWO = "^Rotate%pattern=round-robin%layout=8x1$", "^OsuBarrier%layout=2x1$"
#: All of them, and held to no speed.
EIGHT = "^OsuBarrier%layout=8x1$"
#: What a night that is killed does not come to.
MORE = [
    f"^Rotate%pattern={pattern}%layout=8x1$"
    for pattern in ("rotate", "shift", "bisection")
]
#: A rate that a few cores reach for all pairs at once, also while they have other work: what is measured is
#: the links.
RATE, HALF = "200mbit", "100mbit"


@dataclass
class Night:
    """What a night left."""

    status: int
    text: str
    folder: Path

    def __post_init__(self):
        path = self.folder / "night.json"
        self.json = json.loads(path.read_text()) if path.exists() else {}

    def titles(self, kind):
        return [finding["title"] for finding in self.json[kind]]


class Nights:
    """Nights of one cluster with results of their own."""

    def __init__(self, cluster, results):
        self.cluster, self.results = cluster, results

    @property
    def folder(self):
        return self.results / "nightly/minicluster"

    def line(self, *cases, options=()):
        chosen = [part for case in cases for part in ("-n", case)]
        night = [CI / "nightly", "--system", "minicluster", *options]
        return (
            night
            if "--session" in options
            else [*night, "--", "-C", HERE / "settings.py", *chosen]
        )

    def environment(self):
        return {
            "FABRIC_RESULTS": str(self.results),
            "RFM_REFERENCE_PREFIX": str(HERE),
            "FABRIC_MPI": "mpich",
        }

    def spend(self, *cases, options=(), timeout=GUARD_S):
        before = self.sessions()
        words = map(str, self.line(*cases, options=options))
        done = self.cluster.tried("head", *words, timeout=timeout, **self.environment())
        new, *more = self.sessions() - before or {None}
        assert not more
        return Night(done.returncode, done.stdout + done.stderr, self.folder / str(new))

    def holder(self):
        """Return the process of the night that is running, by its number in the cluster."""
        return re.match(r"process (\d+) of ", (self.folder / "lock").read_text())[1]

    def sessions(self):
        return {path.name for path in self.folder.glob("2*")}

    def begin(self, *cases):
        """Start a night in the background, as the leader of a group of processes."""
        on_head = self.cluster.line_on("head")
        line = [*on_head, *map(str, self.line(*cases))]
        return subprocess.Popen(
            line, env=os.environ | self.environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, start_new_session=True,
        )  # fmt: skip


eight = cluster_of("--nodes", "8", "--rate", RATE)


@pytest.fixture
def nights(eight, tmp_path):
    return Nights(eight, tmp_path / "results")


@pytest.mark.alone
def test_three_nights_with_a_link_that_is_slow_in_the_second(nights, report_table):
    first = nights.spend(ALL)
    nights.cluster("shape", f"n3={HALF}")
    second = nights.spend(ALL)
    assert (
        'part="node n3",state="new"'
        in (nights.folder / "fabric_checks_night_minicluster.prom").read_text()
    )
    nights.cluster("shape", f"n3={RATE}")
    third = nights.spend(ALL)
    three = (first, second, third)
    report_table(
        "three nights",
        [f"{night.json['headline']}, status {night.status}" for night in three],
    )
    titles = second.titles("new")
    # On a host whose other work makes the values vary, a night may be blind to small faults, and says so; a
    # node that had less of the host all the time is named, too.
    for night, more in ((first, ""), (third, f" ({len(titles)} closed)")):
        word, status = (
            ("blind", 4) if night.json["blind"] else (night.json["verdict"], 0)
        )
        assert (night.status, night.json["headline"].split(":")[0]) == (
            status,
            f"{word}{more}",
        ), night.text
    assert second.status == 3, second.text
    (title,) = [
        each for each in titles if each.startswith("node n3 sends and receives at ")
    ]
    assert titles == [title] or "vary too much" in "".join(
        night.text for night in three
    ), second.text
    # The missed reference is of the same cause, and no second finding.
    assert "slowest_pair_bandwidth" in "".join(
        second.json["new"][titles.index(title)]["details"]
    )
    assert "node n3" in second.text
    assert "node n3" in (second.folder / "summary.md").read_text()
    assert sorted(third.titles("closed")) == sorted(titles)
    assert not third.json["new"] + third.json["still"]
    for night in three:
        assert 'name="Rotate' in (night.folder / "junit.xml").read_text()
        assert "n3" in (night.folder / "report.html").read_text()
    assert (nights.folder / "latest").resolve() == third.folder.resolve()


def test_two_nights_at_once(nights):
    one = nights.begin(TWO)
    try:
        journal = nights.folder / "nights.jsonl"
        wait_for(
            lambda: journal.exists() or one.poll() is not None, "no night has begun"
        )
        assert one.poll() is None
        # It is stopped, for it could end before the other begins.
        night = nights.holder()
        nights.cluster.sh(f"kill -STOP {night}")
        other = nights.spend(TWO)
        nights.cluster.sh(f"kill -CONT {night}")
        assert other.status == 1
        assert "another night of this system is running" in other.text
        assert "nothing was run" in other.text
        text, _ = one.communicate(timeout=GUARD_S)
        assert one.returncode == 0, text
    finally:
        one.kill()
    assert len(nights.sessions()) == 1


def test_a_cluster_in_maintenance_and_half_of_it_down(nights):
    head = nights.cluster.sh
    head(
        "scontrol create reservation reservationname=work starttime=now duration=60 users=root flags=maint"
        " nodes=ALL"
    )
    try:
        head(
            "until scontrol -o show node | grep -q 'State=[A-Z+]*MAINT'; do sleep 0.2; done",
            timeout=GUARD_S,
        )
        planned = nights.spend(TWO)
        inside = nights.spend(TWO, options=("--reservation", "work"))
        wrong = nights.spend(TWO, options=("--reservation", "party"))
    finally:
        head("scontrol delete reservation=work")
    assert planned.status == 1, planned.text
    assert "no node is in service: n1 is in maintenance" in planned.text
    assert (inside.status, inside.json["passed"]) == (0, 1), inside.text
    assert wrong.status == 1 and "Slurm shows no reservation party" in wrong.text
    head("scontrol update nodename=n[5-8] state=drain reason='switch 2 lost power'")
    try:
        half = nights.spend(EIGHT, TWO)
    finally:
        head("scontrol update nodename=n[5-8] state=resume")
    assert half.status == 3, half.text
    (title,) = half.titles("new")
    assert title.startswith(
        "1 case could not run or could not finish: n5 is drained (switch 2 lost power); n6 is drained"
    )
    assert half.json["cases"] == 2
    assert half.json["passed"] == 1
    healed = nights.spend(EIGHT, TWO)
    assert healed.status == (4 if healed.json["blind"] else 0), healed.text
    assert healed.titles("closed") == [title]


def test_a_runner_that_is_killed_half_way(nights):
    """With all its processes, as by a reboot of the runner; what had ended is kept, and the next night says
    so."""
    victim = nights.begin(TWO, ALL, *MORE)
    perflog = nights.results / "perflogs/minicluster/pmi2/OsuBarrier.jsonl"
    try:
        wait_for(
            lambda: perflog.exists() or victim.poll() is not None, "no case has ended"
        )
        assert victim.poll() is None
        # Their numbers are those of the cluster's own processes.
        night = nights.holder()
        # Its run is stopped, for it could end before the next night begins.
        find = f"run=$(pgrep -P {night} -f 'ci/run|fabric-checks run')"
        freeze = f"{find} && kill -STOP -$run && kill -KILL {night} && echo $run"
        run = nights.cluster.sh(freeze).strip()
        # As long as its run is there, nobody joins it.
        assert "another night of this system is running" in nights.spend(TWO).text
        nights.cluster.sh(f"kill -KILL -{run}")
    finally:
        victim.kill()
        victim.wait()
    (killed,) = nights.sessions()
    after = nights.spend(TWO)
    assert after.status == 0, after.text
    assert f"the last night, {killed}, was cut short" in after.text
    assert after.json["runs_in_history"] == 2  # what the killed night measured counts
    judged = nights.spend(options=("--session", killed))
    assert judged.status == 1
    assert "ReFrame ended before it could write its report" in judged.text
    assert load_session(nights.results, killed).records

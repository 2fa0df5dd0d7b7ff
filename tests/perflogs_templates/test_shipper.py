# SPDX-License-Identifier: BSD-3-Clause
"""A real log shipper and a real store, where they are installed: every record is read back as it was written.

Telegraf has to be on PATH, and VictoriaMetrics, Debian's package `victoria-metrics`.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest

from tests.builders import failed, record
from tests.conftest import TESTS
from tests.guard import GUARD_S, wait_for

TEMPLATES = TESTS.parent / "perflogs-templates"
#: Names that a store could stumble over.
HARD = 'a "quoted" back\\slash/, 50 % = é {x}'
#: Some hours ago, in another time zone than that of the stores.
BEGIN = datetime.now(timezone(timedelta(hours=2))).replace(microsecond=0) - timedelta(hours=12)


def run(number, check="A", count=100):
    """Return the records of a run: values of all kinds, and a case that failed before it had any."""
    common = {"time": (BEGIN + timedelta(minutes=number)).isoformat(), "session": f"run-{number}", "check": check}
    return [
        record(**common, value=1 / 3, metric="b", reference=-10.0, lower=-0.1, upper=0.2, result="fail"),
        record(**common, value=12345678901.5, test=HARD, evidence="fitted", result="xfail"),
        failed(**common, test="failed"),
        *(record(**common, metric=f"m{index}", value=float(number + index)) for index in range(count - 3)),
    ]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        out.write("".join(json.dumps(each) + "\n" for each in records))


def moment(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class VictoriaMetrics:
    """A store on a port of its own, that can be stopped and started again."""

    LABELS = ("system", "partition", "environ", "check", "test", "layout", "metric", "unit", "better", "evidence")

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self):
        command = ["victoria-metrics", f"-storageDataPath={self.folder}/data", "-dedup.minScrapeInterval=1ms"]
        command.append(f"-httpListenAddr=127.0.0.1:{self._port}")
        with (self.folder / "store.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        wait_for(self._answers, f"{command[0]} does not start: {self.folder}/store.log")

    def _answers(self):
        assert self._process.poll() is None, f"{self.folder}/store.log"
        try:
            self.request("/health")
        except OSError:
            return False
        return True

    def stop(self):
        """Stop it in order: it keeps what it has taken."""
        self._process.terminate()
        self._process.wait()

    def request(self, path, **query):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=GUARD_S) as answer:
            return answer.read().decode()

    def wanted(self, records):
        """Return the points that records should become."""
        found = []
        for each in records:
            labels = sorted((key, each[key]) for key in self.LABELS if each[key] is not None)
            values = {key: each[key] for key in ("value", "reference", "lower", "upper")}
            for key in ("result", "case_result"):
                values[key] = None if each[key] is None else float(each[key] in ("pass", "xfail"))
            # VictoriaMetrics keeps twelve digits.
            found += [
                (f"fabric_checks_{key}", *labels, moment(each["time"]), f"{value:.10e}")
                for key, value in values.items()
                if value is not None
            ]
        return sorted(found)

    def ask(self, query):
        return json.loads(self.request("/api/v1/query", query=query))["data"]["result"]

    def got(self):
        """Return the points that the store has."""
        self.request("/internal/force_flush")
        found = []
        for line in self.request("/api/v1/export", **{"match[]": '{__name__!=""}'}).splitlines():
            series = json.loads(line)
            name = series["metric"].pop("__name__")
            labels = sorted(series["metric"].items())
            for value, when in zip(series["values"], series["timestamps"], strict=True):
                found.append((name, *labels, when, f"{value:.10e}"))
        return sorted(found)


class Shipper:
    """Telegraf with the shipped configuration; it waits for seconds only, and reads 100 lines ahead."""

    def __init__(self, store):
        text = (TEMPLATES / "telegraf-victoriametrics.conf").read_text()
        for old, new in (('"10s"', '"1s"'), ("max_undelivered_lines = 1000", "max_undelivered_lines = 100")):
            assert old in text
            text = text.replace(old, new)
        self._file, self.log = store.folder / "telegraf.conf", store.folder / "telegraf.log"
        self._file.write_text(text)
        self._env = os.environ | {"FABRIC_RESULTS": str(store.folder), "VICTORIAMETRICS_URL": store.url}
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["telegraf", "--config", self._file], env=self._env, stdout=log, stderr=log
            )

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def store(tmp_path):
    """Return a store that is running; its folder is also that of the results."""
    for program, source in (("telegraf", "go install github.com/influxdata/telegraf/cmd/telegraf@v1.37.2"),
                            ("victoria-metrics", "Debian's package of that name")):  # fmt: skip
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here ({source})")
    made = VictoriaMetrics(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def shipper(store):
    """Return a shipper that is running."""
    made = Shipper(store)
    yield made
    made.kill()


def arrive(store, records):
    """Wait until a store has these records, and nothing else."""
    wanted = store.wanted(records)
    deadline = time.monotonic() + GUARD_S
    while (got := store.got()) != wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    missing, more = set(wanted) - set(got), set(got) - set(wanted)
    assert got == wanted, (len(got), len(wanted), len(missing), sorted(missing)[:2], len(more), sorted(more)[:2])


def test_every_record_is_read_back_and_a_bad_line_costs_itself_alone(store, shipper):
    path = store.folder / "perflogs/s/p/A.jsonl"
    write(path, run(0))
    with path.open("a") as out:
        out.write('{"format": 1, "unfin\n')
    write(path, run(1))
    arrive(store, run(0) + run(1))
    assert " E! " in shipper.log.read_text()  # the bad line


def test_nothing_is_lost_by_outages_kills_and_rotated_files(store, shipper):
    path = store.folder / "perflogs/s/p/A.jsonl"
    records = run(0, count=500)
    write(path, records)
    wait_for(store.got, "nothing arrives")
    shipper.kill()
    before = len(store.got())
    assert before < len(store.wanted(records))  # it was in the middle
    shipper.start()
    wait_for(lambda: len(store.got()) > before, "nothing arrives after the shipper was killed")
    store.stop()
    records += (more := run(1))
    write(path, more)
    wait_for(
        lambda: "Error writing to outputs" in shipper.log.read_text(), "the shipper does not see that the store is down"
    )
    shipper.kill()  # with lines that it has read and could not send
    shipper.start()
    store.start()
    arrive(store, records)
    path.rename(path.with_name("A.1.jsonl"))
    records += (more := run(2) + run(3, check="B"))
    write(path, more[:100])
    write(path.with_name("B.jsonl"), more[100:])
    arrive(store, records)


def test_the_queries_of_the_readme_find_what_they_are_for(store, shipper):
    records = run(0)
    records.append(record(time=BEGIN.isoformat(), check="OsuLatency", metric="latency_0B"))
    records.append(record(time=BEGIN.isoformat(), check="Rotate", metric="faults", value=1.0))
    write(store.folder / "perflogs/s/p/A.jsonl", records)
    arrive(store, records)
    queries = re.findall(r"    (\w+_over_time\(.*)", (TEMPLATES / "README.md").read_text())
    assert len(queries) > 1
    for query in queries:
        assert 0 < len(store.ask(query)) < 5, query

# SPDX-License-Identifier: BSD-3-Clause
"""A real log shipper and real stores, where they are here: every record is read back with its value, labels and time.

Telegraf has to be on PATH, and VictoriaMetrics, Debian's package `victoria-metrics`. FABRIC_TEST_OPENSEARCH is a
command that starts an OpenSearch, with PORT and DATA where these go.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest

from tests.conftest import TESTS
from tests.guard import GUARD_S, wait_for
from tests.perflogs_templates.examples import failed_case, record

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
        record(**common, value=12345678901.5, test=HARD, evidence="fitted", reference=None, upper=None, result="xfail"),
        failed_case(**common, test="failed"),
        # A store that guesses types takes the first of these for a date, and then refuses the second.
        record(**common, metric="version", program_version=("2026-01-01", "v1.2")[number % 2]),
        *(record(**common, metric=f"m{index}", value=float(number + index)) for index in range(count - 4)),
    ]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        out.write("".join(json.dumps(each) + "\n" for each in records))


def moment(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class Store:
    """A store on a port of its own, that can be stopped and started again."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        command = [part.replace("PORT", str(self.port)).replace("DATA", f"{self.folder}/data") for part in self.command]
        with (self.folder / "store.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        wait_for(self._answers, f"{command[0]} does not start: {self.folder}/store.log")

    def _answers(self):
        assert self._process.poll() is None, f"{self.folder}/store.log"
        try:
            self.request(self.ready)
        except OSError:
            return False
        return True

    def stop(self):
        """Stop it in order: what it took stays."""
        self._process.terminate()
        self._process.wait()

    def request(self, path, body=None, method=None, **query):
        request = urllib.request.Request(
            f"{self.url}{path}?{urllib.parse.urlencode(query)}",
            body,
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=GUARD_S) as answer:
            return answer.read().decode()


class VictoriaMetrics(Store):
    command = (
        "victoria-metrics", "-storageDataPath=DATA", "-httpListenAddr=127.0.0.1:PORT", "-dedup.minScrapeInterval=1ms",
    )  # fmt: skip
    ready = "/health"
    example = re.compile(r"    (\w+_over_time\(.*)")
    configuration, variable = "telegraf-victoriametrics.conf", "VICTORIAMETRICS_URL"
    LABELS = ("system", "partition", "environ", "check", "test", "layout", "metric", "unit", "better", "evidence")

    @classmethod
    def missing(cls):
        return shutil.which(cls.command[0]) is None and "no victoria-metrics here; it is Debian's package of that name"

    def wanted(self, records):
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
        self.request("/internal/force_flush")
        found = []
        for line in self.request("/api/v1/export", **{"match[]": '{__name__!=""}'}).splitlines():
            series = json.loads(line)
            name = series["metric"].pop("__name__")
            labels = sorted(series["metric"].items())
            for value, when in zip(series["values"], series["timestamps"], strict=True):
                found.append((name, *labels, when, f"{value:.10e}"))
        return sorted(found)


class OpenSearch(Store):
    command = tuple(shlex.split(os.environ.get("FABRIC_TEST_OPENSEARCH", "")))
    ready = "/_cluster/health"
    example = re.compile("    GET (fabric-checks-.*)")
    configuration, variable = "telegraf-opensearch.conf", "OPENSEARCH_URL"
    TAGS = ("session", "system", "partition", "environ", "check", "test", "layout", "metric")

    @classmethod
    def missing(cls):
        return not cls.command and "FABRIC_TEST_OPENSEARCH is not set"

    def __init__(self, folder):
        super().__init__(folder)
        self.request(
            "/_index_template/fabric-checks", (TEMPLATES / "opensearch-template.json").read_bytes(), method="PUT"
        )

    def wanted(self, records):
        return sorted(
            json.dumps(
                {
                    "time": moment(each["time"]),
                    "tag": {key: each[key] for key in self.TAGS if each[key] is not None},
                    "record": {key: value for key, value in each.items() if key not in self.TAGS and value is not None},
                },
                sort_keys=True,
            )
            for each in records
        )

    def ask(self, query):
        path, _, options = query.partition("?")
        return json.loads(self.request(f"/{path}", **dict(urllib.parse.parse_qsl(options))))["hits"]["hits"]

    def got(self):
        self.request("/fabric-checks-*/_refresh", method="POST")
        try:
            answer = json.loads(self.request("/fabric-checks-*/_search", size=10000))
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return []  # an index that has just been made
            raise
        found = []
        for hit in answer["hits"]["hits"]:
            fields = hit["_source"]["record"]
            lists = {key: json.loads(fields[key]) for key in ("nodelist", "sizes_B", "findings", "not_offered")}
            # JSON of another writer: 2.0 may be 2.
            floats = {key: float(fields[key]) for key in ("reference", "lower", "upper", "value") if key in fields}
            found.append({"time": moment(hit["_source"]["@timestamp"]), "tag": hit["_source"]["tag"]})
            found[-1]["record"] = fields | lists | floats
        return sorted(json.dumps(each, sort_keys=True) for each in found)


class Shipper:
    """Telegraf with the configuration of a store; what it waits for are seconds, and it reads 100 lines ahead."""

    def __init__(self, store):
        text = (TEMPLATES / store.configuration).read_text()
        for old, new in (('"10s"', '"1s"'), ("max_undelivered_lines = 1000", "max_undelivered_lines = 100")):
            assert old in text
            text = text.replace(old, new)
        self._file, self.log = store.folder / "telegraf.conf", store.folder / "telegraf.log"
        self._file.write_text(text)
        self._env = os.environ | {"FABRIC_RESULTS": str(store.folder), store.variable: store.url}
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["telegraf", "--config", self._file], env=self._env, stdout=log, stderr=log
            )

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


@pytest.fixture(params=[VictoriaMetrics, OpenSearch])
def store(request, tmp_path):
    """A store that is running; its folder is also that of the results."""
    if shutil.which("telegraf") is None:
        pytest.skip("no telegraf here (go install github.com/influxdata/telegraf/cmd/telegraf@v1.37.2)")
    if why := request.param.missing():
        pytest.skip(why)
    made = request.param(tmp_path)
    yield made
    made.stop()


@pytest.fixture
def shipper(store):
    """A shipper that is running."""
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
    assert " E! " in shipper.log.read_text()  # the line is told


def test_nothing_is_lost_with_a_store_that_is_down_a_shipper_that_is_killed_and_files_that_are_rotated(store, shipper):
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
    records.append(record(time=BEGIN.isoformat(), check="OsuLatency"))
    records.append(record(time=BEGIN.isoformat(), check="Rotate", metric="faults", value=1.0))
    write(store.folder / "perflogs/s/p/A.jsonl", records)
    arrive(store, records)
    queries = store.example.findall((TEMPLATES / "README.md").read_text())
    assert len(queries) > 1
    for query in queries:
        assert 0 < len(store.ask(query)) < 5, query

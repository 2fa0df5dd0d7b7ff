# SPDX-License-Identifier: BSD-3-Clause
"""A real log shipper and a real store: Telegraf, with the shipped configuration, and VictoriaMetrics."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from datetime import datetime, timedelta, timezone

from tests.builders import failed, record, text_of
from tests.conftest import ROOT
from tests.guard import GUARD_S, wait_for

TEMPLATES = ROOT / "perflogs-templates"
#: Names that a store could stumble over.
HARD = 'a "quoted" back\\slash/, 50 % = é {x}'
#: Some hours ago, in another time zone than that of the stores.
BEGIN = datetime.now(timezone(timedelta(hours=2))).replace(microsecond=0) - timedelta(
    hours=12
)


def run(number, check="A", count=100):
    """Return the records of a run: values of all kinds, and a case that failed before it had any."""
    common = {
        "time": (BEGIN + timedelta(minutes=number)).isoformat(),
        "session": f"run-{number}",
        "check": check,
    }
    return [
        record(
            **common,
            value=1 / 3,
            metric="b",
            reference=-10.0,
            lower=-0.1,
            upper=0.2,
            result="fail",
        ),
        record(
            **common, value=12345678901.5, test=HARD, evidence="fitted", result="xfail"
        ),
        failed(**common, test="failed"),
        *(
            record(**common, metric=f"m{index}", value=float(number + index))
            for index in range(count - 3)
        ),
    ]


def write(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as out:
        out.write(text_of(*records))


def moment(text):
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class VictoriaMetrics:
    """A store on a port of its own, that can be stopped and started again."""

    def __init__(self, folder):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self):
        command = [
            "victoria-metrics",
            f"-storageDataPath={self.folder}/data",
            "-dedup.minScrapeInterval=1ms",
        ]
        command.append(f"-httpListenAddr=127.0.0.1:{self._port}")
        with (self.folder / "store.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder
            )
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
        with urllib.request.urlopen(
            f"{self.url}{path}?{urllib.parse.urlencode(query)}", timeout=GUARD_S
        ) as answer:
            return answer.read().decode()

    def wanted(self, records):
        """Return the points that records should become."""
        return sorted({point for each in records for point in self._points(each)})

    def _points(self, record):
        """Yield the points of a value; a case without values has that of its result alone."""
        of_case = ("system", "partition", "environ", "check", "test", "layout")
        values = {key: record[key] for key in ("value", "reference", "lower", "upper")}
        if record["reference"] is not None or record["result"] not in ("pass", None):
            values["result"] = float(record["result"] in ("pass", "xfail"))
        values["case_result"] = float(record["case_result"] in ("pass", "xfail"))
        names = (*of_case, "metric", "unit")
        labels = sorted((key, record[key]) for key in names if record[key] is not None)
        for key, value in values.items():
            if value is not None:
                # VictoriaMetrics keeps twelve digits.
                yield (
                    f"fabric_checks_{key}",
                    *labels,
                    moment(record["time"]),
                    f"{value:.10e}",
                )

    def ask(self, query):
        return json.loads(self.request("/api/v1/query", query=query))["data"]["result"]

    def got(self):
        """Return the points that the store has."""
        self.request("/internal/force_flush")
        found = []
        for line in self.request(
            "/api/v1/export", **{"match[]": '{__name__!=""}'}
        ).splitlines():
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
        for old, new in (
            ('"10s"', '"1s"'),
            ("max_undelivered_lines = 1000", "max_undelivered_lines = 100"),
        ):
            assert old in text
            text = text.replace(old, new)
        self._file = store.folder / "telegraf.conf"
        self.log = store.folder / "telegraf.log"
        self._file.write_text(text)
        self._env = os.environ | {
            "FABRIC_RESULTS": str(store.folder),
            "VICTORIAMETRICS_URL": store.url,
        }
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["telegraf", "--config", self._file],
                env=self._env,
                stdout=log,
                stderr=log,
            )

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def arrive(store, records):
    """Wait until a store has these records, and nothing else."""
    wanted = store.wanted(records)
    deadline = time.monotonic() + GUARD_S
    while (got := store.got()) != wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    missing, more = set(wanted) - set(got), set(got) - set(wanted)
    assert got == wanted, (
        len(got),
        len(wanted),
        len(missing),
        sorted(missing)[:2],
        len(more),
        sorted(more)[:2],
    )

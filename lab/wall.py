# SPDX-License-Identifier: BSD-3-Clause
"""Nights on a wall: real Prometheus and node_exporter, and a command that gets the news.

    python -m lab.wall nights 20      simulated nights with a fault and without, so many of each, by turns
    python -m lab.wall live 3         the same on a cluster of eight nodes, `ci/cluster`
    python -m lab.wall month FOLDER   thirty simulated nights, the last eight with a fault: a database of
    Prometheus python -m lab.wall picture FOLDER docs/wall.png   the dashboard over them, drawn by
    lab/wall_viewer

Of a simulated night the fabric is that of lab/faults; `rotate`'s analysis, the night and all that follows are
real. The programs have to be on PATH: Debian's prometheus, prometheus-node-exporter.
"""

import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from prometheus_client import parser
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics import exposition

from fabric_checks.analysis.statistics import change_points  # noqa: F401  (slow: not in a killed child)
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.nightly import night
from fabric_checks.nightly.journal import State
from fabric_checks.nightly.plan import Plan
from lab.faults.fabric import Fabric, wired
from lab.faults.program import run as rotate
from lab.faults.trials import NOISES
from tests import builders
from tests.conftest import TESTS
from tests.guard import wait_for

TEMPLATES = TESTS.parent / "perflogs-templates"
NODES, SYSTEM = 32, "simulated"
#: The values of a night besides those of `rotate`: check, layout, metric, unit, reference, better, title.
VALUES = (
    ("OsuLatency", "2x1", "latency_8B", "us", 1.6, "smaller", "latency, smallest size"),
    (
        "OsuBandwidth",
        "2x1",
        "bandwidth_4194304B",
        "MB/s",
        970.0,
        "larger",
        "bandwidth, best",
    ),
    (
        "OsuMessageRate",
        "2x8",
        "message_rate_8B",
        "Mmsg/s",
        38.0,
        "larger",
        "message rate, best",
    ),
    ("OsuBarrier", f"{NODES}x1", "barrier", "us", 9.5, "smaller", "barrier"),
)
OF_ROTATE = (
    ("median_bandwidth", "MB/s", 970.0, "median pair"),
    ("slowest_pair_bandwidth", "MB/s", 470.0, "slowest pair"),
)


@dataclass
class Simulated:
    """Simulated nights of one system in a folder of results."""

    results: Path
    seed: int = 1

    def measure(self, began, slow=None, share=0.6):
        """Write a session whose fabric has a node at a share of its rate, if one is given; return its
        name."""
        session = f"{began:%Y%m%dT%H%M%SZ}-5111"
        wiring, known = wired("fat tree 2", NODES, "d-mod-k")
        self.seed += 1
        shares = (
            {}
            if slow is None
            else {"senders": {slow: share}, "receivers": {slow: share}}
        )
        report = evaluation.of_run(
            rotate(Fabric(wiring, known, NOISES["3 %"], self.seed, **shares)),
            known=known,
        )
        notes = [each.as_dict() for each in report.all_findings()]
        found, noise = report.metrics(), np.random.default_rng(self.seed)
        hosts = list(wiring.hosts)
        rows = [("Rotate", f"{NODES}x1", name, unit, reference, "larger", title, found[name])
                for name, unit, reference, title in OF_ROTATE]  # fmt: skip
        rows += [
            (*row, row[4] * float(np.exp(noise.normal(0, 0.015)))) for row in VALUES
        ]
        records = []
        for number, (
            check,
            layout,
            metric,
            unit,
            reference,
            better,
            title,
            value,
        ) in enumerate(rows):
            lower, upper = (-0.12, None) if better == "larger" else (None, 0.12)
            low = reference * (1 + lower) if lower else -np.inf
            high = reference * (1 + upper) if upper else np.inf
            records.append(builders.record(
                session=session, time=began.isoformat(), system=SYSTEM, partition="fabric", environ="mpich",
                check=check, test=f"{check} %layout={layout}", layout=layout, nodes=int(layout.split("x")[0]),
                metric=metric, quantity=metric, size_B=None, value=float(value), unit=unit, better=better,
                reference=reference, lower=lower, upper=upper,
                result="pass" if low <= value <= high else "fail", evidence="simulated", case_result="pass",
                program="fabric-checks", nodelist=hosts[: int(layout.split("x")[0])], placement=None,
                headline={"title": title, "quantity": metric, "section": "Between nodes", "order": number},
                findings=notes if check == "Rotate" else None,
                limits=dict(report.limits) if check == "Rotate" else None,
            ))  # fmt: skip
        perflog = self.results / "perflogs" / SYSTEM / "fabric/nights.jsonl"
        perflog.parent.mkdir(parents=True, exist_ok=True)
        with perflog.open("ab") as out:
            out.write(builders.text_of(*records))
        tests = {record["test"]: record for record in records}
        cases = [builders.case(test, system=SYSTEM, partition="fabric", environ="mpich",
                               perfvalues={
                                   f"{SYSTEM}:fabric:{record['metric']}": [1, 0, None, None, "us", "pass"]
                               })
                 for test, record in tests.items()]  # fmt: skip
        builders.write_session(self.results, cases, session=session, number=self.seed)
        return session

    def judge(self, session, metrics=None, on_finding=""):
        """Judge a session as `ci/nightly --session` does."""
        plan = Plan(SYSTEM, "nightly", session, self.results, runs=False,
                    metrics=metrics, on_finding=on_finding)  # fmt: skip
        plan.folder.mkdir(parents=True, exist_ok=True)
        return night.spend(plan, 0)


def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def program(folder, *words):
    """Run a program while the block runs; its output is a file."""
    name = Path(words[0]).name
    with (folder / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(word) for word in words], stdout=log, stderr=log, cwd=folder
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def fetched(url, **query):
    try:
        with urllib.request.urlopen(
            f"{url}?{urllib.parse.urlencode(query)}" if query else url, timeout=30
        ) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def await_start(folder, process, url):
    def answers():
        assert process.poll() is None, (
            folder / f"{Path(process.args[0]).name}.log"
        ).read_text()[-600:]
        return fetched(url)

    wait_for(answers, f"{process.args[0]} does not answer")


class Prometheus:
    """Prometheus on a port of its own; :param folder: has its data."""

    def __init__(self, opened, folder, exporter=None, *, keep="10y"):
        scrape = {"job_name": "node", "static_configs": [{"targets": [exporter]}]}
        settings = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(TEMPLATES / "prometheus-rules.yml")],
            "scrape_configs": [scrape] if exporter else [],
        }
        (folder / "prometheus.yml").write_text(json.dumps(settings))
        at = f"127.0.0.1:{port()}"
        self.url = f"http://{at}/api/v1"
        self.process = opened.enter_context(program(
            folder, "prometheus", f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data", f"--web.listen-address={at}",
            f"--storage.tsdb.retention.time={keep}",
        ))  # fmt: skip
        await_start(folder, self.process, f"{self.url}/query?query=1")

    def ask(self, query, **more):
        return fetched(f"{self.url}/query", query=query, **more)["data"]["result"]

    def alerts(self):
        """Return the alerts that fire after the rules have been evaluated once more."""

        def evaluated():
            groups = fetched(f"{self.url}/rules")["data"]["groups"]
            return min(group["lastEvaluation"] for group in groups)

        before = evaluated()
        wait_for(lambda: evaluated() > before, "no rule is evaluated")
        before = evaluated()
        wait_for(lambda: evaluated() > before, "no rule is evaluated")
        return [
            each
            for each in fetched(f"{self.url}/alerts")["data"]["alerts"]
            if each["state"] == "firing"
        ]


@contextmanager
def exporter(folder, textfiles):
    """Run node_exporter with its textfile collector alone; yield its address."""
    at = f"127.0.0.1:{port()}"
    options = (
        "--collector.disable-defaults",
        "--collector.textfile",
        f"--collector.textfile.directory={textfiles}",
    )
    with program(
        folder, "prometheus-node-exporter", *options, f"--web.listen-address={at}"
    ):
        yield at


def command(folder):
    """Return a command that keeps the news of each night as a file of a folder."""
    folder.mkdir(exist_ok=True)
    return f"cat > $(mktemp -p {folder})"


def news(folder, session=""):
    """Return what came, the oldest first, of one night or of all: (event, subject) of each finding."""
    came = [
        json.loads(path.read_text())
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    ]
    kept = [each for each in came if session in each["session"]]
    return [
        (event, found["subject"])
        for each in kept
        for event in ("new", "closed")
        for found in each[event]
    ]


@contextmanager
def wall():
    """Yield a folder, the folder of the gauges, Prometheus, and the folder of the news."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        metrics = folder / "textfiles"
        metrics.mkdir()
        target = opened.enter_context(exporter(folder, metrics))
        yield folder, metrics, Prometheus(opened, folder, target), folder / "news"


def shown(prometheus, system, began_s):
    """Return the findings of which an alert fires once Prometheus has the night that began then."""
    query = f'fabric_checks_night_timestamp_seconds{{system="{system}"}}'
    wait_for(
        lambda: [
            each for each in prometheus.ask(query) if float(each["value"][1]) == began_s
        ],
        "no night arrives",
    )
    return [
        each["labels"]
        for each in prometheus.alerts()
        if each["labels"]["alertname"] == "FabricFinding"
    ]


def nights(count):
    """Print for how many nights the alert and the news are right."""
    right, more, quiet, draw = 0, 0, 0, random.Random(46)
    with wall() as (folder, metrics, prometheus, heard):
        simulated = Simulated(folder / "results")
        began = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=4)
        for number in range(2 * count):
            began += timedelta(minutes=1)
            slow = draw.randrange(NODES) if number % 2 == 0 else None
            session = simulated.measure(began, slow)
            summary = simulated.judge(session, metrics, command(heard))
            alerts = [
                each["part"] for each in shown(prometheus, SYSTEM, began.timestamp())
            ]
            events = news(heard, session)
            if slow is None:
                is_right = not alerts and all(event == "closed" for event, _ in events)
                quiet += is_right
            else:
                name = f"node {wired('fat tree 2', NODES, 'd-mod-k')[0].hosts[slow]}"
                is_right = alerts.count(name) == events.count(("new", name)) == 1
                right += is_right
                more += len(alerts) > 1
            print(
                number,
                "right" if is_right else "WRONG",
                alerts,
                events,
                summary.verdict.value,
                flush=True,
            )
    print(f"with a fault: {right} of {count} reach the alert and the command with the node's name, {more} "
          f"with another besides, as the night has it; healthy: {count - quiet} of {count} do")  # fmt: skip


def live(count):
    """The same on a cluster of eight nodes, whose node n3 has half of its rate on every other night.

    Run nothing else meanwhile: the links are as fast as two cores allow, and a night whose values vary is
    blind. Values have no reference.
    """
    from tests.cluster.conftest import Cluster
    from tests.cluster.test_nights import ALL, Nights

    cluster, rate, half = Cluster(), "200mbit", "100mbit"
    cluster("up", "--nodes", "8", "--rate", rate)
    try:
        with wall() as (folder, metrics, prometheus, heard):

            class Unjudged(Nights):
                def environment(self):
                    return super().environment() | {"RFM_REFERENCE_PREFIX": str(folder)}

            spent = Unjudged(cluster, folder / "results")
            for number in range(2 * count):
                cluster("shape", f"n3={rate if number % 2 else half}")
                done = spent.spend(
                    ALL,
                    options=("--metrics", str(metrics), "--on-finding", command(heard)),
                )
                began = datetime.strptime(
                    done.folder.name[:16], "%Y%m%dT%H%M%SZ"
                ).replace(tzinfo=timezone.utc)
                alerts = [
                    each["part"]
                    for each in shown(prometheus, "minicluster", began.timestamp())
                ]
                state = "healthy" if number % 2 else "slow n3"
                print(
                    number,
                    state,
                    alerts,
                    news(heard, done.folder.name),
                    done.json["headline"],
                    flush=True,
                )
    finally:
        cluster.end()


def month(folder):
    """Make Prometheus' database of thirty simulated nights; from the 23rd on a node has 0.4 of its rate."""
    folder.mkdir(parents=True, exist_ok=True)
    simulated = Simulated(folder / "results")
    first = datetime.now(timezone.utc).replace(
        hour=1, minute=0, second=0, microsecond=0
    ) - timedelta(days=30)
    families = {}
    for number in range(30):
        began = first + timedelta(days=number)
        session = simulated.measure(began, 17 if number >= 22 else None, 0.4)
        summary = simulated.judge(session, folder)
        print(
            number,
            summary.verdict.value,
            [each.finding.title for each in summary.of(State.NEW)],
            flush=True,
        )
        text = (folder / f"fabric_checks_night_{SYSTEM}.prom").read_text()
        for family in parser.text_string_to_metric_families(text):
            known = families.setdefault(
                family.name, GaugeMetricFamily(family.name, family.documentation)
            )
            for sample in family.samples:
                for hour in range(24):
                    at = (began + timedelta(hours=1 + hour)).timestamp()
                    known.add_sample(sample.name, sample.labels, sample.value, at)
    for (
        family
    ) in families.values():  # OpenMetrics wants the samples of a series together
        family.samples.sort(
            key=lambda sample: (sorted(sample.labels.items()), sample.timestamp)
        )

    class All:
        def collect(self):
            return families.values()

    (folder / "month.om").write_bytes(exposition.generate_latest(All()))
    line = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "month.om", "data"]
    subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def picture(folder, path):
    """Draw the dashboard over the last thirty days of a database with lab/wall_viewer, which has to be
    built."""
    from playwright.sync_api import sync_playwright

    viewer = TESTS.parent / "lab/wall_viewer"
    handler = partial(SimpleHTTPRequestHandler, directory=viewer)
    SimpleHTTPRequestHandler.log_message = lambda *_: None
    with (
        ExitStack() as opened,
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as browsers,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        prometheus = Prometheus(opened, folder)
        (last,) = prometheus.ask(
            "max(max_over_time(timestamp(fabric_checks_night_blind)[40d:1h]))"
        )
        end = int(float(last["value"][1]))
        browser = browsers.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1520, "height": 1150})
        query = urllib.parse.urlencode(
            {"api": prometheus.url, "from": end - 30 * 86400, "to": end}
        )
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html?{query}")
        page.wait_for_function("document.title == 'drawn' || document.title == 'error'")
        assert page.title() == "drawn", page.inner_text("body")
        page.screenshot(path=path)
        browser.close()
        server.shutdown()


def main():
    what, *more = sys.argv[1:]
    if what == "picture":
        picture(Path(more[0]).absolute(), Path(more[1]))
    elif what == "month":
        month(Path(more[0]).absolute())
    else:
        {"nights": nights, "live": live}[what](int(more[0]))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Nights on a wall: real Prometheus, node_exporter and Alertmanager, and a receiver of messages.

    python -m lab.wall nights 20      simulated nights with a fault and without, so many of each, by turns
    python -m lab.wall live 3         the same on a cluster of eight nodes, `ci/cluster`
    python -m lab.wall kills 50       a night's end and its sending, killed at so many random moments
    python -m lab.wall outages 60     receivers that are down, answer 500, hang or cut the line, for so many minutes
    python -m lab.wall month FOLDER   thirty simulated nights, the last eight with a fault: a database of Prometheus
    python -m lab.wall picture FOLDER docs/wall.png   the dashboard over them, drawn by lab/wall_viewer

Of a simulated night the fabric is that of lab/faults; `rotate`'s analysis, the night and all that follows are real.
The programs have to be on PATH: Debian's prometheus, prometheus-node-exporter, prometheus-alertmanager.
"""

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics import exposition, parser

from fabric_checks.analysis.statistics import change_points  # noqa: F401  (slow to import: not in a child that is killed)
from fabric_checks.core.files import write_text
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.nightly import night
from fabric_checks.nightly.plan import Plan
from fabric_checks.nightly.wall.outbox import Outbox
from lab.faults.fabric import Fabric, wired
from lab.faults.program import run as rotate
from lab.faults.trials import NOISES
from tests import builders
from tests.conftest import TESTS
from tests.guard import wait_for
from tests.nightly.wall.listening import listening

TEMPLATES = TESTS.parent / "perflogs-templates"
NODES, SYSTEM = 32, "simulated"
#: The values of a night besides those of `rotate`: check, layout, metric, unit, reference, better, title.
VALUES = (
    ("OsuLatency", "2x1", "latency_8B", "us", 1.6, "smaller", "latency, smallest size"),
    ("OsuBandwidth", "2x1", "bandwidth_4194304B", "MB/s", 970.0, "larger", "bandwidth, best"),
    ("OsuMessageRate", "2x8", "message_rate_8B", "Mmsg/s", 38.0, "larger", "message rate, best"),
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
        """Write a session whose fabric has a node at a share of its rate, if one is given; return its name."""
        session = f"{began:%Y%m%dT%H%M%SZ}-5111"
        wiring, known = wired("fat tree 2", NODES, "d-mod-k")
        self.seed += 1
        shares = {} if slow is None else {"senders": {slow: share}, "receivers": {slow: share}}
        report = evaluation.of_run(rotate(Fabric(wiring, known, NOISES["3 %"], self.seed, **shares)), known=known)
        found, noise = report.metrics(), np.random.default_rng(self.seed)
        hosts = list(wiring.hosts)
        rows = [("Rotate", f"{NODES}x1", name, unit, reference, "larger", title, found[name])
                for name, unit, reference, title in OF_ROTATE]  # fmt: skip
        rows += [(*row, row[4] * float(np.exp(noise.normal(0, 0.015)))) for row in VALUES]
        records = []
        for number, (check, layout, metric, unit, reference, better, title, value) in enumerate(rows):
            lower, upper = (-0.12, None) if better == "larger" else (None, 0.12)
            low = reference * (1 + lower) if lower else -np.inf
            high = reference * (1 + upper) if upper else np.inf
            records.append(builders.record(
                session=session, time=began.isoformat(), system=SYSTEM, partition="fabric", environ="mpich",
                check=check, test=f"{check} %layout={layout}", layout=layout, nodes=int(layout.split("x")[0]),
                metric=metric, quantity=metric, size_B=None, value=float(value), unit=unit, better=better,
                reference=reference, lower=lower, upper=upper, result="pass" if low <= value <= high else "fail",
                evidence="simulated", case_result="pass", program="fabric-checks",
                nodelist=hosts[: int(layout.split("x")[0])], placement=None,
                headline={"title": title, "quantity": metric, "section": "Between nodes", "order": number},
                findings=report.notes() if check == "Rotate" else None,
            ))  # fmt: skip
        perflog = self.results / "perflogs" / SYSTEM / "fabric" / "nights.jsonl"
        perflog.parent.mkdir(parents=True, exist_ok=True)
        with perflog.open("a") as out:
            out.write("".join(json.dumps(each) + "\n" for each in records))
        tests = {record["test"]: record for record in records}
        cases = [builders.case(test, system=SYSTEM, partition="fabric", environ="mpich",
                               perfvalues={f"{SYSTEM}:fabric:{record['metric']}": [1, 0, None, None, "us", "pass"]})
                 for test, record in tests.items()]  # fmt: skip
        builders.write_session(self.results, cases, session=session, number=self.seed)
        return session

    def judge(self, session, metrics=None, receivers=None):
        """Judge a session as `ci/nightly --session` does."""
        plan = Plan(SYSTEM, "nightly", session, self.results, self.results / "archive", runs=False,
                    metrics=metrics, receivers=receivers)  # fmt: skip
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
        process = subprocess.Popen([str(word) for word in words], stdout=log, stderr=log, cwd=folder)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def fetched(url, **query):
    try:
        with urllib.request.urlopen(f"{url}?{urllib.parse.urlencode(query)}" if query else url, timeout=30) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def await_start(folder, process, url):
    def answers():
        assert process.poll() is None, (folder / f"{Path(process.args[0]).name}.log").read_text()[-600:]
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
            folder, "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={at}", f"--storage.tsdb.retention.time={keep}",
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
        return [each for each in fetched(f"{self.url}/alerts")["data"]["alerts"] if each["state"] == "firing"]


@contextmanager
def exporter(folder, textfiles):
    """Run node_exporter with its textfile collector alone; yield its address."""
    at = f"127.0.0.1:{port()}"
    options = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={textfiles}")
    with program(folder, "prometheus-node-exporter", *options, f"--web.listen-address={at}"):
        yield at


def receivers(folder, **addresses):
    """Write a file of receivers, by name and form."""
    path = folder / "receivers.yaml"
    path.write_text(json.dumps({name: {"form": form, "url": url} for name, (form, url) in addresses.items()}))
    path.chmod(0o600)
    return path


@contextmanager
def wall():
    """Yield a folder, the folder of the gauges, Prometheus, a listener and the file of receivers."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        metrics = folder / "textfiles"
        metrics.mkdir()
        target = opened.enter_context(exporter(folder, metrics))
        prometheus = Prometheus(opened, folder, target)
        listener = opened.enter_context(listening())
        yield folder, metrics, prometheus, listener, receivers(folder, ops=("json", listener.url))


def shown(prometheus, system, began_s):
    """Return the findings of which an alert fires once Prometheus has the night that began then."""
    query = f'fabric_checks_night_timestamp_seconds{{system="{system}"}}'
    wait_for(lambda: [each for each in prometheus.ask(query) if float(each["value"][1]) == began_s], "no night arrives")
    return [each["labels"] for each in prometheus.alerts() if each["labels"]["alertname"] == "FabricFinding"]


def nights(count):
    """Print for how many nights the alert and the message are right."""
    right, more, quiet, draw = 0, 0, 0, random.Random(46)
    with wall() as (folder, metrics, prometheus, listener, file):
        simulated = Simulated(folder / "results")
        began = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=4)
        for number in range(2 * count):
            began += timedelta(minutes=1)
            slow = draw.randrange(NODES) if number % 2 == 0 else None
            before = len(listener.messages)
            summary = simulated.judge(simulated.measure(began, slow), metrics, file)
            came = list(listener.messages.values())[before:]
            alerts = [each["part"] for each in shown(prometheus, SYSTEM, began.timestamp())]
            events = [(each["event"], each["finding"]["subject"]) for each in came]
            if slow is None:
                is_right = not alerts and all(event == "closed" for event, _ in events)
                quiet += is_right
            else:
                name = f"node {wired('fat tree 2', NODES, 'd-mod-k')[0].hosts[slow]}"
                is_right = alerts.count(name) == events.count(("new", name)) == 1
                right += is_right
                more += len(alerts) > 1
            print(number, "right" if is_right else "WRONG", alerts, events, summary.night.status.name, flush=True)
    print(f"with a fault: {right} of {count} reach the alert and the receiver with the node's name, {more} with "
          f"another besides, as the night has it; healthy: {count - quiet} of {count} do")  # fmt: skip


def live(count):
    """The same on a cluster of eight nodes, whose node n3 has half of its rate on every other night.

    Run nothing else meanwhile: the links are as fast as two cores allow, and a night whose values vary is blind. Values
    have no reference. The receiver is on the head node, whose network has no way to the host.
    """
    from tests.cluster.conftest import Cluster
    from tests.cluster.test_nights import ALL, Nights

    cluster, rate, half = Cluster(), "200mbit", "100mbit"
    cluster("up", "--nodes", "8", "--rate", rate)
    try:
        with wall() as (folder, metrics, prometheus, _, _):

            class Unjudged(Nights):
                def environment(self):
                    return super().environment() | {"RFM_REFERENCE_PREFIX": str(folder)}

            spent, log = Unjudged(cluster, folder / "results"), folder / "messages.json"
            file = receivers(folder, ops=("json", "http://127.0.0.1:8099/hook"))
            line = [*cluster.command, "exec", "head", "--name", cluster.name, "--", sys.executable, "-m", "lab.wall",
                    "listen", "8099", str(log)]  # fmt: skip
            with subprocess.Popen(line) as listener:
                wait_for(log.exists, "no receiver")
                for number in range(2 * count):
                    cluster("shape", f"n3={rate if number % 2 else half}")
                    before = len(json.loads(log.read_text()))
                    done = spent.spend(ALL, options=("--metrics", str(metrics), "--receivers", str(file)))
                    began = datetime.strptime(done.folder.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
                    alerts = [each["part"] for each in shown(prometheus, "minicluster", began.timestamp())]
                    came = [
                        (each["event"], each["finding"]["subject"]) for each in json.loads(log.read_text())[before:]
                    ]
                    print(
                        number, "healthy" if number % 2 else "slow n3", alerts, came, done.json["headline"], flush=True
                    )
                listener.terminate()
    finally:
        cluster.end()


def listen(at, path):
    """Keep the messages that come to a port as a file, until the process is ended."""
    with listening(at) as listener:
        while True:
            write_text(path, json.dumps(list(listener.messages.values())))
            time.sleep(0.2)


def judge(folder, session):
    """Judge a session in a process that is to be killed, without archive and report, which take most of the time."""
    night._keep, night.retention.write_report = lambda *_: None, lambda *_, **__: None
    print("ready", flush=True)
    Simulated(folder / "results").judge(session, folder, folder / "receivers.yaml")


def kills(count):
    """Kill the end of a night and its sending (SIGKILL) at random moments, and go on; count what came."""
    draw = random.Random(46)
    with tempfile.TemporaryDirectory() as name, listening() as listener:
        folder = Path(name)
        simulated = Simulated(folder / "results")
        receivers(folder, ops=("json", listener.url))
        began = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=4)
        halves, killed, number, took_s, at = 0, 0, 0, 0.0, []
        while killed < count or number % 4:
            number += 1
            session = simulated.measure(began + timedelta(minutes=number), number % NODES if number % 2 else None)
            # The first night, and then each once, runs to its end; before that it is killed three times.
            for wait_s in [*(draw.random() * 1.1 * took_s for _ in range(3 if took_s else 0)), None]:
                line = [sys.executable, "-m", "lab.wall", "judge", folder, session]
                child = subprocess.Popen(line, stdout=subprocess.PIPE)
                assert child.stdout.readline() == b"ready\n"
                begin = time.monotonic()
                try:
                    child.wait(wait_s)
                except subprocess.TimeoutExpired:
                    child.kill()
                    killed += 1
                    at.append(round(wait_s, 2))
                if child.wait() == 0:
                    took_s = time.monotonic() - begin
                for path in folder.glob("*.prom"):
                    list(parser.text_string_to_metric_families(path.read_text()))
                    halves += not path.read_text().endswith("# EOF\n")
        plan = Plan(SYSTEM, "nightly", session, simulated.results, folder)
        got = [(each["session"], each["event"], each["finding"]["subject"]) for each in listener.messages.values()]
        left = sum(Outbox(plan.folder).waiting().values())
        # A node is slow on every other night: a message that it is new, and one that it is closed.
        print(f"{killed} kills, between {min(at)} and {max(at)} s of {took_s:.2f} s, in {number} nights: {len(got)} "
              f"messages of {number}, double {len(got) - len(set(got))}, requests repeated with their key "
              f"{len(listener.requests) - len(got)}, half files {halves}, left {left}")  # fmt: skip


def outages(minutes):
    """Keep receivers away for so many minutes, and run `findings send` six times meanwhile, as cron does.

    A finding is new at the beginning, and is closed in the middle; all waits and limits are those of a real night.
    """
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        folder = Path(name)
        simulated, ports = Simulated(folder / "results"), {fault: port() for fault in ("down", "500", "hang", "cut")}
        alertmanager = f"127.0.0.1:{port()}"
        (folder / "alertmanager.yml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n")
        addresses = {f"is-{fault}": ("json", f"http://127.0.0.1:{at}/hook") for fault, at in ports.items()}
        well = opened.enter_context(listening())
        file = receivers(folder, well=("json", well.url), am=("alertmanager", f"http://{alertmanager}"), **addresses)
        listeners = {fault: opened.enter_context(listening(ports[fault])) for fault in ports if fault != "down"}
        for fault, listener in listeners.items():
            listener.faults = [int(fault) if fault.isdigit() else fault] * 10_000
        begin = time.monotonic()

        def judge_night(slow):
            began = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=4)
            summary = simulated.judge(simulated.measure(began, slow), folder, file)
            print(f"{passed_min():.1f} min: a night, {list(summary.night.due)}", flush=True)

        def passed_min():
            return (time.monotonic() - begin) / 60

        def send():
            words = (sys.executable, "-m", "fabric_checks", "findings", "send", "--receivers", str(file))
            environment = os.environ | {"FABRIC_RESULTS": str(simulated.results)}
            sent = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
            print(f"{passed_min():.1f} min: exit {sent.returncode}", sent.stdout, sent.stderr, flush=True)

        judge_night(17)
        for number in range(1, 7):
            time.sleep(max(0.0, 60 * (number * minutes / 6 - passed_min())))
            if number == 3:
                judge_night(None)
            send()
        requests = {fault: len(listener.requests) for fault, listener in listeners.items()}
        for listener in listeners.values():
            listener.faults.clear()
        listeners["down"] = opened.enter_context(listening(ports["down"]))
        process = opened.enter_context(program(
            folder, "prometheus-alertmanager", f"--config.file={folder}/alertmanager.yml", "--cluster.listen-address=",
            f"--storage.path={folder}/am", f"--web.listen-address={alertmanager}",
        ))  # fmt: skip
        await_start(folder, process, f"http://{alertmanager}/api/v2/status")
        print(f"{passed_min():.1f} min: all are back", flush=True)
        send()
        send()
        for fault, listener in {"well": well, **listeners}.items():
            taken = [request for request in listener.requests if request[0] == 200]
            events = [each["event"] for each in listener.messages.values()]
            print(f"{fault}: {events}, {len(taken)} requests taken, {requests.get(fault, 0)} failed before")
        alerts = fetched(f"http://{alertmanager}/api/v2/alerts")
        print(f"alertmanager: {[(each['annotations']['summary'], each['endsAt']) for each in alerts]}")


def month(folder):
    """Make Prometheus' database of thirty simulated nights; from the 23rd on a node has 0.4 of its rate."""
    folder.mkdir(parents=True, exist_ok=True)
    simulated = Simulated(folder / "results")
    first = datetime.now(timezone.utc).replace(hour=1, minute=0, second=0, microsecond=0) - timedelta(days=30)
    families = {}
    for number in range(30):
        began = first + timedelta(days=number)
        session = simulated.measure(began, 17 if number >= 22 else None, 0.4)
        summary = simulated.judge(session, folder)
        print(number, summary.night.status.name, [each.finding.title for each in summary.news.new], flush=True)
        text = (folder / f"fabric_checks_night_{SYSTEM}.prom").read_text()
        for family in parser.text_string_to_metric_families(text):
            known = families.setdefault(family.name, GaugeMetricFamily(family.name, family.documentation))
            for sample in family.samples:
                for hour in range(24):
                    at = (began + timedelta(hours=1 + hour)).timestamp()
                    known.add_sample(sample.name, sample.labels, sample.value, at)
    for family in families.values():  # OpenMetrics wants the samples of a series together
        family.samples.sort(key=lambda sample: (sorted(sample.labels.items()), sample.timestamp))

    class All:
        def collect(self):
            return families.values()

    (folder / "month.om").write_bytes(exposition.generate_latest(All()))
    line = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "month.om", "data"]
    subprocess.run(line, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def picture(folder, path):
    """Draw the dashboard over the last thirty days of a database with lab/wall_viewer, which has to be built."""
    from playwright.sync_api import sync_playwright

    viewer = TESTS.parent / "lab" / "wall_viewer"
    handler = partial(SimpleHTTPRequestHandler, directory=viewer)
    SimpleHTTPRequestHandler.log_message = lambda *_: None
    with ExitStack() as opened, ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as browsers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        prometheus = Prometheus(opened, folder)
        (last,) = prometheus.ask("max(max_over_time(timestamp(fabric_checks_night_blind)[40d:1h]))")
        end = int(float(last["value"][1]))
        browser = browsers.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1520, "height": 1150})
        query = urllib.parse.urlencode({"api": prometheus.url, "from": end - 30 * 86400, "to": end})
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html?{query}")
        page.wait_for_function("document.title == 'drawn' || document.title == 'error'")
        assert page.title() == "drawn", page.inner_text("body")
        page.screenshot(path=path)
        browser.close()
        server.shutdown()


def main():
    what, *more = sys.argv[1:]
    if what == "judge":
        judge(Path(more[0]), more[1])
    elif what == "listen":
        listen(int(more[0]), Path(more[1]))
    elif what == "picture":
        picture(Path(more[0]).absolute(), Path(more[1]))
    elif what == "month":
        month(Path(more[0]).absolute())
    else:
        {"nights": nights, "live": live, "kills": kills, "outages": outages}[what](int(more[0]))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Real stores, where they are installed: what they give back is what the records say.

VictoriaMetrics and the Pushgateway are Debian's packages `victoria-metrics` and `prometheus-pushgateway`. Prometheus
has to be 2.47 or later on PATH, later than Debian 12 has. FABRIC_TEST_OPENSEARCH_URL names an OpenSearch to write to.
"""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from datetime import datetime, timezone

import pytest

from fabric_checks.results.perflogs.connection import Refused
from fabric_checks.results.perflogs.metrics_stores import exposition
from fabric_checks.results.perflogs.opensearch import OpenSearch, document, document_id
from fabric_checks.results.perflogs.samples import samples
from fabric_checks.results.perflogs.stores import store_of
from tests.perflogs_templates import stand_in
from tests.perflogs_templates.examples import failed_case, record

NOW = datetime.now(timezone.utc).replace(microsecond=0)
#: Names that a store could stumble over, each in series of its own.
HARD = 'a "quoted" \\ back/slash, 50 % = é {x}'


def results():
    """Return records of two runs, a minute apart, as a store of metrics takes them: lately."""
    made = []
    for run, minutes in enumerate((2, 1)):
        when = datetime.fromtimestamp(NOW.timestamp() - 60 * minutes, timezone.utc).isoformat()
        made += [
            record(time=when, value=1.5 + run),
            record(time=when, value=1 / 3, metric="b", reference=-10.0, lower=-0.1, upper=0.2),
            record(time=when, test=HARD, value=12345678901.5, evidence="fitted", reference=None),
            failed_case(time=when, test="failed"),
        ]
    return made


def get(url, **query):
    with urllib.request.urlopen(f"{url}?{urllib.parse.urlencode(query)}", timeout=5) as answer:
        return answer.read().decode()


class Running:
    """A server on a free port."""

    def __init__(self, command, ready, tmp_path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._log = (tmp_path / "server.log").open("wb")
        command = [part.replace("PORT", str(port)) for part in command]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, cwd=tmp_path)
        deadline = time.monotonic() + 30
        while True:
            try:
                get(self.url + ready)
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.05)

    def close(self):
        self._process.kill()
        self._process.wait()
        self._log.close()


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a server, or skips the test where there is none."""
    running = []

    def starter(program, *options, ready, package):
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"no {program} here; {package}")
        running.append(Running([path, *options], ready, tmp_path))
        return running[-1].url

    yield starter
    for server in running:
        server.close()


def wanted():
    return {
        (sample.name, tuple(sorted(sample.labels.items())), round(sample.time.timestamp() * 1000)): sample.value
        for sample in samples(results())
    }


def test_victoriametrics_has_every_sample(start, tmp_path):
    url = start(
        "victoria-metrics", f"-storageDataPath={tmp_path}/data", "-httpListenAddr=127.0.0.1:PORT", ready="/health",
        package="it is Debian's package victoria-metrics",
    )  # fmt: skip
    store = store_of("victoriametrics", url)
    store.send(results())
    store.send(results())  # again, as `fabric-checks send` may
    deadline = time.monotonic() + 20
    got = {}
    while len(got) < len(wanted()) and time.monotonic() < deadline:
        get(url + "/internal/force_flush")
        for line in get(url + "/api/v1/export", **{"match[]": '{__name__!=""}'}).splitlines():
            series = json.loads(line)
            name = series["metric"].pop("__name__")
            for value, when in zip(series["values"], series["timestamps"], strict=True):
                got[name, tuple(sorted(series["metric"].items())), when] = value
    # It keeps twelve digits or so: https://docs.victoriametrics.com/faq/
    assert got == pytest.approx(wanted(), rel=1e-11)


def test_prometheus_has_every_sample(start, tmp_path):
    (tmp_path / "prometheus.yml").write_text("global: {}\n")
    help_text = (
        subprocess.run(["prometheus", "--help"], capture_output=True, text=True) if shutil.which("prometheus") else None
    )
    if help_text and "enable-otlp-receiver" not in help_text.stdout + help_text.stderr:
        pytest.skip("this prometheus has no --web.enable-otlp-receiver; 2.47 and later have one")
    url = start(
        "prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
        "--web.listen-address=127.0.0.1:PORT", "--web.enable-otlp-receiver", ready="/-/ready",
        package="2.47 or later",
    )  # fmt: skip
    half = len(results()) // 2
    store = store_of("prometheus", url)
    for run in (results()[:half], results()[half:], results()[half:]):
        store.send(run)
    got = {}
    for name in {name for name, *_ in wanted()}:
        found = json.loads(get(url + "/api/v1/query", query=f"{name}[10m]", time=NOW.timestamp() + 1))
        for series in found["data"]["result"]:
            labels = {key: value for key, value in series["metric"].items() if key not in ("__name__", "job")}
            # OTLP says which library measured; Prometheus 3 makes labels of that.
            labels = {key: value for key, value in labels.items() if not key.startswith("otel_scope_")}
            assert series["metric"]["job"] == "fabric-checks"
            for when, value in series["values"]:
                got[name, tuple(sorted(labels.items())), round(when * 1000)] = float(value)
    assert got == wanted()


def test_a_pushgateway_has_the_latest_run(start):
    url = start(
        "prometheus-pushgateway", "--web.listen-address=127.0.0.1:PORT", ready="/-/ready",
        package="it is Debian's package prometheus-pushgateway",
    )  # fmt: skip
    store_of("pushgateway", url).send(results())
    store_of("pushgateway", url).send(results()[len(results()) // 2 :])
    got = {}
    for line in get(url + "/metrics").splitlines():
        if line.startswith("fabric_checks_"):
            ((name, labels, value, _),) = stand_in.exposition(f"# TYPE {line.split('{')[0]} gauge\n{line}\n".encode())
            labels = {key: text for key, text in labels.items() if key not in ("job", "instance")}
            got[name, tuple(sorted(labels.items()))] = value
    latest = {key[:2]: value for key, value in sorted(wanted().items(), key=lambda item: item[0][2])}
    assert got == latest


def test_promtool_finds_nothing_wrong_with_the_text():
    if shutil.which("promtool") is None:
        pytest.skip("no promtool here; it is in Debian's package prometheus")
    text = exposition(list(samples(results()[:4])), with_time=False)
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_opensearch_has_every_record(tmp_path):
    url = os.environ.get("FABRIC_TEST_OPENSEARCH_URL")
    if not url:
        pytest.skip("FABRIC_TEST_OPENSEARCH_URL is not set")
    index = f"test-{os.getpid()}"  # a template of fabric-checks may be there
    store = store_of("opensearch", url, index=index)
    assert isinstance(store, OpenSearch)
    try:
        store.send(results())
        store.send(results())
        get(f"{url}/{index}-*/_refresh")
        hits = json.loads(get(f"{url}/{index}-*/_search", size=100))["hits"]["hits"]
        assert {hit["_id"]: hit["_source"] for hit in hits} == {document_id(one): document(one) for one in results()}
        mapping = next(iter(json.loads(get(f"{url}/{index}-*/_mapping")).values()))["mappings"]["properties"]
        assert (mapping["value"]["type"], mapping["system"]["type"], mapping["time"]["type"]) == (
            "double",
            "keyword",
            "date",
        )
        with pytest.raises(Refused, match="mapper_parsing_exception"):
            store.send([record(value="fast")])
    finally:
        for path in (f"/{index}-{NOW:%Y.%m}", f"/{index}-2026.01", f"/_index_template/{index}"):
            try:
                store.connection.request("DELETE", path)
            except Refused:
                continue  # it was not made

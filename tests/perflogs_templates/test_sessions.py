# SPDX-License-Identifier: BSD-3-Clause
"""Real sessions of reframe with fragments: what arrives is what the JSON lines have, record by record."""

import csv
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from fabric_checks.results.perflogs.csv_file import cell
from fabric_checks.results.perflogs.opensearch import document_id
from fabric_checks.results.perflogs.samples import samples
from fabric_checks.results.record import FIELDS
from tests.conftest import FABRIC_CHECKS
from tests.perflogs_templates import stand_in
from tests.perflogs_templates.session import NAME, Session

SECRET = "hunter2-of-the-store"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One session with all fragments at once, about 10 s; the stores are stand-ins."""
    results = tmp_path_factory.mktemp("whole")
    credentials = results / "credentials"
    credentials.write_text(f"fabric:{SECRET}\n")
    credentials.chmod(0o600)
    stores = {
        "opensearch": stand_in.OpenSearchStandIn(),
        "victoriametrics": stand_in.VictoriaMetricsStandIn(),
        "prometheus": stand_in.PrometheusStandIn(),
        "pushgateway": stand_in.PushgatewayStandIn(),
    }
    fragments = {"csv": {}, "sqlite": {}} | {name: {"url": store.url} for name, store in stores.items()}
    fragments["opensearch"] |= {"credentials": str(credentials)}
    session = Session(results, fragments, FABRIC_VICTORIAMETRICS_AUTHORIZATION=f"Bearer {SECRET}")
    for store in stores.values():
        store.__exit__()
    return session, stores


def sample_of(sample):
    return sample.name, dict(sample.labels), sample.value, round(sample.time.timestamp() * 1000)


def test_the_session_is_as_without_fragments(whole):
    session, _ = whole
    # One of the two references is missed.
    assert session.status == 1 and "failed to meet reference(s): latency_1B" in session.output
    assert "warning" not in session.output.lower()
    assert len(session.records) == 24
    assert {record["reference"] for record in session.records} == {1000.0, 1e-3, None}


def test_csv_has_every_record(whole):
    session, _ = whole
    with (session.results / "csv/local/node/OsuLatency.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = [
        {key: "" if record[key] is None else str(cell(record[key])) for key in FIELDS} for record in session.records
    ]
    assert rows == wanted


def test_opensearch_has_every_record(whole):
    session, stores = whole
    documents = stores["opensearch"].documents
    assert len(documents) == 24
    for record in session.records:
        document = documents[document_id(record)]
        assert {field: document[field] for field in FIELDS} == record
        assert document["@timestamp"] == record["time"]


@pytest.mark.parametrize("name", ["victoriametrics", "prometheus"])
def test_metrics_stores_have_every_figure(whole, name):
    session, stores = whole
    got = stores[name].samples
    wanted = [sample_of(sample) for sample in samples(session.records)]
    assert sorted(map(repr, got)) == sorted(map(repr, wanted))
    assert len([sample for sample in got if sample[0] == "fabric_checks_value"]) == 24
    judged = {labels["metric"]: value for name, labels, value, _ in got if name == "fabric_checks_upper_bound"}
    assert judged == {"latency_0B": pytest.approx(1100), "latency_1B": pytest.approx(1.1e-3)}


def test_the_pushgateway_has_every_figure(whole):
    session, stores = whole
    ((group, got),) = stores["pushgateway"].groups.items()
    assert dict(group)["test"] == "OsuLatency %layout=1x2"
    assert {labels["metric"]: value for name, labels, value in got if name == "fabric_checks_value"} == {
        record["metric"]: record["value"] for record in session.records
    }


def test_reframe_s_database_has_every_figure_and_reframe_reads_it(whole):
    session, _ = whole
    with sqlite3.connect(session.results / "results.db") as database:
        ((blob,),) = database.execute("SELECT json_blob FROM sessions").fetchall()
    (case,) = [case for case in json.loads(blob)["runs"][0]["testcases"] if not case["fixture"]]
    assert {key.split(":")[-1]: values[0] for key, values in case["perfvalues"].items()} == {
        record["metric"]: record["value"] for record in session.records
    }
    listed = Session(session.results, {"sqlite": {}}, ("--list-stored-testcases=20260101T000000+0000:now/mean:/",))
    assert listed.status == 0 and "latency_4194304B" in listed.output, listed.output


def test_credentials_reach_the_store_and_no_other_place(whole):
    session, stores = whole
    assert stores["opensearch"].requests[0][2]["Authorization"].startswith("Basic ")
    assert stores["victoriametrics"].requests[0][2]["Authorization"] == f"Bearer {SECRET}"
    for name in ("prometheus", "pushgateway"):
        assert "Authorization" not in stores[name].requests[0][2]
    assert SECRET not in session.output
    files = [path for path in session.results.rglob("*") if path.is_file() and path.name != "credentials"]
    assert len(files) > 10
    for path in files:
        content = path.read_bytes()
        assert SECRET.encode() not in content, path
    shown = subprocess.run(
        [Path(sys.executable).with_name("reframe"), "-C", Path(__file__).with_name("settings.py"), "--show-config"],
        env=session.environment | {"FABRIC_VICTORIAMETRICS_AUTHORIZATION": f"Bearer {SECRET}"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert '"store": "opensearch"' in shown.stdout
    assert SECRET not in shown.stdout + shown.stderr


def test_a_job_does_not_get_the_credentials(tmp_path):
    """A job that prints its environment fails here, and its output stays."""
    with stand_in.VictoriaMetricsStandIn() as server:
        session = Session(
            tmp_path, {"victoriametrics": {"url": server.url}}, PLAYBACK_COMMAND="env",
            FABRIC_VICTORIAMETRICS_AUTHORIZATION=f"Bearer {SECRET}", MARK="seen-by-the-job",
        )  # fmt: skip
    outputs = b"".join(path.read_bytes() for path in tmp_path.rglob("rfm_job.out"))
    assert session.status == 1 and b"seen-by-the-job" in outputs
    assert SECRET.encode() not in outputs
    # The case failed before it had figures; the store knows that it failed.
    (case,) = [value for name, _, value, _ in server.samples if name == "fabric_checks_case_passed"]
    assert case == 0


def test_stores_that_are_down_hang_or_refuse_change_nothing_but_the_warning(tmp_path):
    """All kinds of trouble in one session, about 20 s: its result is that of a healthy one, and all is on disk."""
    down = stand_in.always(204)
    down.__exit__()
    with stand_in.hanging() as hangs, stand_in.always(500, b"broken") as broken, stand_in.always(400, b"no") as refuses:
        session = Session(
            tmp_path,
            {
                "opensearch": {"url": down.url, "index": "ours"},
                "victoriametrics": {"url": hangs.url},
                "prometheus": {"url": broken.url},
                "pushgateway": {"url": refuses.url},
            },
        )
        urls = {
            "opensearch": down.url,
            "victoriametrics": hangs.url,
            "prometheus": broken.url,
            "pushgateway": refuses.url,
        }
    assert session.status == 1 and "Ran 2/2 test case(s) from 2 check(s) (1 failure(s)" in session.output
    assert len(session.records) == 24
    causes = {
        "opensearch": "Connection refused",
        "victoriametrics": "not done 10 s after the session's end",
        "prometheus": "it answers 500: broken",
        "pushgateway": "it answers 400: no",
    }
    more = {"opensearch": " --set index=ours"}
    for name, cause in causes.items():
        assert (
            f"warning: {name}: 24 of 24 records were not sent to {urls[name]}: {cause}; the perflog has them, and "
            f"`fabric-checks send {name} --url {urls[name]}{more.get(name, '')} --session {NAME}` sends them"
        ) in session.output
    # And so it does, when the store is back.
    with stand_in.OpenSearchStandIn() as back:
        sent = subprocess.run(
            [FABRIC_CHECKS, "send", "opensearch", "--set", "index=ours",
             "--session", NAME, "--json"],
            env=session.environment | {"FABRIC_OPENSEARCH_URL": back.url}, capture_output=True, text=True,
        )  # fmt: skip
    assert json.loads(sent.stdout) == {"sent": 24, "sessions": 1, "faults": [], "store": "opensearch", "url": back.url}
    assert set(back.documents) == {document_id(record) for record in session.records}
    assert back.template["index_patterns"] == ["ours-*"]


def test_a_csv_file_that_cannot_be_written_is_a_warning_and_the_next_handler_still_gets_all(tmp_path):
    (tmp_path / "csv").write_text("a file where a folder has to be\n")
    with stand_in.VictoriaMetricsStandIn() as server:
        session = Session(tmp_path, {"csv": {}, "victoriametrics": {"url": server.url}})
    assert "csv/local/node/OsuLatency.csv: Not a directory: 24 records are not in it; the JSON lines" in session.output
    assert len(session.records) == 24
    assert len([name for name, *_ in server.samples if name == "fabric_checks_value"]) == 24


def test_without_an_address_reframe_does_not_start(tmp_path):
    session = Session(tmp_path, {"opensearch": {}}, ("-l",))
    assert session.status != 0
    assert "opensearch: no address; set FABRIC_OPENSEARCH_URL, or give the fragment a url" in session.output
    assert os.environ.get("FABRIC_OPENSEARCH_URL") is None

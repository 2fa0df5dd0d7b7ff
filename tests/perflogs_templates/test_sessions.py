# SPDX-License-Identifier: BSD-3-Clause
"""Real sessions of reframe with templates: what arrives is what the JSON lines have, record by record."""

import csv
import json
import sqlite3
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from reframe.core.config import load_config

from fabric_checks.records.perflog import csv_cell
from fabric_checks.records.record import FIELDS
from tests.conftest import TESTS
from tests.perflogs_templates.session import Session

TEMPLATES = TESTS.parent / "perflogs-templates"


class Server:
    """A server on a free port that gives one status to every request, or none at all, and keeps their bodies."""

    def __init__(self, status):
        outer = self
        self.bodies, self.end = [], threading.Event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                if status is None:
                    outer.end.wait()
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One session with all templates at once, and what its server got."""
    with Server(200) as server:
        session = Session(tmp_path_factory.mktemp("whole"), ("csv", "sqlite", "httpjson"), URL=server.url)
    return session, server.bodies


def test_the_session_is_as_without_templates(whole):
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
        {key: "" if record[key] is None else str(csv_cell(record[key])) for key in FIELDS} for record in session.records
    ]
    assert rows == wanted


def test_reframe_s_database_has_every_value_and_reframe_reads_it(whole):
    session, _ = whole
    with sqlite3.connect(session.results / "results.db") as database:
        ((blob,),) = database.execute("SELECT json_blob FROM sessions").fetchall()
    (case,) = [case for case in json.loads(blob)["runs"][0]["testcases"] if not case["fixture"]]
    assert {key.split(":")[-1]: values[0] for key, values in case["perfvalues"].items()} == {
        record["metric"]: record["value"] for record in session.records
    }
    listed = Session(session.results, ("sqlite",), ("--list-stored-testcases=20260101T000000+0000:now/mean:/",))
    assert listed.status == 0 and "latency_4194304B" in listed.output, listed.output


def test_httpjson_posts_every_value(whole):
    session, bodies = whole
    (case,) = [case for case in map(json.loads, bodies) if "check_perf_latency_0B_value" in case]
    for record in session.records:
        assert case[f"check_perf_{record['metric']}_value"] == record["value"]


@pytest.mark.parametrize(("status", "cause"), [(None, "logging failed"), (429, "HTTP response code 429")])
def test_a_server_that_hangs_or_is_busy_for_ever_holds_no_session(tmp_path, status, cause):
    with Server(status) as server:
        session = Session(tmp_path, ("httpjson",), URL=server.url)
    assert session.status == 1 and "Ran 2/2 test case(s) from 2 check(s) (1 failure(s)" in session.output
    assert cause in session.output and server.bodies
    assert len(session.records) == 24
    # It ended by itself, and each of the two that log gave up after a few tries, or after the first that hung.
    assert len(server.bodies) < 40


def test_a_csv_file_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "csv").write_text("a file where a folder has to be\n")
    session = Session(tmp_path, ("csv",))
    assert (
        "csv/local/node/OsuLatency.csv: Not a directory: 24 records are not in it; they are in the JSON "
        "lines" in session.output
    )
    assert len(session.records) == 24


def types(config, system):
    config.select_subconfig(system)
    return [handler["type"] for handler in config.get("logging/0/handlers_perflog")], config.get("storage/0/enable")


@pytest.mark.parametrize(
    ("template", "wanted"),
    [("csv", (["jsonlines", "csv"], False)), ("sqlite", (["jsonlines"], True)),
     ("httpjson", (["jsonlines", "httpjson"], False))],
)  # fmt: skip
def test_a_template_s_lines_in_the_file_of_a_system_hold_for_it_alone(tmp_path, monkeypatch, template, wanted):
    """The real configuration collects them; the settings are copied with one more system beside the shipped ones."""
    monkeypatch.setattr("requests.api.request", requests.api.request)  # the template sets it, and this sets it back
    config = tmp_path / "config"
    for folder in ("environments", "systems"):
        (config / folder).mkdir(parents=True)
        for file in (TESTS.parent / "config" / folder).glob("*.py"):
            (config / folder / file.name).symlink_to(file)
    (config / "settings.py").write_text((TESTS.parent / "config/settings.py").read_text())
    (config / "systems/yours.py").write_text(
        "systems = [{'name': 'yours', 'hostnames': ['yours'], 'partitions': [{'name': 'p', 'scheduler': 'local',\n"
        "            'launcher': 'local', 'environs': [], 'extras': {'nodes': 1, 'cores': 1}}]}]\n"
        + (TEMPLATES / f"{template}.py").read_text()
    )
    made = load_config("<builtin>", str(config / "settings.py"))
    made.validate()
    assert types(made, "yours") == wanted
    assert made.get("logging/0/handlers$/0/name") == "stdout"
    assert types(made, "local") == (["jsonlines"], False)

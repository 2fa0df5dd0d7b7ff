# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks send``: what is on disk goes to a store, now."""

import json

import pytest
from click.testing import CliRunner

from fabric_checks.cli.send import SETTINGS, STORES, command
from fabric_checks.errors import RecordError
from fabric_checks.results import perflog
from fabric_checks.results.perflogs import replay, stores
from fabric_checks.results.perflogs.opensearch import document_id
from tests.perflogs_templates.examples import failed_case, record
from tests.perflogs_templates.stand_in import OpenSearchStandIn, PushgatewayStandIn, always


def test_the_command_knows_every_store_and_setting():
    assert set(STORES) == set(stores.STORES) and SETTINGS == stores.SETTINGS
    for wrong in ("index", "timeout_s=1", "url=http://a"):
        done = CliRunner().invoke(command, ["opensearch", "--url", "http://a", "--set", wrong])
        assert done.exit_code == 2 and "with one of index, path for NAME" in done.output


#: Of the case that failed: every record that a session leaves has a time.
TIME = "2026-01-01T00:00:20+00:00"


@pytest.fixture
def results(tmp_path):
    """Return a folder with the records of two sessions."""
    for session in ("20260101T000000Z-one1", "20260102T000000Z-two2"):
        perflog.append(
            tmp_path / "perflogs/s/p/A.jsonl", [record(session=session), record(session=session, metric="b")]
        )
        perflog.append(tmp_path / "perflogs/s/p/B.jsonl", [failed_case(session=session, check="B", time=TIME)])
        (tmp_path / "logs").mkdir(exist_ok=True)
        (tmp_path / "logs" / f"{session}.log").write_text("")
    return tmp_path


def send(*arguments):
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if isinstance(done.exception, RecordError):
        raise done.exception
    return done


def test_one_session_or_all(results):
    with OpenSearchStandIn() as server:
        one = send("opensearch", "--url", server.url, "--results", results, "--session", "20260101T000000Z-one1")
        assert (one.exit_code, one.output) == (0, f"3 records of 1 sessions sent to {server.url}\n")
        assert len(server.documents) == 3
        everything = send("opensearch", "--url", server.url, "--results", results, "--all", "--json")
    done = json.loads(everything.output)
    assert (done["sent"], done["sessions"], done["faults"]) == (6, 2, [])
    lines = [json.loads(line) for path in results.rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert set(server.documents) == {document_id(line) for line in lines}


def test_bad_records_are_named_and_the_good_ones_sent(results):
    path = results / "perflogs/s/p/A.jsonl"
    path.write_text("garbage\x1b[2J\n" + path.read_text() + '[]\n{"system": "s"}\n{"cut": ')
    with OpenSearchStandIn() as server:
        done = send("opensearch", "--url", server.url, "--results", results, "--all")
    assert done.exit_code == 1 and len(server.documents) == 6
    assert "6 records of 2 sessions sent" in done.output
    for number in (1, 6, 7, 8):
        assert f"warning: {path}:{number}: " in done.output
    assert "\x1b" not in done.output


def test_what_the_store_refuses_is_named(results):
    perflog.append(results / "perflogs/s/p/A.jsonl", [record(value="fast")])
    with OpenSearchStandIn() as server:
        done = send("opensearch", "--url", server.url, "--results", results, "--all")
    assert done.exit_code == 1 and len(server.documents) == 6
    assert "1 records are not sent" in done.output and "6 records of" in done.output


def test_a_store_that_is_down_is_an_error(results):
    with always(204) as server:
        url = server.url
    with pytest.raises(
        RecordError, match=f"^victoriametrics: {url}: Connection refused; 0 records were sent before that"
    ):
        send("victoriametrics", "--url", url, "--results", results, "--all")


def test_the_records_of_a_case_go_together(results, monkeypatch):
    """A Pushgateway would keep the last part only."""
    monkeypatch.setattr(replay, "AT_ONCE", 1)
    with PushgatewayStandIn() as server:
        send("pushgateway", "--url", server.url, "--results", results, "--all")
    assert len(server.requests) == 4
    figures = [found for group, found in server.groups.items() if dict(group)["check"] == "A"]
    assert [len([name for name, *_ in found if name == "fabric_checks_value"]) for found in figures] == [2]


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(RecordError, match="no perflog here"):
        send("opensearch", "--url", "http://a", "--results", tmp_path, "--all")
    with pytest.raises(RecordError, match="no run has left results here"):
        send("opensearch", "--url", "http://a", "--results", tmp_path)

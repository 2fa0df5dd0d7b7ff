# SPDX-License-Identifier: BSD-3-Clause
"""What stores get: every figure, with its bounds and its time, in the form of their protocols."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reframe.utility.sanity import reference_bounds

from fabric_checks.errors import RecordError
from fabric_checks.results.perflogs.connection import Connection, Refused, TryLater
from fabric_checks.results.perflogs.metrics_stores import Prometheus, Pushgateway, VictoriaMetrics, exposition
from fabric_checks.results.perflogs.opensearch import TEMPLATE, OpenSearch, document, document_id
from fabric_checks.results.perflogs.samples import samples
from fabric_checks.results.perflogs.stores import STORES, command_to_send, store_of
from fabric_checks.results.record import FIELDS, bounds
from tests.perflogs_templates import stand_in
from tests.perflogs_templates.examples import failed_case, record

TIME_MS = 1767225610000  # 2026-01-01T00:00:10Z, as date(1) has it
START_MS = 1767225600000


@pytest.mark.parametrize("reference", [10.0, -10.0, 0.0])
@pytest.mark.parametrize(("lower", "upper"), [(-0.1, 0.2), (None, 0.2), (-0.1, None)])
def test_bounds_are_those_that_reframe_judges_by(reference, lower, upper):
    low, high = reference_bounds(reference, lower, upper)
    made = bounds(record(reference=reference, lower=lower, upper=upper))
    assert made == (None if lower is None else pytest.approx(low), None if upper is None else pytest.approx(high))
    assert bounds(record(reference=None)) == (None, None)


class TestOpenSearch:
    def test_a_document_a_record_and_sent_twice_it_is_there_once(self):
        with stand_in.OpenSearchStandIn() as server:
            store = OpenSearch(Connection(server.url))
            sent = [record(), record(metric="latency_1B", value=2), failed_case()]
            store.send(sent)
            store.send(sent)
        assert len(server.documents) == 3
        for one in sent:
            got = server.documents[document_id(one)]
            assert {field: got[field] for field in FIELDS} == one
        assert server.documents[document_id(sent[0])]["upper_bound"] == 1.9
        # A case that failed early has no time: it is found at its session's start.
        assert server.documents[document_id(sent[2])]["@timestamp"] == "2026-01-01T00:00:00+00:00"
        assert [request[:2] for request in server.requests] == [
            ("HEAD", "/_index_template/fabric-checks"), ("PUT", "/_index_template/fabric-checks"),
            ("POST", "/_bulk"), ("POST", "/_bulk"),
        ]  # fmt: skip

    def test_the_template_knows_every_field_and_guesses_none(self):
        mappings = json.loads(TEMPLATE.read_text())["template"]["mappings"]
        assert mappings["dynamic"] is False
        assert set(mappings["properties"]) == set(document(record()))

    def test_what_it_refuses_is_counted(self):
        with stand_in.OpenSearchStandIn() as server:
            with pytest.raises(Refused, match=r"it answers 400 for a record: .*parse field \[value\]") as refused:
                OpenSearch(Connection(server.url)).send([record(), record(value="fast")])
            assert refused.value.records == 1 and len(server.documents) == 1

    def test_a_real_server_s_answers_are_understood(self, monkeypatch):
        """The exchange was recorded from OpenSearch 2.18.0; the second document of the last request was bad."""
        recorded = json.loads((stand_in.RECORDED / "opensearch-2.18.json").read_text())["exchanges"]
        left = list(recorded)

        def request(self, method, path, body=None, content_type=""):
            exchange = left.pop(0)
            assert (method, path) == (exchange["method"], exchange["path"])
            if exchange["status"] != "success":
                raise Refused(exchange["answer"], status=exchange["status"])
            return exchange["answer"].encode()

        monkeypatch.setattr(Connection, "request", request)
        store = OpenSearch(Connection("http://store"), index="recorded")
        store.send([record()])
        store.send([record(), record()])
        with pytest.raises(Refused, match="mapper_parsing_exception") as refused:
            store.send([record(), record()])
        assert refused.value.records == 1
        assert left == []

    @pytest.mark.parametrize(("status", "error"), [(429, TryLater), (503, TryLater), (400, Refused)])
    def test_a_record_that_finds_it_busy_is_sent_again(self, status, error):
        items = [{"index": {"status": 201}}, {"index": {"status": status, "error": {"type": "x"}}}]
        body = json.dumps({"errors": True, "items": items}).encode()
        with stand_in.always(200, body) as server, pytest.raises(error, match=f"it answers {status} for a record"):
            OpenSearch(Connection(server.url)).send([record(), record()])

    @pytest.mark.parametrize("body", [b"<html>login</html>", b"[]", b"{}", b'{"items": [{}]}', b'{"items": []}'])
    def test_an_answer_of_something_else_is_no_success(self, body):
        with stand_in.always(200, body) as server, pytest.raises(Refused, match="it answers"):
            OpenSearch(Connection(server.url)).send([record()])

    def test_without_the_right_to_put_the_template_nothing_is_guessed(self):
        def answer(method, path, headers, body):
            return {"HEAD": (404, b""), "PUT": (403, b"no permissions")}[method]

        with (
            stand_in.Server(answer) as server,
            pytest.raises(Refused, match="an administrator put .*template.json"),
        ):
            OpenSearch(Connection(server.url)).send([record()])
        assert "POST" not in [request[0] for request in server.requests]


FIGURE = {
    "system": "s", "partition": "p", "environ": "e", "check": "A", "test": "A %layout=1x2", "layout": "1x2",
    "metric": "latency_0B", "quantity": "latency", "size_B": "0", "unit": "us", "better": "smaller",
}  # fmt: skip
CASE = {key: FIGURE[key] for key in ("system", "partition", "environ", "check", "test", "layout")}


def by_name(found):
    return {name: rest for name, *rest in found}


def test_victoriametrics_gets_value_reference_bounds_and_verdict_with_their_time():
    with stand_in.VictoriaMetricsStandIn() as server:
        VictoriaMetrics(Connection(server.url)).send([record(evidence="fitted"), failed_case(test="B")])
    figure = FIGURE | {"evidence": "fitted"}
    got = [(name, labels, value, time) for name, labels, value, time in server.samples if labels["test"] != "B"]
    assert by_name(got) == {
        "fabric_checks_value": [figure, 1.5, TIME_MS],
        "fabric_checks_reference": [figure, 1.0, TIME_MS],
        "fabric_checks_upper_bound": [figure, 1.9, TIME_MS],
        "fabric_checks_passed": [figure, 1.0, TIME_MS],
        "fabric_checks_case_passed": [CASE, 1.0, TIME_MS],
        "fabric_checks_time_seconds": [CASE, TIME_MS / 1000, TIME_MS],
    }
    failed = by_name(sample for sample in server.samples if sample[1]["test"] == "B")
    assert failed["fabric_checks_case_passed"] == [CASE | {"test": "B"}, 0.0, START_MS]
    assert "fabric_checks_value" not in failed


def test_prometheus_gets_the_same_as_victoriametrics():
    sent = [record(), record(metric="b", result="fail", case_result="fail"), failed_case()]
    with stand_in.VictoriaMetricsStandIn() as text, stand_in.PrometheusStandIn() as otlp:
        VictoriaMetrics(Connection(text.url)).send(sent)
        Prometheus(Connection(otlp.url)).send(sent)
    assert sorted(map(repr, text.samples)) == sorted(map(repr, otlp.samples))
    assert len(text.samples) == 12


def test_a_pushgateway_keeps_the_latest_run_of_each_case():
    with stand_in.PushgatewayStandIn() as server:
        store = Pushgateway(Connection(server.url))
        store.send([record(test="A/1", layout=None), record(test="B")])
        store.send([record(test="A/1", layout=None, value=2.5)])
    assert len(server.groups) == 2
    values = {dict(group)["test"]: by_name(found)["fabric_checks_value"] for group, found in server.groups.items()}
    assert values["A/1"] == [FIGURE | {"test": "A/1", "layout": "", "job": "fabric-checks"}, 2.5]
    assert values["B"][1] == 1.5


def test_of_several_runs_a_pushgateway_gets_the_latest():
    """It takes a series once."""
    runs = [record(time=f"2026-01-0{day}T00:00:00+00:00", value=day) for day in (1, 3, 2)]
    with stand_in.PushgatewayStandIn() as server:
        Pushgateway(Connection(server.url)).send(runs)
    (found,) = server.groups.values()
    assert [value for name, _, value in found if name == "fabric_checks_value"] == [3.0]


@given(st.text(max_size=20), st.floats(allow_nan=False, allow_infinity=False))
def test_any_name_and_any_value_arrive(name, value):
    one = record(test=name, value=value)
    found = by_name(stand_in.exposition(exposition(list(samples([one])), with_time=True).encode()))
    labels, got, _ = found["fabric_checks_value"]
    assert got == value
    assert labels.get("test", "") == "".join(c if c.isprintable() or c == "\n" else "?" for c in name)


def test_a_store_that_there_is_not_is_an_error():
    with pytest.raises(RecordError, match="'influx': no such store; there are opensearch, victoriametrics"):
        store_of("influx", "http://a")
    with pytest.raises(RecordError, match="opensearch: takes no 'path'; it takes index"):
        store_of("opensearch", "http://a", path="/b")
    assert {name: store_of(name, "http://a").name for name in STORES} == {name: name for name in STORES}


def test_the_command_that_sends_later_names_what_is_not_the_default(monkeypatch):
    url = "https://a.example"
    assert command_to_send("opensearch", "s", url, None, index="fabric-checks") == (
        "fabric-checks send opensearch --url https://a.example --session s"
    )
    assert command_to_send("prometheus", "s", url, "/a b/c", path="/v1/metrics") == (
        "fabric-checks send prometheus --url https://a.example "
        "--credentials '/a b/c' --set path=/v1/metrics --session s"
    )

# SPDX-License-Identifier: BSD-3-Clause
"""A store that is down, slow or unwilling neither stops a session nor loses a word about it."""

import threading
import time

import pytest

from fabric_checks.results.perflogs import sender as module
from fabric_checks.results.perflogs.connection import Connection, Refused, TryLater
from fabric_checks.results.perflogs.metrics_stores import VictoriaMetrics
from fabric_checks.results.perflogs.sender import Sender
from tests.perflogs_templates.examples import record
from tests.perflogs_templates.stand_in import Server, VictoriaMetricsStandIn, always, hanging


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    """Make the pauses short."""
    monkeypatch.setattr(module, "PAUSES_S", (0.02, 0.04))


def sender(url, timeout_s=5.0):
    said = []
    return Sender(VictoriaMetrics(Connection(url, timeout_s=timeout_s)), "fabric-checks send it", said.append), said


def test_all_is_sent_and_nothing_said():
    with VictoriaMetricsStandIn() as server:
        sending, said = sender(server.url)
        for number in range(50):
            sending.add([record(metric=f"m{number}")])
        sending.close()
    assert said == []
    assert {labels["metric"] for _, labels, *_ in server.samples if "metric" in labels} == {f"m{n}" for n in range(50)}


def test_cases_that_wait_go_out_together():
    with VictoriaMetricsStandIn() as server:
        sending, _ = sender(server.url)
        with sending._lock:  # the sender cannot take any before all are there
            for number in range(100):
                sending._cases.append([record(metric=f"m{number}")])
        sending.add([record()])
        sending.close()
    assert len(server.requests) == 1


def unsent(count, url, cause, added=None):
    return (
        f"victoriametrics: {count} of {added or count} records were not sent to {url}: {cause}; "
        "the perflog has them, and `fabric-checks send it` sends them"
    )


def test_a_store_that_is_down_costs_next_to_nothing():
    server = always(204)
    with server:
        url = server.url
    sending, said = sender(url)
    begin = time.monotonic()
    sending.add([record(), record(metric="b")])
    sending.close()
    assert time.monotonic() - begin < 1
    assert said == [
        f"victoriametrics: {url}: Connection refused; the session goes on",
        unsent(2, url, "Connection refused"),
    ]


def test_a_store_that_hangs_holds_up_no_case_and_the_end_for_its_limit_only(monkeypatch):
    monkeypatch.setattr(module, "END_S", 0.3)
    with hanging() as server:
        sending, said = sender(server.url)
        begin = time.monotonic()
        for _ in range(1000):
            sending.add([record()])
        assert time.monotonic() - begin < 0.5
        begin = time.monotonic()
        sending.close()
        assert 0.25 < time.monotonic() - begin < 1
    assert said == [unsent(1000, server.url, "not done 0.3 s after the session's end")]


def test_a_request_that_hangs_ends():
    begin = time.monotonic()
    with hanging() as server, pytest.raises(TryLater, match="^no answer within 0.1 s$|timed out"):
        Connection(server.url, timeout_s=0.1).request("POST", "/", b"x")
    assert time.monotonic() - begin < 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_store_that_is_busy_is_tried_again(status):
    answers = [status, status]
    with Server(lambda *_: (answers.pop(), b"busy") if answers else (204, b"")) as server:
        sending, said = sender(server.url)
        sending.add([record()])
        deadline = time.monotonic() + 5
        while sending._sent < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        sending.close()
    assert len(server.requests) == 3
    assert said == [f"victoriametrics: {server.url}: it answers {status}: busy; the session goes on"]


@pytest.mark.parametrize("status", [429, 500])
def test_a_store_that_stays_busy_is_given_up_when_the_session_ends(status):
    with always(status, b"too much") as server:
        sending, said = sender(server.url)
        sending.add([record()])
        begin = time.monotonic()
        sending.close()
        assert time.monotonic() - begin < 2
    assert said[-1] == unsent(1, server.url, f"it answers {status}: too much")


def test_what_a_store_refuses_is_said_and_not_tried_again():
    with always(400, b"cannot parse\x1b[31m this") as server:
        sending, said = sender(server.url)
        sending.add([record()])
        sending.close()
    assert len(server.requests) == 1
    assert said[-1] == unsent(1, server.url, "it answers 400: cannot parse?[31m this")


def test_one_case_that_is_refused_does_not_take_others_with_it():
    with Server(lambda *request: (400, b"bad") if b'metric="bad"' in request[3] else (204, b"")) as server:
        sending, said = sender(server.url)
        with sending._lock:
            sending._cases += [[record(metric="a")], [record(metric="bad")]]
            sending._added = 2
        sending.add([record(metric="c")])
        sending.close()
    assert said[-1] == unsent(1, server.url, "it answers 400: bad", added=3)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_with_the_credentials(status):
    with always(200) as other, always(status, b"", ("Location", other.url)) as server:
        with pytest.raises(Refused, match=f"it answers {status} and sends to another address"):
            Connection(server.url, lambda: "Bearer secret").request("POST", "/", b"x")
        assert other.requests == []


def test_a_sender_that_gets_nothing_starts_nothing():
    before = threading.active_count()
    sending, said = sender("http://127.0.0.1:9")
    sending.close()
    assert threading.active_count() == before and said == []


def test_more_cases_than_may_wait_are_counted_as_not_sent(monkeypatch):
    monkeypatch.setattr(module, "WAITING", 3)
    monkeypatch.setattr(module, "END_S", 0.2)
    with hanging() as server:
        sending, said = sender(server.url)
        for _ in range(10):
            sending.add([record()])
        assert len(sending._cases) <= 3
        sending.close()
    assert said[-1].startswith("victoriametrics: 10 of 10 records were not sent")

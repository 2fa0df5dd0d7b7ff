# SPDX-License-Identifier: BSD-3-Clause
"""The file of receivers, their secrets, and requests to receivers that fail in many ways."""

import socket

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.nightly.wall import receivers
from fabric_checks.nightly.wall.receivers import Receiver, SecretError
from tests.nightly.wall.listening import listening

SECRET = "s3cret-word"


@pytest.fixture
def secret(tmp_path):
    """Return a function that writes a secret into a file of its own."""

    def write(text=SECRET, mode=0o600):
        path = tmp_path / "secret"
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    return write


def test_the_example_has_all_that_a_file_may_have(tmp_path, secret):
    text = (ROOT / "perflogs-templates/receivers.yaml").read_text()
    for name, path in (("chat-url", secret("https://chat.example/hook/abc")), ("on-call-token", secret("https://x/"))):
        text = text.replace(f"/etc/fabric-checks/{name}", path)
    (tmp_path / "receivers.yaml").write_text(text)
    found = receivers.read(tmp_path / "receivers.yaml")
    assert [(each.name, each.form) for each in found] == [
        ("chat", "slack"),
        ("on-call", "json"),
        ("alerts", "alertmanager"),
    ]
    assert found[2].address() == "http://alertmanager.example:9093/api/v2/alerts"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no receivers; give each a name, a form and a url"),
        ("a: {", "perflogs-templates/receivers.yaml is an example"),
        ("a b: {url: 'https://x'}", "receiver 'a b': not a name"),
        ("a: {url: 'https://x', colour: red}", "it has texts named form, url, url_file, token_file, and nothing else"),
        ("a: {url: 7}", "it has texts named form"),
        ("a: {form: sms, url: 'https://x'}", "the form 'sms' is unknown; use one of json, slack"),
        ("a: {form: json}", "give either url or url_file"),
        ("a: {url: 'https://x', url_file: y}", "give either url or url_file"),
        ("a: {form: slack, url: 'https://x/SECRET'}", "its address is a secret: put it into a file"),
        ("a: {url: 'https://me:SECRET@x/'}", "its address is a secret: put it into a file"),
        ("a: {url: 'ftp://x/'}", "not an address that begins with https:// or http://"),
        ("a: {url: 'http://[x/'}", "not an address that begins with https:// or http://"),
        ("a: {url: 'http://x:y/'}", "not an address that begins with https:// or http://"),
        ("a: {url: 'https://x', token_file: /none/such}", "/none/such: No such file or directory"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_cause(tmp_path, text, why):
    path = tmp_path / "receivers.yaml"
    path.write_text(text)
    with pytest.raises(FabricError) as caught:
        receivers.read(path)
    assert str(caught.value).startswith(str(path)) and why in str(caught.value) and "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        (SECRET, 0o644, "other users can read this secret; chmod 600"),
        ("", 0o600, "a secret is one word"),
        (f"{SECRET}\n{SECRET}", 0o600, "a secret is one word"),
        (f"{SECRET}\x07", 0o600, "a secret is one word"),
    ],
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret, text, mode, why):
    with pytest.raises(SecretError, match=why) as caught:
        Receiver("a", "json", url_file=secret(text, mode)).address()
    assert SECRET not in str(caught.value)


def test_a_request_has_key_token_and_type():
    with listening() as listener:
        assert receivers.post(Receiver("a", "json", listener.url), "k1", '{"é": 1}') == receivers.Answer()
    (fault, path, key, headers, body) = listener.requests[0]
    assert (fault, path, key, body) == (200, "/hook", '"k1"', '{"é": 1}')
    assert headers["Content-Type"] == "application/json" and headers["Authorization"] is None


def test_the_token_is_that_of_the_file_whatever_netrc_has(tmp_path, secret, monkeypatch):
    (tmp_path / ".netrc").write_text("default login me password wrong\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with listening() as listener:
        receivers.post(Receiver("a", "json", listener.url, token_file=secret(f"{SECRET}\n")), "k", "{}")
    assert listener.requests[0][3]["Authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("fault", "why", "is_final"),
    [
        (500, "it answers 500", False), (503, "it answers 503", False), (429, "it answers 429", False),
        (401, "it answers 401", True), (404, "it answers 404", True),
        (302, "it answers 302, a redirection, which is not followed", True),
        ("hang", "no answer within", False), ("trickle", "no answer within", False),
        ("cut", "the connection was cut", False),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_success_has_a_cause_without_address(monkeypatch, secret, fault, why, is_final):
    monkeypatch.setattr(receivers, "REQUEST_S", 0.5 if fault in ("hang", "trickle") else 60)
    with listening() as listener:
        listener.faults = [fault]
        address = secret(f"{listener.url}/{SECRET}")
        answer = receivers.post(Receiver("a", "slack", url_file=address), "k", "{}")
    assert why in answer.why and answer.is_final == is_final and SECRET not in answer.why
    assert len(listener.requests) == 1 and not listener.messages


def test_no_receiver_is_a_cause_without_address(secret):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = secret(f"http://127.0.0.1:{free.getsockname()[1]}/{SECRET}")
        answer = receivers.post(Receiver("a", "slack", url_file=address), "k", "{}")
    assert answer == receivers.Answer("no connection: Connection refused")
    address = secret(f"http://no-such-host.invalid/{SECRET}")
    assert SECRET not in receivers.post(Receiver("a", "slack", url_file=address), "k", "{}").why


def test_a_certificate_that_nobody_knows_is_refused(monkeypatch):
    def refused(*_, **__):
        raise receivers.requests.exceptions.SSLError(f"https://x/{SECRET}")

    monkeypatch.setattr(receivers.requests, "post", refused)
    answer = receivers.post(Receiver("a", "json", "https://x"), "k", "{}")
    assert answer == receivers.Answer("its certificate is not accepted", is_final=True)


def test_a_secret_that_is_gone_when_a_message_is_sent_is_a_cause(tmp_path):
    answer = receivers.post(Receiver("a", "json", "https://x", token_file=str(tmp_path / "none")), "k", "{}")
    assert answer.is_final and "No such file or directory" in answer.why

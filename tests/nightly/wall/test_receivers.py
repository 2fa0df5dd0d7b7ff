# SPDX-License-Identifier: BSD-3-Clause
"""The file of receivers, its secrets, certificates, and requests to receivers that fail in many ways."""

import shutil
import socket
import ssl
import subprocess

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.nightly.wall import receivers
from fabric_checks.nightly.wall.receivers import Receiver
from tests.nightly.wall.listening import listening

SECRET = "s3cret-word"


def written(folder, text, mode=0o600):
    path = folder / "receivers.yaml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_example_has_all_that_a_file_may_have(tmp_path):
    text = (ROOT / "perflogs-templates/receivers.yaml").read_text()
    found = receivers.read(written(tmp_path, text))
    assert [(each.name, each.form, bool(each.token)) for each in found] == [
        ("chat", "slack", False),
        ("on-call", "json", True),
        ("alerts", "alertmanager", False),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no receivers; perflogs-templates/receivers.yaml is an example"),
        ("a: {", ": not valid YAML; perflogs-templates/receivers.yaml is an example"),
        ("a: {url: *SECRET}", ":1: not valid YAML; "),
        ("a b: {url: 'https://x'}", "a receiver is 'a b', which is not a name"),
        ("a: {url: 'https://x', colour: SECRET}", "it has texts named form, url, token, and nothing else"),
        ("a: {url: 7}", "it has texts named form"),
        ("a: 'https://x/SECRET'", "it has texts named form"),
        ("a: {form: sms, url: 'https://x'}", "the form 'sms' is unknown; use one of json, slack"),
        *(
            (f"a: {{url: '{url}'}}", "receiver 'a': its url is not https:// or http:// with a host and without a user")
            for url in ("", "SECRET", "ftp://x/", "http://[x/", "http://x:y/", "https://me:SECRET@x/", "http://x /")
        ),
        ("a: {url: 'https://x', token: SECRET two}", "its token is not one word of ASCII"),
        ('a: {url: "https://x", token: "SECRET\\n"}', "its token is not one word of ASCII"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_cause(tmp_path, text, why):
    path = written(tmp_path, text)
    with pytest.raises(FabricError) as caught:
        receivers.read(path)
    assert str(caught.value).startswith(str(path)) and why in str(caught.value) and "SECRET" not in str(caught.value)


def test_addresses_with_ports_numbers_and_queries_are_taken(tmp_path):
    urls = ("http://localhost:8065/hooks/x", "https://[::1]:9/", "https://10.0.0.1", "http://x?token=a%20b&c")
    text = "".join(f"r{number}: {{url: '{url}'}}\n" for number, url in enumerate(urls))
    assert tuple(each.url for each in receivers.read(written(tmp_path, text))) == urls


def test_a_file_that_others_can_read_is_refused(tmp_path):
    path = written(tmp_path, "a: {url: 'https://x'}", 0o640)
    with pytest.raises(FabricError, match=f"{path}: other users can read it, .*; chmod 600 {path}"):
        receivers.read(path)


def test_a_request_has_key_token_and_type_whatever_netrc_has(tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("default login me password wrong\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with listening() as listener:
        for token in ("", SECRET):
            assert receivers.post(Receiver("a", "json", listener.url, token), "k1", b'{"a": 1}') == ("", False)
    (fault, path, key, headers, body), second = listener.requests
    assert (fault, path, key, body) == (200, "/hook", '"k1"', '{"a": 1}')
    assert headers["Content-Type"] == "application/json" and headers["Authorization"] is None
    assert second[3]["Authorization"] == f"Bearer {SECRET}"


def test_alertmanager_gets_its_own_path():
    with listening() as listener:
        receivers.post(Receiver("a", "alertmanager", f"{listener.url}/"), "k", b"[]")
    assert listener.requests[0][1] == "/hook/api/v2/alerts"


@pytest.mark.parametrize(
    ("fault", "why", "is_final"),
    [
        (500, "it answers 500", False), (503, "it answers 503", False), (429, "it answers 429", False),
        (401, "it answers 401", True), (404, "it answers 404", True),
        (302, "it answers 302, a redirection, which is not followed: give its own address", True),
        ("hang", "no answer within", False), ("cut", "no connection: Remote end closed connection", False),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_success_has_a_cause_without_address(monkeypatch, fault, why, is_final):
    monkeypatch.setattr(receivers, "SILENCE_S", 0.5 if fault == "hang" else 60)
    with listening() as listener:
        listener.faults = [fault]
        found = receivers.post(Receiver("a", "slack", f"{listener.url}/{SECRET}"), "k", b"{}")
    assert why in found[0] and found[1] == is_final and SECRET not in found[0]
    assert len(listener.requests) == 1 and not listener.messages


def test_no_receiver_is_a_cause_without_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/{SECRET}"
        assert receivers.post(Receiver("a", "slack", url), "k", b"{}") == ("no connection: Connection refused", False)
    for url in (f"http://no-such-host.invalid/{SECRET}", f"http://x:99999/{SECRET}"):
        why, _ = receivers.post(Receiver("a", "slack", url), "k", b"{}")
        assert why and SECRET not in why


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Return a folder with the certificate of an authority, and those of receivers that it has signed, with keys."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here (Debian: openssl)")
    folder = tmp_path_factory.mktemp("authority")

    def openssl(line):
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True)

    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(f"req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=ca -addext keyUsage=critical,keyCertSign")
    for name, host, days in (
        ("good", "IP:127.0.0.1", 1),
        ("expired", "IP:127.0.0.1", -1),
        ("other", "DNS:x.example", 1),
    ):
        openssl(f"req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}")
        (folder / "extensions").write_text(f"subjectAltName={host}\nauthorityKeyIdentifier=keyid\n")
        openssl(f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -days {days} -extfile extensions -out {name}.pem")
    return folder


@pytest.mark.parametrize(
    ("certificate", "trusted", "why"),
    [
        ("good", "ca.pem", ""),
        ("good", None, "its certificate is refused: unable to get local issuer certificate; set REQUESTS_CA_BUNDLE to "
                       "a file with the certificate of the authority that signed it"),
        ("expired", "ca.pem", "its certificate is refused: certificate has expired"),
        ("other", "ca.pem", "its certificate is refused: IP address mismatch, certificate is not valid for "
                            "'127.0.0.1'"),
        ("good", "none.pem", "no connection: Could not find a suitable TLS CA certificate bundle, invalid path: "),
        ("good", "ca.key", "the file that REQUESTS_CA_BUNDLE names has no certificate"),
    ],
)  # fmt: skip
def test_certificates_are_taken_from_trusted_authorities_only(authority, monkeypatch, certificate, trusted, why):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    if trusted:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority / trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / f"{certificate}.pem", authority / f"{certificate}.key")
    with listening(tls=context) as listener:
        url = f"{listener.url}/{SECRET}"
        found, is_final = receivers.post(Receiver("a", "json", url, SECRET), "k", b"{}")
    assert not is_final and found == (f"{why}{authority / trusted}" if why.endswith(": ") else why)
    assert len(listener.messages) == (not why)

# SPDX-License-Identifier: BSD-3-Clause
"""Addresses and credentials: what is secret is asked for late and shown never."""

import base64
import os

import pytest

from fabric_checks.errors import RecordError
from fabric_checks.results.perflogs import address
from fabric_checks.results.perflogs.fragments import fragment
from fabric_checks.results.perflogs.stores import store_of
from tests.perflogs_templates.examples import record
from tests.perflogs_templates.stand_in import always


@pytest.fixture(autouse=True)
def nothing_taken(monkeypatch):
    monkeypatch.setattr(address, "_taken", {})


def test_the_environment_goes_before_the_file_of_a_system(monkeypatch):
    def used():
        return fragment("opensearch", url="https://a.example:9200")["handlers_perflog"][0]["settings"]["url"]

    assert used() == "https://a.example:9200"
    monkeypatch.setenv("FABRIC_OPENSEARCH_URL", "http://b.example/path")
    assert used() == "http://b.example/path"
    assert address.url_of("opensearch") == "http://b.example/path"
    assert address.url_of("opensearch", "https://command.line") == "https://command.line"


@pytest.mark.parametrize(
    "url",
    ["https://u:hunter2@a.example", "https://hunter2@a.example", "http://a/?token=hunter2", "http://a/#hunter2"],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(url):
    with pytest.raises(RecordError, match="FABRIC_OPENSEARCH_CREDENTIALS") as refused:
        address.url_of("opensearch", url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", [None, "", "a.example:9200", "ftp://a.example", "http://", "http://a:port", "http://a b"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(RecordError, match="FABRIC_OPENSEARCH_URL"):
        address.url_of("opensearch", url)


BASIC = "Basic " + base64.b64encode(b"me:hunter2").decode()


@pytest.mark.parametrize(
    ("line", "header"), [("me:hunter2\n", BASIC), ("Bearer abc", "Bearer abc"), ("ApiKey abc=", "ApiKey abc=")]
)
def test_a_file_of_credentials_becomes_a_header(tmp_path, monkeypatch, line, header):
    file = tmp_path / "credentials"
    file.write_text(line)
    file.chmod(0o600)
    monkeypatch.setenv("FABRIC_VICTORIAMETRICS_CREDENTIALS", str(file))
    with always(204) as server:
        store_of("victoriametrics", server.url).send([record()])
    assert server.requests[0][2]["Authorization"] == header


def test_a_file_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "credentials"
    file.write_text("me:hunter2")
    file.chmod(0o640)
    with pytest.raises(RecordError, match=f"^{file}: others may read these credentials; chmod 600"):
        store_of("victoriametrics", "http://a", credentials=str(file))


@pytest.mark.parametrize("content", [b"hunter2", b"", b"Bearer a\nhunter2", b"me:hun\x00ter2", b"\xff\xfe"])
def test_what_are_no_credentials_is_refused_and_not_repeated(tmp_path, content):
    file = tmp_path / "credentials"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(RecordError, match=f"^{file}: ") as refused:
        address.authorization_of("opensearch", str(file))()
    assert "hunter2" not in str(refused.value) and "hun" not in str(refused.value).replace(str(file), "")


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(RecordError, match="No such file or directory; it is to hold the credentials"):
        address.authorization_of("opensearch", str(tmp_path / "nothing"))


def test_credentials_of_the_environment_are_taken_out_of_it(monkeypatch):
    """Jobs inherit the environment, and batch systems store it."""
    monkeypatch.setenv("FABRIC_OPENSEARCH_AUTHORIZATION", "me:hunter2")
    first = address.authorization_of("opensearch")
    assert "FABRIC_OPENSEARCH_AUTHORIZATION" not in os.environ
    # ReFrame makes its handlers more than once.
    assert first() == address.authorization_of("opensearch")() == BASIC

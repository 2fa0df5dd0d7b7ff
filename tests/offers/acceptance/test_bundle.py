# SPDX-License-Identifier: BSD-3-Clause
"""A bundle with clauses, ledger and signed document: its verdict is repeated, and no part of it can be
changed."""

import json
from unittest import mock

import pytest

from fabric_checks.core.errors import FabricError, RecordError
from fabric_offers.acceptance import session_records
from fabric_offers.acceptance.session_records import PACKED
from tests.builders import write_session
from tests.offers import offers
from tests.offers.acceptance.made import contract
from tests.offers.acceptance.test_accept import LATENCY, LOCAL, accept, keys

pytestmark = pytest.mark.long
SIGNATURE = f"{PACKED['verdict']}.seller.sig"


@pytest.fixture(scope="module")
def acceptance(tmp_path_factory):
    """Return the files of a bundle with a signed acceptance, and who may sign."""
    folder = tmp_path_factory.mktemp("acceptance")
    given = contract(folder, LATENCY, **LOCAL).path
    signers = keys(folder)
    target = folder / "v.html"
    members, results = offers.parts()[1], folder / "results"
    for name, content in members.items():
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_bytes(content)
    sessions = {
        each["session"] for lines in offers.records(members).values() for each in lines
    }
    for number, session in enumerate(sorted(sessions)):
        write_session(results, [], session=session, number=number)
    reports = {
        f"reports/{path.name}": path.read_bytes()
        for path in (results / "reports").iterdir()
    }
    assert accept("verdict", given, target, results)[0] == 0
    for role in session_records.ROLES:
        accept("sign", target, "--as", role, "--key", folder / role)
    packed = session_records.packed(given, results, target)
    return {
        **members,
        **reports,
        **{name: path.read_bytes() for name, path in packed.items()},
    }, signers


def checked(tmp_path, known, files, signers, *words):
    """Pack files and return the status and the text of a check of the bundle alone."""
    path = tmp_path / "oak.tar"
    offers.bundle_file.write(path, offers.parts()[0], files)
    with mock.patch.object(session_records.recomputation, "recompute", known):
        return accept("check", path, "--signers", signers, *words)


#: What is wrong with any part of an acceptance.
CAUSES = (
    "has not signed it",
    "not a signature",
    "other clauses",
    "its count of sessions",
    "its records are not",
    "its verdict is not",
    "never counted",
    "the ledger was changed",
    "its clauses are not those",
)


def test_the_verdict_is_repeated_from_the_bundle_alone(tmp_path, acceptance, known):
    files, signers = acceptance
    _, text = checked(tmp_path, known, files, signers)
    assert "signed by the seller: Good" in text
    assert "signed by the buyer: Good" in text
    assert "met" in text
    assert not [cause for cause in CAUSES if cause in text]


def changed(files, name, one, other):
    assert one in files[name]
    return {**files, name: files[name].replace(one, other)}


def without(files, left_out):
    return {name: content for name, content in files.items() if name != left_out}


def counted_anew(files):
    """Return files with a ledger that follows from the records, but was begun later."""
    entry = {
        **json.loads(files[PACKED["ledger"]]),
        "counted": "2030-01-01T00:00:00+00:00",
    }
    return {**files, PACKED["ledger"]: (json.dumps(entry) + "\n").encode()}


@pytest.mark.parametrize(
    "change, cause",
    [
        (
            lambda files: changed(files, PACKED["clauses"], b"good: 50", b"good: 51"),
            "it is about other clauses",
        ),
        (
            lambda files: changed(
                files, PACKED["ledger"], b'"before": ""', b'"before": "0"'
            ),
            "the ledger was changed",
        ),
        (
            lambda files: changed(
                files, PACKED["ledger"], b'"sha256": "', b'"sha256": "0'
            ),
            "its records are not those",
        ),
        (counted_anew, "its count of sessions does not end with the last line"),
        (lambda files: {**files, PACKED["ledger"]: b""}, "was never counted"),
        (
            lambda files: without(files, PACKED["ledger"]),
            "its count of sessions does not end with the last line",
        ),
        (
            lambda files: changed(files, PACKED["verdict"], b"<h1", b"<h1 "),
            "not a signature of the seller",
        ),
        (
            lambda files: changed(
                files, PACKED["verdict"], b'"verdict met"', b'"verdict open"'
            ),
            "its verdict is not met",
        ),
        (
            lambda files: {
                **files,
                SIGNATURE: files[SIGNATURE.replace("seller", "buyer")],
            },
            "not a signature of the s",
        ),
        (lambda files: without(files, SIGNATURE), "the seller has not signed"),
    ],
)
def test_a_changed_part_of_an_acceptance_is_named(
    tmp_path, acceptance, known, change, cause
):
    files, signers = acceptance
    code, text = checked(tmp_path, known, change(files), signers)
    assert (code, cause in text) == (3, True), text


def test_ones_own_copies_are_compared_with_the_bundle(tmp_path, acceptance, known):
    files, signers = acceptance
    own = contract(tmp_path, {**LATENCY, "good": 49}, **LOCAL).path
    assert (
        "its clauses are not those of"
        in checked(tmp_path, known, files, signers, "--clauses", own)[1]
    )


def test_a_bundle_without_clauses_is_refused(tmp_path, known):
    with (
        mock.patch.object(session_records.recomputation, "recompute", known),
        pytest.raises(FabricError, match="it has no clauses; pack it with --clauses"),
    ):
        accept("check", offers.OFFER)


def test_what_is_to_be_packed_has_to_be_there(tmp_path):
    given = contract(tmp_path, LATENCY, **LOCAL).path
    with pytest.raises(
        RecordError, match="the ledger is not there; `accept status` writes it"
    ):
        session_records.packed(given, tmp_path, None)

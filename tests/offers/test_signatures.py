# SPDX-License-Identifier: BSD-3-Clause
"""Signatures by ssh-keygen: who signed, and what is none."""

import shutil
import subprocess

import pytest

from fabric_checks.core.errors import FabricError
from fabric_offers import bundle_file, offer_check, signatures

pytestmark = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="there is no ssh-keygen, which signs"
)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Return two keys, and a file that allows the first one."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("vendor", "other"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name],
            check=True,
        )
    public = (folder / "vendor.pub").read_text().split()
    (folder / "signers").write_text(f"vendor@oak.example {public[0]} {public[1]}\n")
    return folder / "vendor", folder / "other", folder / "signers"


def request(path, key):
    """Write a bundle that is sent out, signed with a key or not."""
    sign = key and (lambda text: signatures.signature(text, key))
    bundle_file.write(path, {"kind": bundle_file.REQUEST}, {"RULES.md": b"rules"}, sign)
    return path


def test_the_signer_is_named(keys, tmp_path):
    vendor, other, signers = keys
    found = offer_check.check_request(request(tmp_path / "a.tar", vendor), signers)
    assert not found.objections and "vendor@oak.example" in found.notes[0]
    for key in (other, None):
        (objection,) = offer_check.check_request(
            request(tmp_path / "b.tar", key), signers
        ).objections
        assert objection.kind == "signature"
    # Without a list of signers any key is a signature, and none is no fault; both are noted.
    assert (
        "SHA256:"
        in offer_check.check_request(request(tmp_path / "c.tar", other)).notes[0]
    )
    assert (
        "not signed"
        in offer_check.check_request(request(tmp_path / "d.tar", None)).notes[0]
    )


def test_a_signature_of_something_else_is_none(keys):
    vendor, _, signers = keys
    signed = signatures.signature(b"one", vendor)
    assert signatures.verify(b"one", signed, signers)[0]
    for text, signature in (
        (b"two", signed),
        (b"one", signed[:-40]),
        (b"one", b""),
        (b"one", b"\0" * 99),
    ):
        assert not signatures.verify(text, signature, signers)[0]
        assert not signatures.verify(text, signature, None)[0]


def test_a_key_that_cannot_sign_is_named(tmp_path, keys):
    with pytest.raises(FabricError, match="it cannot be used to sign"):
        signatures.signature(b"", tmp_path / "nothing")
    with pytest.raises(FabricError, match="there is no such file"):
        signatures.verify(b"", b"", tmp_path / "nothing")

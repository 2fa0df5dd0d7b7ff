# SPDX-License-Identifier: BSD-3-Clause
"""Sign manifests and verify signatures by ssh-keygen, with the key that somebody logs in with."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from fabric_checks.core.errors import FabricError, quoted

#: The namespace of the signatures: one that was made for another purpose does not verify.
NAMESPACE = "fabric-checks-bundle"
_LONGEST_S = 60


def signature(text: bytes, key: Path) -> bytes:
    """Return the signature of a text.

    :param key: a private key, or the public one of a key that an agent holds.
    :raises FabricError: if it cannot be signed with it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest"
        path.write_bytes(text)
        done = _run(
            ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path)],
            b"",
        )
        if done.returncode:
            raise FabricError(f"{key}: it cannot be used to sign: {_last_line(done)}")
        return path.with_suffix(".sig").read_bytes()


def verify(text: bytes, signed: bytes, signers: Path | None) -> tuple[bool, str]:
    """Return whether a signature is one of a text, and who made it, or else the cause in words.

    :param signers: a file of allowed signers, see ssh-keygen(1); without it any key will do.
    :raises FabricError: if there is no ssh-keygen, or no such file.
    """
    if signers is not None and not signers.is_file():
        raise FabricError(
            f"{signers}: there is no such file; its lines have the form `NAME ssh-ed25519 KEY`"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.sig"
        path.write_bytes(signed)
        base, signed_by = ["ssh-keygen", "-Y"], ["-n", NAMESPACE, "-s", str(path)]
        if signers is None:
            command = [*base, "check-novalidate", *signed_by]
        else:
            known = ["-f", str(signers)]
            found = _run([*base, "find-principals", *known, "-s", str(path)], text)
            names = found.stdout.decode(errors="replace").split()
            if found.returncode or not names:
                return False, f"the key belongs to nobody in {signers}"
            command = [*base, "verify", *known, "-I", names[0], *signed_by]
        done = _run(command, text)
        return done.returncode == 0, _last_line(done)


def _run(command: list[str], text: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, input=text, capture_output=True, check=False, timeout=_LONGEST_S
        )
    except FileNotFoundError:
        raise FabricError(
            "ssh-keygen, which signs and verifies, is missing; install OpenSSH's client"
        ) from None
    except subprocess.TimeoutExpired:
        raise FabricError(
            "ssh-keygen did not end; is it waiting for a passphrase? Put the key into ssh-agent"
        ) from None


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()
    return (
        quoted(lines[-1], 200)[1:-1]
        if lines
        else f"ssh-keygen ended with status {done.returncode}"
    )

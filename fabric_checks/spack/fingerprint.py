# SPDX-License-Identifier: BSD-3-Clause
"""Tell whether anything that a concretization depends on has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from fabric_checks.spack.scopes import files, included


def fingerprint(environment: Path, variables: Mapping[str, str], extra: Iterable[str] = ()) -> str:
    """Return a SHA-256, in hexadecimal, of an environment's ``spack.yaml`` and of all scopes that it includes.

    The same content gives the same value wherever the folders are, so a copy in a stage folder will do; scopes that
    change places give another. The lock and ``.spack-env`` are results and do not count.

    :param environment: the folder with ``spack.yaml``.
    :param variables: those that ``path_override_env_var`` looks in, usually ``os.environ``.
    :param extra: what else decides, such as the release of Spack and the commit of the package repository.
    :raises SpackError: if a scope is missing or is no YAML.
    """
    digest = hashlib.sha256()
    scopes = included(environment, variables)
    parts = [(environment / "spack.yaml").read_bytes()]
    for scope in scopes:
        parts.append(b"scope")
        for file in files(scope):
            parts += [file.name.encode(), file.read_bytes()]
    parts += [text.encode() for text in extra]
    for part in parts:
        # The length before each part: the same bytes, divided otherwise, are another input.
        digest.update(f"{len(part)}:".encode() + part)
    return digest.hexdigest()

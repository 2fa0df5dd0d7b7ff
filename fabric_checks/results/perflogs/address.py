# SPDX-License-Identifier: BSD-3-Clause
"""The address of a store, and what it asks for to be let in.

For a store ``opensearch``: FABRIC_OPENSEARCH_URL is its address. FABRIC_OPENSEARCH_CREDENTIALS is the path of a file,
readable by its owner only, with one line: ``user:password``, or the header itself, as in ``Bearer TOKEN``.
FABRIC_OPENSEARCH_AUTHORIZATION has that line itself; it is taken out of the environment, so that no job gets it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from fabric_checks.errors import RecordError

#: Schemes of the header; a line that starts with one is sent as it is.
SCHEMES = ("Basic ", "Bearer ", "ApiKey ")

_taken: dict[str, str] = {}


def variable(store: str, what: str) -> str:
    """Return the name of an environment variable, as in ``FABRIC_OPENSEARCH_URL``."""
    return f"FABRIC_{store.upper()}_{what}"


def url_of(store: str, given: str | None = None) -> str:
    """Return the address of a store: the one given, or else that of the environment.

    :raises RecordError: if there is none, or it is not of the form ``http[s]://host[:port][/path]``.
    """
    name = variable(store, "URL")
    url = given or os.environ.get(name)
    if not url:
        raise RecordError(f"{store}: no address; set {name}, or give the fragment a url")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise RecordError(f"{store}: the address is not a URL ({error}); see {name}") from None
    if parts.username is not None or parts.query or parts.fragment:
        # It is not shown: it may hold a password.
        raise RecordError(
            f"{store}: the address has a user, a query or a fragment, and addresses are logged; give scheme, host, "
            f"port and path only, and what is secret in the file of {variable(store, 'CREDENTIALS')}"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise RecordError(f"{store}: {url!r} is not http[s]://host[:port][/path]; see {name}")
    return url.rstrip("/")


def authorization_of(store: str, credentials: str | None = None) -> Callable[[], str | None]:
    """Return a function that returns the header ``Authorization``, or None if the store asks for none.

    The line is read when it is needed, so that neither a configuration nor a command line holds it.

    :param credentials: the path of the file; without it, that of the environment.
    :raises RecordError: if there is a file that others may read, or that cannot be read.
    """
    name = variable(store, "AUTHORIZATION")
    if name in os.environ:
        _taken[store] = os.environ.pop(name)
    file = credentials or os.environ.get(variable(store, "CREDENTIALS"))
    if file is not None:
        _line_of(Path(file))

    def authorization() -> str | None:
        if store in _taken:
            return _header(_taken[store], name)
        return None if file is None else _header(_line_of(Path(file)), file)

    return authorization


def _line_of(path: Path) -> str:
    try:
        if path.stat().st_mode & 0o077:
            raise RecordError(f"{path}: others may read these credentials; chmod 600 {path}")
        return path.read_text().strip()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not text"
        raise RecordError(f"{path}: {why}; it is to hold the credentials") from None


def _header(line: str, place: str) -> str:
    """Return the header for a line; a message never shows the line."""
    line = line.strip()
    if line.startswith(SCHEMES) and line.isascii() and line.isprintable():
        return line
    if ":" in line and line.isprintable():
        return "Basic " + base64.b64encode(line.encode()).decode()
    raise RecordError(f"{place}: is to be one line, user:password or one that starts with {', '.join(SCHEMES)}")

# SPDX-License-Identifier: BSD-3-Clause
"""Requests to a store, with an end to waiting, and what their failures mean."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from fabric_checks.errors import RecordError
from fabric_checks.text import printable

#: As much of an answer as is read, in bytes.
ANSWER_LIMIT_B = 32 * 1024**2

#: Answers of a store that may take the same request later: a time-out, too many requests, and its own errors.
LATER = (408, 425, 429)


class TryLater(RecordError):
    """The store did not take the records now, and may later: it is down, slow, or busy."""


class Refused(RecordError):
    """The store will not take these records.

    :param cause: what it says; :param records: how many of them it is about, None if all.
    :param status: the status of its answer, None if that is not what was wrong.
    """

    def __init__(self, cause: str, records: int | None = None, status: int | None = None) -> None:
        super().__init__(cause)
        self.records = records
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follow nothing: the credentials are for one address."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True)
class Connection:
    """Where a store is and what it is told to be let in.

    :param url: scheme, host, port and path, and nothing else: it is printed and logged.
    :param authorization: returns the value of the header of that name, or None.
    :param timeout_s: how long a connection, and any pause in an answer, may take.
    """

    url: str
    authorization: Callable[[], str | None] = lambda: None
    timeout_s: float = 30.0

    def request(self, method: str, path: str, body: bytes | None = None, content_type: str = "text/plain") -> bytes:
        """Make a request and return the answer.

        :param path: is put behind the URL.
        :raises TryLater: if there is no answer, or one of those that ask for another try.
        :raises Refused: at any other answer than success, with what the store says.
        """
        headers = {"Content-Type": content_type, "User-Agent": "fabric-checks"}
        if authorization := self.authorization():
            headers["Authorization"] = authorization
        request = urllib.request.Request(self.url.rstrip("/") + path, body, headers, method=method)
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=self.timeout_s) as answer:
                text: bytes = answer.read(ANSWER_LIMIT_B)
                return text
        except urllib.error.HTTPError as error:
            said = _said(error)
            if error.code in LATER or error.code >= 500:
                raise TryLater(f"it answers {error.code}{said}") from None
            if 300 <= error.code < 400:
                raise Refused(
                    f"it answers {error.code} and sends to another address; give that one", status=error.code
                ) from None
            raise Refused(f"it answers {error.code}{said}", status=error.code) from None
        except urllib.error.URLError as error:
            reason = error.reason
            raise TryLater((reason.strerror if isinstance(reason, OSError) else None) or str(reason)) from None
        except TimeoutError:
            raise TryLater(f"no answer within {self.timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise TryLater(f"the connection broke: {printable(str(error) or type(error).__name__)}") from None


def _said(error: urllib.error.HTTPError) -> str:
    """Return the first words of a store about what was wrong."""
    try:
        said = error.read(2000).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return ""
    line = printable(" ".join(said.split()))[:200]
    return f": {line}" if line else ""

# SPDX-License-Identifier: BSD-3-Clause
"""Receivers of messages: their file, their secrets, and one request to one of them.

A small sender over requests, and no library of notifications such as Apprise: those render a message anew for each
try, send it at once, and have neither a key by which a receiver knows a repetition nor Alertmanager's form.
"""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from urllib.parse import urlsplit

import requests

from fabric_checks.core import files, yaml_file
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import name_is_sound

#: The forms of messages, see :mod:`fabric_checks.nightly.wall.messages`.
FORMS = ("json", "slack", "mattermost", "alertmanager")
#: Forms whose address is itself the secret.
_SECRET_ADDRESSES = ("slack", "mattermost")
#: How long a connection may take, and a whole request; requests limits only the wait for each packet.
CONNECT_S, REQUEST_S = 10.0, 30.0
#: Answers after which the same message may well be taken later: busy, or not ready.
_LATER = (408, 409, 425, 429)


class SecretError(FabricError):
    """A secret that cannot be used; the text names its file and never the secret."""


@dataclass(frozen=True)
class Receiver:
    """A receiver of messages.

    :param form: one of :data:`FORMS`; :param url: its address, unless ``url_file`` has it.
    :param token_file: the file with the token that it expects as ``Authorization: Bearer``.
    """

    name: str
    form: str
    url: str = ""
    url_file: str = ""
    token_file: str = ""

    def address(self) -> str:
        """Return the address of its requests.

        :raises SecretError: if there is none.
        """
        address = _secret(Path(self.url_file)) if self.url_file else self.url
        if not _is_address(address):
            raise SecretError(f"{self.url_file or self.name}: not an address that begins with https:// or http://")
        return address.rstrip("/") + "/api/v2/alerts" if self.form == "alertmanager" else address


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of brackets or a port that are none
        return False


def read(path: Path) -> list[Receiver]:
    """Return the receivers of a file, and require that their secrets can be read.

    :raises FabricError: if it cannot be used; the text names the file, the receiver, the cause and the remedy.
    """
    try:
        data = yaml_file.load(path)
    except yaml_file.YamlError as error:
        raise FabricError(f"{error}; perflogs-templates/receivers.yaml is an example") from None
    if not isinstance(data, dict) or not data:
        raise FabricError(
            f"{path}: no receivers; give each a name, a form and a url: perflogs-templates/receivers.yaml"
        )
    return [_receiver(path, str(name), fields) for name, fields in data.items()]


def _receiver(path: Path, name: str, fields: object) -> Receiver:
    where = f"{path}: receiver {quoted(name)}"
    if not name_is_sound(name):
        raise FabricError(f"{where}: not a name: use letters, digits, . _ and -")
    known = ("form", "url", "url_file", "token_file")
    if not isinstance(fields, dict) or any(key not in known or not isinstance(fields[key], str) for key in fields):
        raise FabricError(f"{where}: it has texts named {', '.join(known)}, and nothing else")
    receiver = Receiver(name, **{"form": "json", **fields})
    if receiver.form not in FORMS:
        raise FabricError(f"{where}: the form {quoted(receiver.form)} is unknown; use one of {', '.join(FORMS)}")
    if bool(receiver.url) == bool(receiver.url_file):
        raise FabricError(f"{where}: give either url or url_file")
    if receiver.url and (receiver.form in _SECRET_ADDRESSES or re.match(r"\w+://[^/?#]*@", receiver.url)):
        raise FabricError(
            f"{where}: its address is a secret: put it into a file that only you can read, and name it in url_file"
        )
    try:
        receiver.address()
        _ = receiver.token_file and _secret(Path(receiver.token_file))
    except SecretError as error:
        raise FabricError(f"{where}: {error}") from None
    return receiver


def _secret(path: Path) -> str:
    """Return the secret that a file has.

    :raises SecretError: if others can read it, or it is no single word.
    """
    try:
        is_open = stat.S_IMODE(path.stat().st_mode) & 0o077
        text = files.read_text(path, largest_B=2**16).strip()
    except OSError as error:
        raise SecretError(f"{path}: {error.strerror}") from None
    if is_open:
        raise SecretError(f"{path}: other users can read this secret; chmod 600 {path}")
    if not text or not (text.isascii() and text.isprintable()) or " " in text:
        raise SecretError(f"{path}: a secret is one word of ASCII, and nothing else is in its file")
    return text


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    :param why: why the message was not taken, in words without addresses; empty if it was.
    :param is_final: whether the same message will not be taken later either, unless something is changed.
    """

    why: str = ""
    is_final: bool = False


def post(receiver: Receiver, key: str, body: str) -> Answer:
    """Send a message, and return the answer.

    :param key: by which the receiver knows a repetition: the header ``Idempotency-Key`` of the IETF's draft
        draft-ietf-httpapi-idempotency-key-header.
    """
    answers: Queue[Answer] = Queue()
    # A receiver that sends its answer letter by letter would hold the night for hours.
    Thread(target=lambda: answers.put(_posted(receiver, key, body)), daemon=True).start()
    try:
        return answers.get(timeout=REQUEST_S + 1)
    except Empty:
        return Answer(f"no answer within {REQUEST_S:.0f} s")


def _posted(receiver: Receiver, key: str, body: str) -> Answer:
    headers = {"Content-Type": "application/json", "Idempotency-Key": f'"{key}"', "User-Agent": "fabric-checks"}
    try:
        if receiver.token_file:
            headers["Authorization"] = f"Bearer {_secret(Path(receiver.token_file))}"
        with requests.post(
            receiver.address(), data=body.encode(), headers=headers, timeout=(CONNECT_S, REQUEST_S), stream=True,
            allow_redirects=False,  # the secrets are for this address
            auth=lambda request: request,  # else one of ~/.netrc would take the place of the token
        ) as answer:  # fmt: skip
            return _judged(answer.status_code)
    except SecretError as error:
        return Answer(str(error), is_final=True)
    except requests.exceptions.SSLError:
        return Answer("its certificate is not accepted", is_final=True)
    except requests.exceptions.ConnectTimeout:
        return Answer(f"no connection within {CONNECT_S:.0f} s")
    except requests.exceptions.ReadTimeout:
        return Answer(f"no answer within {REQUEST_S:.0f} s")
    except (requests.exceptions.RequestException, OSError, ValueError) as error:
        return Answer(_cause(error))


def _judged(status: int) -> Answer:
    if 200 <= status < 300:
        return Answer()
    if 300 <= status < 400:
        return Answer(f"it answers {status}, a redirection, which is not followed: give its own address", is_final=True)
    return Answer(f"it answers {status}", is_final=status < 500 and status not in _LATER)


def _cause(error: BaseException) -> str:
    """Return why there is no connection: the texts of requests have the address, which may be a secret."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, requests.RequestException):
            return f"no connection: {cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    return f"the connection was cut ({type(error).__name__})"

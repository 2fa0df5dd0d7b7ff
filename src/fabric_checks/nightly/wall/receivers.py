# SPDX-License-Identifier: BSD-3-Clause
"""Receivers of messages: their file, and one request to one of them.

A small sender over requests, and no library of notifications such as Apprise: those render a message anew for each
try, send it at once, and have neither a key by which a receiver knows a repetition nor Alertmanager's form.
"""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, fields
from pathlib import Path

import requests

from fabric_checks.core import yaml_file
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import sound_name
from fabric_checks.nightly.wall.messages import FORMS

#: How long a receiver may be silent.
SILENCE_S = 30.0
_TRUST = "set REQUESTS_CA_BUNDLE to a file with the certificate of the authority that signed it"


@dataclass(frozen=True)
class Receiver:
    """A receiver of messages.

    :param form: one of :data:`FORMS`; :param url: its address, that of a chat is a secret.
    :param token: it is sent as ``Authorization: Bearer``, unless it is empty.
    """

    name: str
    form: str = "json"
    url: str = ""
    token: str = ""


def read(path: Path) -> list[Receiver]:
    """Return the receivers of a file, which its owner alone can read.

    :raises FabricError: if it cannot be used; the text names the file, the receiver, the cause and the remedy.
    """
    try:
        data = yaml_file.load(path)
    except yaml_file.YamlError as error:
        cause = re.sub("(not valid YAML): .*", r"\1", str(error))  # it may quote a secret
        raise FabricError(f"{cause}; perflogs-templates/receivers.yaml is an example") from None
    if path.stat().st_mode & 0o077:
        raise FabricError(f"{path}: other users can read it, and addresses and tokens are secrets; chmod 600 {path}")
    if not isinstance(data, dict) or not data:
        raise FabricError(f"{path}: no receivers; perflogs-templates/receivers.yaml is an example")
    return [_receiver(path, str(name), settings) for name, settings in data.items()]


def _receiver(path: Path, name: str, settings: object) -> Receiver:
    where, known = f"{path}: receiver {quoted(name)}", [each.name for each in fields(Receiver)][1:]
    if not isinstance(settings, dict) or not all(key in known and isinstance(settings[key], str) for key in settings):
        raise FabricError(f"{where}: it has texts named {', '.join(known)}, and nothing else")
    found = Receiver(sound_name(f"{path}: a receiver", name), **settings)
    if found.form not in FORMS:
        raise FabricError(f"{where}: the form {quoted(found.form)} is unknown; use one of {', '.join(FORMS)}")
    if not re.fullmatch(r"https?://([\w.-]+|\[[\da-fA-F:.]+\])(:\d+)?([/?][!-~]*)?", found.url):
        raise FabricError(f"{where}: its url is not https:// or http:// with a host and without a user")
    if not re.fullmatch("[!-~]*", found.token):
        raise FabricError(f"{where}: its token is not one word of ASCII")
    return found


def post(receiver: Receiver, key: str, body: bytes) -> tuple[str, bool]:
    """Send a message; return why it was not taken, and whether it will not be either until something is changed.

    The reason is empty if it was taken, and never has the address.

    :param key: the header ``Idempotency-Key`` (draft-ietf-httpapi-idempotency-key-header), the same in a repetition.
    """
    headers = {"Content-Type": "application/json", "Idempotency-Key": f'"{key}"', "User-Agent": "fabric-checks"}
    if receiver.token:
        headers["Authorization"] = f"Bearer {receiver.token}"
    address = receiver.url.rstrip("/") + "/api/v2/alerts" if receiver.form == "alertmanager" else receiver.url
    try:
        with requests.post(
            address, data=body, headers=headers, timeout=SILENCE_S, stream=True,
            allow_redirects=False,  # the secrets are for this address
            auth=lambda request: request,  # else one of ~/.netrc would take the place of the token
        ) as answer:  # fmt: skip
            status = answer.status_code
    except requests.exceptions.Timeout:
        return f"no answer within {SILENCE_S:.0f} s", False
    except (requests.exceptions.RequestException, OSError, ValueError) as error:
        return _cause(error), False
    if 200 <= status < 300:
        return "", False
    hint = ", a redirection, which is not followed: give its own address" if status < 400 else ""
    return f"it answers {status}{hint}", status < 500 and status not in (408, 425, 429)  # not ready, or busy


def _cause(error: BaseException) -> str:
    """Return why there is no connection: the texts of requests have the address, which may be a secret."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            # Whatever is trusted, one that has expired or is for another name (10, 62, 64 in OpenSSL) is refused.
            remedy = "" if cause.verify_code in (10, 62, 64) else f"; {_TRUST}"
            return f"its certificate is refused: {cause.verify_message.rstrip('.')}{remedy}"
        if isinstance(cause, ssl.SSLError) and cause.library == "X509":
            return "the file that REQUESTS_CA_BUNDLE names has no certificate"
        if isinstance(cause, OSError) and not isinstance(cause, requests.RequestException):
            return f"no connection: {cause.strerror or cause}"
        cause = cause.__cause__ or cause.__context__
    return f"the connection was cut ({type(error).__name__})"

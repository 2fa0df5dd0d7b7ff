# SPDX-License-Identifier: BSD-3-Clause
"""The stores that records can be sent to, by name."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Protocol

from fabric_checks.errors import RecordError, quoted
from fabric_checks.results.perflogs.address import authorization_of, url_of
from fabric_checks.results.perflogs.connection import Connection
from fabric_checks.results.perflogs.metrics_stores import Prometheus, Pushgateway, VictoriaMetrics
from fabric_checks.results.perflogs.opensearch import OpenSearch

Record = Mapping[str, Any]


class Store(Protocol):
    """What takes records."""

    name: str
    connection: Connection

    def send(self, records: Sequence[Record]) -> None:
        """Send records; it is safe to send them again.

        :raises TryLater: if the store is down or busy (see :mod:`fabric_checks.results.perflogs.connection`).
        :raises Refused: if it does not take them, or some of them.
        """


STORES = {
    "opensearch": OpenSearch,
    "victoriametrics": VictoriaMetrics,
    "prometheus": Prometheus,
    "pushgateway": Pushgateway,
}


#: What stores take beside their connection: the beginning of the names of indices, the path behind the URL.
SETTINGS = ("index", "path")


def store_of(
    name: str, url: str | None = None, credentials: str | None = None, timeout_s: float = 30.0, **settings: str
) -> Store:
    """Return a store.

    :param name: one of :data:`STORES`.
    :param url, credentials: the address, and the path of a file; without them, those of the environment (see
        :mod:`fabric_checks.results.perflogs.address`).
    :param timeout_s: how long a connection, and any pause in an answer, may take.
    :param settings: what else this store takes.
    :raises RecordError: if there is no such store, it does not take these settings, or there is no address.
    """
    if name not in STORES:
        raise RecordError(f"{quoted(name)}: no such store; there are {', '.join(STORES)}")
    connection = Connection(url_of(name, url), authorization_of(name, credentials), timeout_s)
    wrong = sorted(set(settings) - _defaults(name).keys())
    if wrong:
        raise RecordError(f"{name}: takes no {quoted(wrong[0])}; it takes {', '.join(_defaults(name)) or 'nothing'}")
    store: Store = STORES[name](connection, **settings)
    return store


def _defaults(name: str) -> dict[str, object]:
    """Return which of the settings a store takes, and their defaults."""
    return {field.name: field.default for field in fields(STORES[name]) if field.name in SETTINGS}


def command_to_send(name: str, session: str, url: str, credentials: str | None = None, **settings: str) -> str:
    """Return the command that sends a session to this store later; nothing in it is secret."""
    words = ["fabric-checks", "send", name, "--url", url]
    words += [] if credentials is None else ["--credentials", credentials]
    for key, value in settings.items():
        words += [] if value == _defaults(name)[key] else ["--set", f"{key}={value}"]
    return shlex.join([*words, "--session", session])

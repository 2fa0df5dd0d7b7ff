# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks send``: records of the perflog to a store, as when it was down during their session."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from fabric_checks import door

EPILOG = """\b
Examples:
  fabric-checks send opensearch                      the latest session
  fabric-checks send victoriametrics --all           everything there is, as to a new store
  fabric-checks send prometheus --session 20261101T020000Z-1a2b

The address is in FABRIC_STORE_URL, as in FABRIC_OPENSEARCH_URL. The file of credentials has one line, user:password
or the header itself (Bearer TOKEN), and is readable by its owner only. What is sent twice is there once."""

STORES = ("opensearch", "victoriametrics", "prometheus", "pushgateway")
SETTINGS = ("index", "path")


@click.command(epilog=EPILOG)
@click.argument("store", type=click.Choice(STORES))
@click.option("--session", metavar="NAME", help="The session (default: the latest).")
@click.option("--all", "everything", is_flag=True, help="All sessions of the perflog.")
@click.option("--url", help="The address of the store (default: FABRIC_STORE_URL).")
@click.option("--credentials", help="The path of a file (default: FABRIC_STORE_CREDENTIALS).")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the store's fragment.")
@click.option("--results", type=click.Path(path_type=Path), help="The folder of results (default: as ci/run has it).")
@click.option("--json", "as_json", is_flag=True, help="As a JSON object.")
def command(
    *,
    store: str,
    session: str | None,
    everything: bool,
    url: str | None,
    credentials: str | None,
    settings: tuple[str, ...],
    results: Path | None,
    as_json: bool,
) -> None:
    """Send records of the perflog to a store."""
    from fabric_checks.paths import results as default_results  # noqa: PLC0415  (slow to import)
    from fabric_checks.results.perflogs.replay import replay  # noqa: PLC0415  (slow to import)
    from fabric_checks.results.perflogs.stores import store_of  # noqa: PLC0415  (slow to import)

    if session and everything:
        raise click.UsageError("--session and --all exclude each other")
    given: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in SETTINGS:
            raise click.UsageError(
                f"--set {setting}: give it as NAME=VALUE, with one of {', '.join(SETTINGS)} for NAME"
            )
        given[name] = value
    to = store_of(store, url, credentials, **given)
    folder = results or default_results()
    done = replay(to, folder, session, everything)
    door.warn(done.faults)
    if as_json:
        door.json_text(json.dumps(done.as_dict() | {"store": store, "url": to.connection.url}))
    else:
        door.say(f"{done.sent} records of {done.sessions} sessions sent to {to.connection.url}")
    if done.faults:
        sys.exit(1)

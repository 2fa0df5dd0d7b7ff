# SPDX-License-Identifier: BSD-3-Clause
"""The fragment of a store that is sent to over HTTP."""

from __future__ import annotations

import os
from typing import Any

from fabric_checks.results.perflogs.address import variable


def http_fragment(
    name: str, url: str | None, credentials: str | None, timeout_s: float, **settings: Any
) -> dict[str, list[dict[str, Any]]]:
    """Return a fragment that sends records to a store (see :func:`fabric_checks.results.perflogs.stores.store_of`).

    It holds the address, and the path of the credentials, but not these: ReFrame prints configurations. Both are
    checked when ReFrame makes the handler: whoever runs on another system does not need them.
    """
    # Who starts a run may know better than the file of the system.
    url = os.environ.get(variable(name, "URL")) or url
    credentials = os.environ.get(variable(name, "CREDENTIALS")) or credentials
    settings |= {"timeout_s": timeout_s, "url": url, "credentials": credentials}
    return {"handlers_perflog": [{"type": "http", "level": "info", "store": name, "settings": settings}]}

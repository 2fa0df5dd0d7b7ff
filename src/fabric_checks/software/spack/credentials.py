# SPDX-License-Identifier: BSD-3-Clause
"""Addresses may hold a user's token: it goes to Git, and to nothing that is printed or written down."""

from __future__ import annotations

import re
from collections.abc import Mapping

#: `https://TOKEN@host` and `https://USER:TOKEN@host`; the user of `ssh://git@host` is no secret.
USER = re.compile(r"(?<!ssh)(://)[^/\s'\"]+@")
#: `?private_token=TOKEN` and its like.
QUERY = re.compile(r"([?&;][-\w]*(?:token|key|secret|signature|password)[-\w]*=)[^&;\s'\"]+", re.IGNORECASE)


def redacted(text: str) -> str:
    """Return a text with the credentials in its addresses replaced by ``***``."""
    return QUERY.sub(r"\1***", USER.sub(r"\1***@", text))


def without_user(url: str) -> str:
    """Return an address without user and token."""
    return USER.sub(r"\1", url)


def for_git(variables: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the variables by which Git finds the credentials of an address again when it is given without them.

    :param variables: those of the process, which may hold settings of this kind already.
    :param name: the variable that holds the address.
    """
    url = variables.get(name, "")
    if without_user(url) == url:
        return {}
    count = int(variables.get("GIT_CONFIG_COUNT") or 0)
    return {
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": f"url.{url}.insteadOf",
        f"GIT_CONFIG_VALUE_{count}": without_user(url),
    }

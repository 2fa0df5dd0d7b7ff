# SPDX-License-Identifier: BSD-3-Clause
"""Where results are, as a user says it: ``[LABEL=]PATH[@FROM..TO][,FIELD=VALUE ...]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A set of results.

    :param label: what tables call it.
    :param path: a folder of results or of perflogs, a file of JSON lines, an archive, or a database of ReFrame.
    :param since: the first moment, with time zone; :param until: the moment behind the last; None: no limit.
    :param where: values that fields of the records must have, such as ``{"system": "cbc"}``.
    """

    label: str
    path: Path
    since: datetime | None = None
    until: datetime | None = None
    where: Mapping[str, str] = field(default_factory=dict)


def parse(text: str) -> Source:
    """Read what a user says of a set of results.

    :raises RecordError: if it is not of the form above, or a field does not exist.
    """
    raise NotImplementedError(text)

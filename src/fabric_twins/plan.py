# SPDX-License-Identifier: BSD-3-Clause
"""Read a planned cluster and its alternatives.

The file describes a twin (:mod:`fabric_twins.model.description`), and under ``alternatives`` how others differ::

    alternatives:
      - name: 3:1 oversubscribed
        topology: {oversubscription: 3}
      - name: a spine is down
        faults: [{switch: spine-3, fraction: 0}]

In addition to ``name`` an alternative has keys of the description. A section is merged key by key, unless its ``kind``
is another one: then it is replaced, as are values and lists. Null removes a key. The description itself is the first
to be simulated, under the name that the optional ``plan`` gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Twin, describe
from fabric_twins.model.reading import Section, content, top_level
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import with_faults

#: The name of the description itself where the file has no ``plan``.
AS_DESCRIBED = "as described"

#: More than these are no comparison any more.
MOST = 16


@dataclass(frozen=True)
class Alternative:
    """One of the clusters that are compared: its name and the twin that stands for it."""

    name: str
    twin: Twin


def load(file: Path) -> tuple[Alternative, ...]:
    """Read a plan; the first alternative is the description itself.

    :raises TwinError: if there is anything wrong with it: one line with file, key and remedy.
    """
    base = content(file)
    if not isinstance(base, dict):
        return (Alternative(AS_DESCRIBED, describe(top_level(file, base))),)
    top = {key: value for key, value in base.items() if key not in ("plan", "alternatives")}
    own = top_level(file, {key: base[key] for key in ("plan", "alternatives") if key in base})
    first = own.text("plan", default=AS_DESCRIBED)
    found = [Alternative(first, _twin(top_level(file, top)))]
    listed = own.take("alternatives", "a list") if own.optional("alternatives") else []
    if not isinstance(listed, list) or len(listed) >= MOST:
        raise TwinError(f"{own.location('alternatives')}: a list of fewer than {MOST} alternatives is expected here")
    for number, item in enumerate(listed):
        location = f"alternatives[{number}]"
        name, changes = _item(file, location, item)
        if name in [each.name for each in found]:
            raise TwinError(f"{file}: {location}.name: {quoted(name)} is there already; give each its own")
        _require_known(file, location, changes, top)
        try:
            twin = _twin(top_level(file, merged(top, changes)))
        except TwinError as error:
            # The rest of the message names the key, which may be one that the alternative only inherits.
            raise TwinError(f"{file}: {location} ({name}): {str(error).removeprefix(f'{file}: ')}") from None
        found.append(Alternative(name, twin))
    return tuple(found)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a section with its changes.

    >>> merged({"kind": "star", "a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
    {'kind': 'star', 'a': {'b': 3, 'c': 2}}
    """
    result = dict(base)
    for key, value in changes.items():
        old = base.get(key)
        if value is None:
            result.pop(key, None)
        elif (
            isinstance(old, dict)
            and _is_section(old)
            and _is_section(value)
            and value.get("kind", old.get("kind")) == old.get("kind")
        ):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def _is_section(value: Any) -> bool:
    """Return whether it is a section, and neither a value with its source nor a table by message size."""
    return isinstance(value, dict) and "value" not in value and all(isinstance(key, str) for key in value)


def _item(file: Path, location: str, item: object) -> tuple[str, dict[str, Any]]:
    section = Section(file, location, item, None, {})
    name = section.text("name")
    changes = {key: value for key, value in item.items() if key != "name"} if isinstance(item, dict) else {}
    if not changes:
        raise TwinError(f"{file}: {location}: does not differ; write the keys in which it does, such as topology")
    return name, changes


def _require_known(file: Path, location: str, changes: Mapping[str, Any], top: Mapping[str, Any]) -> None:
    """Refuse a change of the keys that all alternatives share."""
    for key in ("name", "values"):
        if key in changes:
            raise TwinError(f"{file}: {location}.{key}: cannot differ; remove it")
    for key, value in changes.items():
        if value is None and key not in top:
            raise TwinError(f"{file}: {location}.{key}: is removed here, but does not exist; remove this line")


def _twin(top: Section) -> Twin:
    """Return the twin, whose faults and routing fit its topology."""
    twin = describe(top)
    routes(with_faults(twin.topology.wiring(), twin.faults), twin.routing)
    return twin

# SPDX-License-Identifier: BSD-3-Clause
"""Read a planned cluster and its alternatives.

The file describes a twin (:mod:`fabric_twins.model.description`), and under ``alternatives`` how others
differ::

    alternatives:
      - name: 3:1 oversubscribed
        topology: {oversubscription: 3}
      - name: a spine is down
        faults: [{switch: spine-3, fraction: 0}]

In addition to ``name`` an alternative has keys of the description. A section is merged key by key, unless its
``kind`` is another one: then it is replaced, as are values and lists. Null removes a key. The description
itself is the first to be simulated, under the name that the optional ``plan`` gives it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fabric_checks.core.errors import quoted
from fabric_checks.core.schema import Text, option, rules
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Twin, describe
from fabric_twins.model.routing import routes
from fabric_twins.model.sourced_yaml import content, convert
from fabric_twins.model.topology import with_faults

#: The name of the description itself where the file has no ``plan``.
AS_DESCRIBED = "as described"

#: More than these are no comparison any more.
MOST = 16


@dataclass(frozen=True, kw_only=True)
class _Plan:
    plan: Text = option("the name of the description itself", AS_DESCRIBED)
    alternatives: Annotated[list[dict[str, Any]], rules(maxItems=MOST - 1)] = option(
        f"fewer than {MOST}, each with a name and keys of the description", make=list
    )


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
        return (Alternative(AS_DESCRIBED, describe(file, base)),)
    own = convert(
        {key: base[key] for key in ("plan", "alternatives") if key in base}, _Plan, file
    )
    top = {
        key: value for key, value in base.items() if key not in ("plan", "alternatives")
    }
    found = [Alternative(own.plan, _twin(file, top))]
    for number, item in enumerate(own.alternatives):
        location = f"{file}: alternatives: {number}"
        taken = [each.name for each in found]
        found.append(_alternative(file, location, top, item, taken))
    return tuple(found)


def _alternative(
    file: Path,
    location: str,
    top: Mapping[str, Any],
    item: Mapping[str, Any],
    taken: Sequence[str],
) -> Alternative:
    """Return the description with the changes of an alternative."""
    changes = {key: value for key, value in item.items() if key != "name"}
    name = _name(location, item.get("name"), taken)
    _require_known(location, changes, top)
    try:
        return Alternative(name, _twin(file, merged(top, changes)))
    except TwinError as error:
        # The rest of the message names the key, which may be one that the alternative only inherits.
        cause = str(error).removeprefix(f"{file}: ")
        raise TwinError(f"{location} ({name}): {cause}") from None


def _name(location: str, name: object, taken: Sequence[str]) -> str:
    """Return the name of an alternative, which no other has."""
    if not isinstance(name, str) or not name.strip():
        raise TwinError(f"{location}: name is missing; give each alternative one")
    if name in taken:
        raise TwinError(
            f"{location}: name: {quoted(name)} is there already; give each its own"
        )
    return name


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
    return (
        isinstance(value, dict)
        and "value" not in value
        and all(isinstance(key, str) for key in value)
    )


def _require_known(
    location: str, changes: Mapping[str, Any], top: Mapping[str, Any]
) -> None:
    """Refuse no change, and one of the keys that all alternatives share."""
    if not changes:
        raise TwinError(
            f"{location}: does not differ; write the keys in which it does, such as topology"
        )
    for key, value in changes.items():
        if key in ("name", "values"):
            raise TwinError(f"{location}: {key}: cannot differ; remove it")
        if value is None and key not in top:
            raise TwinError(
                f"{location}: {key}: is removed here, but does not exist; remove this line"
            )


def _twin(file: Path, data: Any) -> Twin:
    """Return the twin, whose faults and routing fit its topology."""
    twin = describe(file, data)
    routes(with_faults(twin.topology.wiring(), twin.faults), twin.routing)
    return twin

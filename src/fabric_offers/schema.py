# SPDX-License-Identifier: BSD-3-Clause
"""Hold what people write in YAML to a JSON schema, whose titles say in words what is expected."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, FormatChecker, validators

from fabric_checks.core.errors import quoted

_TYPES = Draft7Validator.TYPE_CHECKER
#: Of numbers, those that can be compared: YAML has ``.nan`` and ``.inf`` too.
_FINITE = _TYPES.redefine("number", lambda _, value: _TYPES.is_type(value, "number") and math.isfinite(value))
_Validator = validators.extend(Draft7Validator, type_checker=_FINITE)


@cache
def load(path: Path) -> dict[str, Any]:
    """Read a schema, once a process."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def require(path: Path, value: Any, kind: str) -> None:
    """Raise ValueError, with the place and what is expected, unless a value is as a definition of a schema says."""
    validator = _Validator({**load(path), "$ref": f"#/definitions/{kind}"}, format_checker=FormatChecker())
    error = min(validator.iter_errors(value), key=lambda each: list(map(str, each.absolute_path)), default=None)
    if error is None:
        return
    where = ": ".join(map(str, error.absolute_path))
    at = f"{where}: " if where else ""
    if error.validator == "required":
        raise ValueError(f"{at}{next(key for key in error.validator_value if key not in error.instance)!r} is missing")
    if error.validator == "additionalProperties":
        known = error.schema["properties"]
        raise ValueError(f"{at}unknown key {near(min(map(str, error.instance.keys() - known.keys())), known)}")
    found = f"{where} is {error.instance!r:.60}" if where else f"{error.instance!r:.60}"
    raise ValueError(f"{found}: {error.schema.get('title', error.message)} is expected")


def near(word: str, known: Iterable[str]) -> str:
    """Return a word in quotes, with what it may have been meant to be."""
    found = difflib.get_close_matches(word, known, 1)
    return quoted(word) + (f"; did you mean {found[0]!r}?" if found else "")

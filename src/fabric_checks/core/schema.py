# SPDX-License-Identifier: BSD-3-Clause
"""Hold what a site writes to a type: dataclasses, whose fields say type, bounds and meaning.

    @dataclass(frozen=True, kw_only=True)
    class Extras:
        link_MBps: Positive | None = option("the rate of one link of a node, in 10^6 B/s")

:func:`convert` makes an instance of plain data or names the fault in one line; :func:`json_schema` is the
    type for
editors (docs/schemas). Unknown keys are refused. jsonschema validates, because ReFrame itself depends on it:
a site's own ReFrame runs the checks with nothing else installed.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Collection, Mapping
from datetime import date
from functools import cache
from pathlib import Path, PurePath
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from jsonschema import Draft7Validator, FormatChecker, ValidationError, validators

from fabric_checks.core import yaml_file
from fabric_checks.core.errors import FabricError, quoted

T = TypeVar("T")
Data = dict[str, Any]
Keys = tuple[Any, ...]


def rules(**keywords: Any) -> tuple[tuple[str, Any], ...]:
    """Return keywords of JSON Schema for an annotated type, which has to be hashable."""
    return tuple(keywords.items())


#: Types of fields; a text may be written without quotes, where YAML takes it for a number.
Count = Annotated[int, rules(minimum=1)]
Positive = Annotated[float, rules(exclusiveMinimum=0)]
Text = Annotated[str, rules(type=("string", "number"), pattern=r"\S")]
Pattern = Annotated[
    str, rules(type=("string", "number"), pattern=r"\S", format="regex")
]

_BASIC: dict[Any, Data] = {
    Any: {},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    date: {"type": "string", "format": "date"},
    type(None): {"type": "null"},
}
_WORDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a text",
}
_BOUNDS = {
    "exclusiveMinimum": "above",
    "minimum": "of at least",
    "maximum": "up to",
    "exclusiveMaximum": "below",
}
_FORMATS = {"date": "a date, as in 2026-11-01", "regex": "a regular expression"}

_TYPES = Draft7Validator.TYPE_CHECKER


def _is_finite(_: object, value: object) -> bool:
    """Return whether a value is a number that can be compared: YAML has ``.nan`` and ``.inf`` too."""
    return _TYPES.is_type(value, "number") and math.isfinite(cast("float", value))


_Validator = validators.extend(
    Draft7Validator, type_checker=_TYPES.redefine("number", _is_finite)
)


class SchemaError(FabricError):
    """Something that a site wrote and that cannot be used: place, cause and remedy in one line."""


def option(
    about: str, default: Any = None, *, make: Callable[[], Any] | None = None
) -> Any:
    """Return a field of a dataclass.

    :param about: its meaning, for messages and the JSON Schema. :param make: makes a default that is mutable.
    :param default: ``...`` for a key that is required.
    """
    given: Data = {"default": default}
    if make is not None:
        given = {"default_factory": make}
    elif default is ...:
        given = {}
    return dataclasses.field(metadata={"about": about}, **given)


def json_schema(kind: Any) -> Data:
    """Return the JSON Schema (draft 7) of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _of_dataclass(cast("type", kind))
    if origin is Annotated:
        return json_schema(arguments[0]) | dict(arguments[1])
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (list, tuple):
        return {"type": "array", "items": json_schema(arguments[0])}
    if origin in (Union, UnionType):
        return {"anyOf": list(map(json_schema, arguments))}
    return _of_mapping(*arguments) if origin else dict(_BASIC[kind])


def _of_dataclass(kind: type) -> Data:
    hints = _hints(kind)
    properties, required = {}, []
    for field in dataclasses.fields(kind):
        schema = properties[field.name] = json_schema(hints[field.name])
        if about := field.metadata.get("about"):
            schema["description"] = about
        if field.default is not dataclasses.MISSING:
            if field.default not in (None, (), ""):
                schema["default"] = field.default
        elif field.default_factory is dataclasses.MISSING:
            required.append(field.name)
    return _of_keys(properties) | ({"required": required} if required else {})


def _of_keys(properties: Data) -> Data:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _of_mapping(key: Any, value: Any) -> Data:
    if names := get_args(key):  # of a Literal
        return _of_keys({name: json_schema(value) for name in names})
    return {"type": "object", "additionalProperties": json_schema(value)}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


@cache
def _validator(kind: Any) -> Any:
    return _Validator(
        json_schema(kind), format_checker=FormatChecker(("date", "regex"))
    )


def convert(
    data: Any,
    kind: type[T],
    place: object,
    lines: Callable[[], Mapping[Keys, int]] = dict,
) -> T:
    """Return an instance of a type.

    :param place: where the data stands, such as a file. :param lines: returns the lines of keys in it.
    :raises SchemaError: with the first fault.
    """
    plain = _plain(data)
    found = _fault(plain, kind)
    try:
        if found is None:
            return cast("T", _build(kind, plain, ()))
    except _Refused as error:
        found = error.keys, str(error)
    keys, text = found
    known, parts = lines(), keys
    while parts and parts not in known:
        parts = parts[:-1]
    at = f"{place}:{known[parts]}" if parts else place
    where = ": ".join(map(str, (at, *keys)))
    raise SchemaError(f"{where}{'' if text.startswith(' ') else ': '}{text}")


def read(path: Path, kind: type[T]) -> T:
    """Return the content of a YAML file as an instance of a type.

    :raises SchemaError: with file, line, key, cause and remedy.
    """
    try:
        content = yaml_file.load(path)
    except yaml_file.YamlError as error:
        raise SchemaError(str(error)) from None
    return convert(content, kind, path, lambda: yaml_file.lines(path))


def _fault(data: Any, kind: type) -> tuple[Keys, str] | None:
    """Return the keys and the text of the first fault of plain data, unknown keys first; None without any."""
    errors = sorted(
        _validator(kind).iter_errors(data),
        key=lambda each: (
            each.validator != "additionalProperties",
            *map(str, each.absolute_path),
        ),
    )
    return _described(_innermost(errors[0])) if errors else None


def _innermost(error: ValidationError) -> ValidationError:
    """Return the fault of the alternative that was meant, where there are alternatives."""
    for each in error.context or ():
        if each.path or each.validator not in ("type", "enum"):
            each.schema = {"description": error.schema.get("description")} | each.schema
            return _innermost(each)
    return error


def _described(error: ValidationError) -> tuple[Keys, str]:
    keys, schema = tuple(error.absolute_path), error.schema
    known = schema.get("properties", {})
    if error.validator == "additionalProperties":
        key = next(key for key in error.instance if key not in known)
        return (*keys, key), f"unknown; {near(str(key), known)}"
    if error.validator == "required":
        missing = next(
            key for key in error.validator_value if key not in error.instance
        )
        return keys, f"{missing!r} is missing: {_expected(known[missing])}"
    return keys, f" is {_shown(error.instance)}; give {_expected(schema)}"


def near(word: str, known: Collection[str]) -> str:
    """Return what an unknown word may have been meant to be, or else all words that are known."""
    found = nearest(word, known, 0.6)
    return f"did you mean {found}?" if found else f"known: {', '.join(known)}"


def nearest(word: str, known: Collection[str], cutoff: float) -> str | None:
    """Return the known word that is nearest, whatever the case of letters; None if none is near enough."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(word.lower(), by_lower, 1, cutoff)
    return by_lower[found[0]] if found else None


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value, 60)
    return "null" if value is None else f"{value!r:.60}"


def _expected(schema: Data) -> str:
    about = schema.get("description")
    return f"{_words(schema)}{f' ({about})' if about else ''}"


def _words(schema: Data) -> str:
    """Return what a schema allows, in words."""
    if "anyOf" in schema:
        return " or ".join(
            _words(each) for each in schema["anyOf"] if each != _BASIC[type(None)]
        )
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kinds = schema.get("type", "any value")
    kind = kinds[0] if isinstance(kinds, tuple) else kinds
    text = _FORMATS.get(schema.get("format", ""), _WORDS.get(kind, kind))
    return f"{text}{_members(schema)}{_bounds(schema)}"


def _members(schema: Data) -> str:
    """Return what a list or a mapping holds, in words."""
    if items := schema.get("items"):
        return f", each {_words(items)}"
    values = schema.get("additionalProperties")
    return f" of names to values, each {_words(values)}" if values else ""


def _bounds(schema: Data) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    bounds = [
        f" {word} {schema[key]:g}" for key, word in _BOUNDS.items() if key in schema
    ]
    return "".join(bounds)


def _plain(data: Any) -> Any:
    """Return data of Python or YAML as JSON has it."""
    if isinstance(data, Mapping):
        return {
            key if isinstance(key, str) else str(key): _plain(each)
            for key, each in data.items()
        }
    if isinstance(data, list | tuple):
        return [_plain(each) for each in data]
    if isinstance(data, date):
        return data.isoformat()
    return str(data) if isinstance(data, PurePath) else data


class _Refused(ValueError):
    """What a type itself refuses, with the keys where it stands."""

    def __init__(self, keys: Keys, cause: object) -> None:
        super().__init__(str(cause))
        self.keys = keys


def _build(kind: Any, value: Any, keys: Keys) -> Any:
    """Return valid plain data as a value of a type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if value is None or kind is Any or origin is Literal:
        return value
    if dataclasses.is_dataclass(kind):
        return _instance(cast("type", kind), value, keys)
    if origin is None:
        return date.fromisoformat(value) if kind is date else kind(value)
    return _composed(origin, arguments, value, keys)


def _composed(origin: Any, arguments: tuple[Any, ...], value: Any, keys: Keys) -> Any:
    """Return valid plain data as a value of a type that is made of others."""
    if origin is Annotated:
        return _build(arguments[0], value, keys)
    if origin in (Union, UnionType):
        meant = next(each for each in arguments if _validator(each).is_valid(value))
        return _build(meant, value, keys)
    if origin in (list, tuple):
        items = enumerate(value)
        return origin(_build(arguments[0], each, (*keys, at)) for at, each in items)
    return {
        key: _build(arguments[1], each, (*keys, key)) for key, each in value.items()
    }


def _instance(kind: type, value: Data, keys: Keys) -> Any:
    hints = _hints(kind)
    own = {key: _build(hints[key], each, (*keys, key)) for key, each in value.items()}
    try:
        return kind(**own)
    except ValueError as error:
        raise _Refused(keys, error) from None

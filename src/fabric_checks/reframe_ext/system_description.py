# SPDX-License-Identifier: BSD-3-Clause
"""Describe a system as data, as far as values and job scripts depend on it, to make them again on another
machine.

    python -m fabric_checks.reframe_ext.system_description SYSTEM FILE

writes it as JSON, in a process of its own because ReFrame has one system per process. :func:`configuration`
turns it into a configuration of ReFrame, with which nothing can be run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import reframe.core.runtime as rt
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import ConfigError
from reframe.core.systems import SystemPartition

from fabric_checks.core import extras
from fabric_checks.core.errors import RecordError
from fabric_checks.core.extras import Extras
from fabric_checks.core.paths import name_is_sound
from fabric_checks.core.schema import SchemaError
from fabric_checks.reframe_ext import internals
from fabric_checks.reframe_ext.mixins.layout import gpus_of
from fabric_checks.software import containers

#: The extras of a partition that values and job scripts depend on.
EXTRAS = tuple(
    name
    for name in extras.names(Extras)
    if name not in ("max_pending_time", "host_lock", "others")
)
#: What else of a partition decides the lines of its job scripts, as ReFrame's configuration has it; of these
#: the first are for ReFrame. The others it would expand, which runs what they have in ``$(...)``.
_FOR_REFRAME = ("descr", "access", "resources", "sched_options", "processor")
_LINES = ("prepare_cmds", "modules", "env_vars")
#: The extras of an environment that a description has.
_OF_ENVIRON = ("programs", "without", "blocking_wait", containers.KEY)
#: Braces in the command of a program, other than its placeholders.
_BRACES = re.compile(
    r"\{(?!(?:benchmark|folder)\})[^{}]*\}?|(?<!\{benchmark)(?<!\{folder)\}"
)


def describe(name: str) -> dict[str, Any]:
    """Return the description of a system of this clone's configuration."""
    internals.take_own_system(name)
    system = rt.runtime().system
    environs = {
        environ.name: environ
        for partition in system.partitions
        for environ in partition.environs
    }
    return {
        "name": system.name,
        "descr": system.descr,
        "partitions": list(map(_described, system.partitions)),
        "environments": [
            {
                "name": name,
                "features": list(environ.features),
                **{key: environ.extras.get(key, {}) for key in _OF_ENVIRON},
                **_raw(f"environments/@{name}", _LINES),
            }
            for name, environ in environs.items()
        ],
    }


def _described(partition: SystemPartition) -> dict[str, Any]:
    given, extras = partition.extras, Extras.of(partition)
    own = {key: given[key] for key in EXTRAS if key in given}
    own["cores"] = extras.cores or partition.processor.num_cores
    own["gpus"] = gpus_of(partition)
    keys = ("scheduler", "launcher", *_FOR_REFRAME, *_LINES)
    return {
        **_raw(f"systems/0/partitions/@{partition.name}", keys),
        "name": partition.name,
        "features": list(partition.features),
        "environs": [environ.name for environ in partition.environs],
        "extras": own,
    }


def _raw(path: str, keys: Sequence[str]) -> dict[str, Any]:
    """Return some keys of an object of ReFrame's configuration, those that are set."""
    found = {key: rt.runtime().get_option(f"{path}/{key}") for key in keys}
    return {key: value for key, value in found.items() if value}


def of_case(data: Any, *names: str) -> list[Any]:
    """Return the partition and the environment of these names in a description."""
    kinds = zip((data["partitions"], data["environments"]), names, strict=True)
    return [
        next(each for each in described if each["name"] == name)
        for described, name in kinds
    ]


def site_lines(*described: Any) -> list[str]:
    """Return the lines that a system's file adds to job scripts, as :func:`reframe.core.runtime.loadenv`
    writes them.

    :param described: a partition and an environment of a description, from any site.
    """
    lines = []
    for each in described:
        modules = [
            module if isinstance(module, str) else module["name"]
            for module in each.get("modules", ())
        ]
        pairs = each.get("env_vars", ())
        variables = pairs.items() if isinstance(pairs, Mapping) else pairs
        lines += [
            *each.get("prepare_cmds", ()),
            *(f"module load {name}" for name in modules),
        ]
        lines += [f"export {name}={value}" for name, value in variables]
    return [line for each in lines for line in str(each).split("\n")]


def configuration(data: Any, folder: Path, topology: Path) -> dict[str, Any]:
    """Return a configuration of ReFrame for a description from another site.

    Only known keys of partitions are used, and nothing of it is ever started.

    :param folder: for ReFrame's folders.
    :param topology: the folder of the files that ``topology`` names.
    :raises RecordError: if the description is malformed.
    """
    try:
        # Nothing ran in them, but the references may name them.
        idle = [_name(each) for each in data.get("not_run", ())]
        system = {
            "name": _name(data["name"]),
            "descr": str(data.get("descr") or ""),
            "hostnames": ["no-such-host[.]invalid"],
            "prefix": str(folder),
            "partitions": [
                _partition(each, topology, idle) for each in data["partitions"]
            ],
        }
        environments = [
            *map(_environment, data["environments"]),
            *({"name": name} for name in idle),
        ]
    except (SchemaError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(
            f"the description of the system is malformed ({type(error).__name__}: {error})"
        ) from None
    return {"systems": [system], "environments": environments}


def _partition(
    data: Mapping[str, Any], topology: Path, idle: Sequence[str]
) -> dict[str, Any]:
    given = data["extras"]
    own: dict[str, Any] = {
        key: given[key] for key in EXTRAS if given.get(key) is not None
    }
    extras.parse(Extras, own, "extras")
    if "topology" in given:
        # Files of the bundle; no path leads elsewhere.
        own["topology"] = [
            str(topology / Path(name).name) for name in given["topology"]
        ]
    if "references" in own:
        own["references"] = Path(own["references"]).name
    return {
        **{key: data[key] for key in _FOR_REFRAME if key in data},
        "name": _name(data["name"]),
        **launching(data),
        "environs": [*(_name(each) for each in data["environs"]), *idle],
        "features": list(map(str, data["features"])),
        "extras": own,
    }


def launching(data: Mapping[str, Any]) -> dict[str, str]:
    """Return scheduler and launcher of a described partition; ``local`` for those that are not known here."""
    found = {}
    for key, get in (("scheduler", getscheduler), ("launcher", getlauncher)):
        try:
            get(str(data[key]))
            found[key] = str(data[key])
        except ConfigError:
            found[key] = "local"
    return found


def _environment(data: Mapping[str, Any]) -> dict[str, Any]:
    texts = {
        key: {k: str(v) for k, v in data[key].items()}
        for key in ("without", "blocking_wait")
    }
    inside = {containers.KEY: data[containers.KEY]} if data.get(containers.KEY) else {}
    return {
        "name": _name(data["name"]),
        "features": list(map(str, data["features"])),
        "extras": {
            "programs": {
                suite: _program(each) for suite, each in data["programs"].items()
            },
            **texts,
            **inside,
        },
    }


def _program(data: Mapping[str, Any]) -> dict[str, Any]:
    texts = {
        key: _BRACES.sub("", value.replace("{view}", "/view"))
        for key, value in data.items()
        if isinstance(value, str)
    }
    # There is no Spack build here.
    return {**data, **texts, "stack": "kept", "described_stack": data.get("stack")}


def _name(data: Any) -> str:
    if not isinstance(data, str) or not name_is_sound(data):
        raise ValueError(f"{data!r:.40} is not a name")
    return data


if __name__ == "__main__":
    internals.answer(describe)

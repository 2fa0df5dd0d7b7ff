# SPDX-License-Identifier: BSD-3-Clause
"""Run by a site's own settings of ReFrame: keep the records, and say what the run goes without before it
measures."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError, ReframeFatalError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime
from reframe.core.systems import SystemPartition

from fabric_checks.core import extras
from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext import internals
from fabric_checks.reframe_ext.handlers import PerflogHandler, create_jsonlines_handler
from fabric_checks.reframe_ext.mixins import layout, references
from fabric_checks.reframe_ext.mixins.launches import launch_options
from fabric_checks.reframe_ext.site_configuration import require_room
from fabric_checks.software import containers
from fabric_checks.software.stacks import selected_stack

PAGE = "docs/own-settings.md"
#: For each of ReFrame's schedulers that of this collection.
OURS = {
    "slurm": "fabric-slurm",
    "squeue": "fabric-slurm",
    "pbs": "fabric-pbs",
    "pbspro": "fabric-pbs",
    "flux": "fabric-flux",
    "lsf": "fabric-lsf",
}


def adopt() -> None:
    """Make the current system ready for the checks, before any of them is loaded.

    :raises ConfigError: if none could run there, with what the site has to add.
    """
    try:
        context = runtime()
    except ReframeFatalError:
        return  # no ReFrame runs: another program imports a check
    _adopt(context)


@lru_cache(maxsize=1)  # ReFrame imports the package of the checks under several names
def _adopt(_context: object) -> None:
    try:
        _require_environments()
        _require_subfolders()
        for partition in layout.partitions():
            _require_extras(partition)
            layout.all_layouts_of(partition)
            launch_options(partition, nodes=1, tasks=1, ppn=1)
            for environ in partition.environs:
                containers.of(partition, environ)
        internals.log_results_by(_perflog_handler, PerflogHandler)
    except FabricError as error:
        raise ConfigError(str(error)) from None
    for note in notes():
        getlogger().warning(note)


def _require_extras(partition: SystemPartition) -> None:
    """Refuse extras of a partition or its environments that are not as the checks read them.

    :raises SchemaError: with file, partition or environment, key, cause and remedy.
    """
    files = runtime().site_config.sources[1:]
    is_own = all(ROOT / "config" in Path(file).resolve().parents for file in files)
    own_file = ROOT / "config" / "systems" / f"{runtime().system.name}.py"
    place = own_file if is_own and own_file.exists() else ", ".join(files)
    extras.parse(
        extras.Extras,
        partition.extras,
        f"{place}: {partition.fullname}: extras",
        only_ours=is_own,
    )
    for environ in partition.environs:
        where = f"{place}: environment {environ.name}: extras"
        extras.parse(extras.EnvironExtras, environ.extras, where, only_ours=is_own)


def _require_environments() -> None:
    """Refuse a system on which no check can run: no partition has an environment with an MPI."""
    if layout.partitions():
        return
    for partition in layout.with_mpi():
        raise ConfigError(f"{partition.fullname}: {layout.NO_CORES}")
    system, (_, *files) = runtime().system, runtime().site_config.sources
    if system.name == "generic":  # ReFrame's own, which any host matches
        lack = "ReFrame has its built-in settings only: name yours with -C"
        if files:
            lack = f"no system of {', '.join(files)} matches this host: choose one with --system NAME"
        raise ConfigError(
            f"{lack}, or add -C {ROOT / 'config/settings.py'}, whose 'local' is any host"
        )
    environs = [environ.name for each in system.partitions for environ in each.environs]
    if environs:
        raise ConfigError(
            f"the system {system.name} has no environment with an MPI for the checks: give one of"
            f" {', '.join(dict.fromkeys(environs))} the features 'mpi' and 'mpicc', or choose another"
            f" --system; {PAGE} has the lines"
        )
    of = f" of the stack {stack!r}" if (stack := selected_stack()) else ""
    raise ConfigError(f"the system {system.name} has no environment{of}: {_remedy()}")


def _remedy() -> str:
    """Return what to do about a system without any environment."""
    settings = runtime().site_config
    partitions = settings.get("systems/0/partitions")
    listed = {name for partition in partitions for name in partition["environs"]}
    if not listed:
        return "list one in the `environs` of its partitions, or choose another --stack, --mpi or --system"
    # ReFrame has left out those that do not match.
    patterns = ", ".join(map(quoted, settings.get("general/0/valid_env_names")))
    return f"none that -p {patterns} matches; choose from {', '.join(sorted(listed))}"


def _require_subfolders() -> None:
    """Refuse to load the files of the folder ``checks`` without those of its folders, among which the checks
    are."""
    option = runtime().get_option
    folder = str(ROOT / "checks")
    paths = [
        str(Path(path).resolve()) for path in option("general/0/check_search_path")
    ]
    if folder in paths and not option("general/0/check_search_recursive"):
        raise ConfigError(
            f"the checks are in the folders of {folder}: add -R, or `check_search_recursive` to the settings"
        )


def _perflog_handler() -> PerflogHandler:
    handler: PerflogHandler = create_jsonlines_handler(runtime().site_config, "")
    require_room(handler.basedir)
    getlogger().info(
        f"records: {handler.basedir}; `fabric-checks show {handler.basedir}` prints them"
    )
    return handler


def notes() -> Iterator[str]:
    """Yield what a run on the current system goes without, once for each cause."""
    said = set()
    for partition in layout.with_mpi():
        if partition not in layout.partitions():
            yield f"{partition.fullname} is left out: {layout.NO_CORES}"
            continue
        path, is_recorded_only = references.path_of(runtime().system.name, partition)
        scheduler = partition.scheduler.registered_name
        if path not in said and not path.exists():
            named = f"extras['references'] of {partition.fullname} names it, and its cases fail"
            loss = "values are recorded and not judged" if is_recorded_only else named
            yield f"no references: there is no {path}: {loss}"
        if scheduler in OURS and scheduler not in said:
            yield (
                f"{partition.fullname}: with ReFrame's own {scheduler!r} a failed case does not say why its"
                f" job did; {OURS[scheduler]!r} is for that: see {PAGE}"
            )
        said |= {path, scheduler}


def examined(files: list[str], name: str | None, folder: Path) -> dict[str, Any]:
    """Load the checks on a system of configuration files; nothing is run.

    :param name: the system; None for the one that matches this host.
    :param folder: for ReFrame's files.
    :returns: the ``system`` and the ``files``, the number of ``cases`` by partition with environment and by
        folder of checks, the names of those ``left_out`` by the reason, and ``notes`` of what a run goes
        without.
    :raises ConfigError: if no check could run.
    """
    internals.take_system(files, name, folder)
    adopt()
    _require_references()
    cases: dict[str, Counter[str]] = {}
    for case in internals.load_cases(ROOT / "checks")[0]:
        if not case.check.is_fixture():
            suite = Path(inspect.getfile(type(case.check))).parent.name
            where = f"{case.partition.fullname} with {case.environ.name}"
            cases.setdefault(where, Counter())[suite] += 1
    left_out: dict[str, list[str]] = {}
    for check, reason in layout.LEFT_OUT.items():
        left_out.setdefault(reason, []).append(check)
    return {
        "system": runtime().system.name,
        "files": files,
        "cases": cases,
        "left_out": left_out,
        "notes": [*_missing(), *notes()],
    }


def _require_references() -> None:
    """Refuse a file of references with a fault, which would fail the cases that it is for."""
    from fabric_checks.references import reference_file  # noqa: PLC0415  (a listing needs none)

    for partition in layout.partitions():
        path, _ = references.path_of(runtime().system.name, partition)
        try:
            if path.exists():
                reference_file.load(path)
        except FabricError as error:
            raise ConfigError(str(error)) from None


def _missing() -> Iterator[str]:
    """Yield what the settings lack that some checks need."""
    for partition in runtime().system.partitions:
        if partition not in layout.with_mpi():
            yield f"{partition.fullname} is left out: none of its environments has the feature 'mpi'"
        if partition not in layout.partitions():
            continue
        if foreign := sorted(
            partition.extras.keys() - {*extras.names(extras.Extras), *extras.OF_REFRAME}
        ):
            yield f"{partition.fullname}: extras that no check here reads: {', '.join(foreign)}"

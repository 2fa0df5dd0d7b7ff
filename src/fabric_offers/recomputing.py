# SPDX-License-Identifier: BSD-3-Clause
"""Recompute values from kept outputs, with the checks that measured them and without the machine.

    python -m fabric_offers.recomputing JOB FILE

reads the arguments of :func:`recompute` as JSON and writes its result. Nothing is
started: a check is set up, and reads a folder with the files of its job.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError, SanityError

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext import describing, internals

#: Test, partition and environment of a case.
Key = tuple[str, str, str]


def recompute(system: Any, folder: str, topology: str, level: str, runs: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return the ``cases`` of a level, as lists of test, partition and environ, and the outcome of the ``runs``.

    The outcome of a run is ``values`` and ``units`` by metric, ``facts``, as
    :meth:`fabric_checks.records.record.Facts.as_data` returns them, and ``commands``, the command lines as lists of
    words; or an ``error``.

    :param system: the result of :func:`fabric_checks.reframe_ext.describing.describe`.
    :param folder: for ReFrame's folders; :param topology: the folder of the files that ``topology`` names.
    :param runs: each with ``test``, ``partition`` and ``environ``, as in records, ``files``, the folder with its files,
        and ``group``, which contains all its dependencies.
    :raises RecordError: if the description is malformed.
    :raises ReframeError: if ReFrame cannot use it.
    """
    settings = Path(folder) / "settings.json"
    settings.write_text(json.dumps(describing.configuration(system, Path(folder), Path(topology))))
    internals.take_system([str(settings)], system["name"], Path(folder))
    ordered, _ = internals.load_cases(ROOT / "checks")
    cases: dict[Key, internals.TestCase] = {}
    for case in ordered:
        if case.check.is_fixture():
            internals.set_up(case)
        else:
            cases[case.check.display_name, case.partition.name, case.environ.name] = case
    found: list[dict[str, Any] | None] = [None] * len(runs)
    for number, entry in _in_order(runs, cases):
        found[number] = entry
    return {"cases": [list(key) for key, case in cases.items() if level in case.check.tags], "runs": found}


def _in_order(runs: Sequence[dict[str, str]], cases: dict[Key, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each run and its outcome; in a group, dependencies first."""
    order = {key: position for position, key in enumerate(cases)}
    keys = [(run["test"], run["partition"], run["environ"]) for run in runs]
    group, done = None, set[Any]()
    for number in sorted(range(len(runs)), key=lambda each: (runs[each]["group"], order.get(keys[each], -1))):
        if runs[number]["group"] != group:
            group, done = runs[number]["group"], set()
        case = cases.get(keys[number])
        if case is None:
            yield number, {"error": "the described system has no such case"}
            continue
        missing = [dep.check.display_name for dep in case.deps if not dep.check.is_fixture() and dep not in done]
        if missing:
            yield number, {"error": f"it depends on {missing[0]}, for which nothing could be computed"}
            continue
        entry = _one(case, Path(runs[number]["files"]))
        if "error" not in entry:
            done.add(case)
        yield number, entry


def _one(case: Any, files: Path) -> dict[str, Any]:
    try:
        internals.set_up_anew(case)
        check = case.check
        internals.look_in(check, files)
        check.facts.elapsed_s = check.elapsed_s()
        check.verify_placement()
        result = check.take_values()
        result = result.evaluate() if hasattr(result, "evaluate") else result
        if not result:
            return {"error": "the measured metrics are not the declared metrics"}
        commands = []
        for layout in check.launches:
            with check.launched_in(layout):
                commands.append([str(word) for word in check.recorded(check.profiled(check.command()))])
        units = {metric.name: metric.unit for metric in check.recorded_metrics()}
        return {"values": check.values, "units": units, "facts": check.facts.as_data(), "commands": commands}
    except (SanityError, FabricError, ReframeError) as error:
        return {"error": str(error).replace(f"{files}/", "")}
    except Exception as error:  # a faulty output of another site must not end the rest
        return {"error": f"{type(error).__name__}: {error}"}


def main() -> None:
    """Recompute the job that the command line names."""
    path, target = sys.argv[1:]
    try:
        found = recompute(**json.loads(Path(path).read_text()))
    except (ReframeError, FabricError) as error:
        sys.exit(str(error).splitlines()[0])
    Path(target).write_text(json.dumps(found))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Recompute every value and fact of the records from the outputs, with the checks, and compare."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import LIBRARY
from fabric_checks.core.text import value_text
from fabric_offers.bundle_file import Fault
from fabric_offers.runs import OUTPUT, Run, script

#: The fields of a record that follow from the files of its run, in addition to the value.
FACTS = (
    *("check", "parameters", "link_MBps", "layout", "nodes", "ppn", "tasks", "sizes_B"),
    *("program", "program_version", "mpi", "compiler", "nodelist", "placement", "binding", "elapsed_s", "ports"),
)
OF_METRIC = ("quantity", "size_B", "better", "can_be_zero", "compared")
#: Other releases of NumPy, and other processors, may round the last digits otherwise.
_SAME = 1e-9
#: The longest that the recomputation may take for a run.
_LONGEST_S = 120

#: Recomputes runs, given the arguments of :func:`fabric_offers.recomputing.recompute`.
Recompute = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def job(system: Any, folder: Path, level: str, runs: Sequence[Run], scratch: Path) -> dict[str, Any]:
    """Return the runs to recompute, as arguments of :func:`fabric_offers.recomputing.recompute`."""
    return {
        "system": system,
        "folder": str(scratch),
        "topology": str(folder / "topology"),
        "level": level,
        "runs": [
            {
                **dict(zip(("test", "partition", "environ"), run.case, strict=True)),
                "files": str(folder / run.folder),
                "group": run.group,
            }
            for run in runs
        ],
    }


def recompute(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Recompute in a process of its own, as ReFrame has one system a process.

    :raises FabricError: if nothing can be recomputed.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "job.json", Path(folder) / "found.json"
        source.write_text(json.dumps(asked))
        variables = {**os.environ, "FABRIC_RESULTS": str(asked["folder"]), "PYTHONPATH": str(LIBRARY)}
        variables.pop("FABRIC_STACK", None)
        command = [sys.executable, "-m", "fabric_offers.recomputing", str(source), str(target)]
        try:
            done = subprocess.run(
                command,
                env=variables,
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=_LONGEST_S * (len(asked["runs"]) + 5),
            )
        except subprocess.TimeoutExpired:
            raise FabricError(
                "the values could not be recomputed within the time limit: something in the outputs or the system's "
                "description is odd"
            ) from None
        if done.returncode or not target.exists():
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise FabricError(f"the values cannot be recomputed: {lines[-1] if lines else 'no reason is given'}")
        found: Mapping[str, Any] = json.loads(target.read_text())
        return found


def differences(folder: Path, run: Run, found: Mapping[str, Any]) -> list[Fault]:
    """Return the values and facts of a run that differ from those recomputed.

    :param found: the recomputed run.
    """
    if "error" in found:
        lost = "" if (folder / run.folder / OUTPUT).is_file() else f"its output {run.folder}/{OUTPUT} is not there; "
        return [Fault("record", run.name, f"it cannot be recomputed: {lost}{found['error']}")]
    faults = [*_values(run, found), *_facts(run, found["facts"]), *_command(folder, run, found["commands"])]
    return [Fault("record" if kind != "options" else kind, run.name, text) for kind, text in faults]


def _values(run: Run, found: Mapping[str, Any]) -> list[tuple[str, str]]:
    recorded = {record["metric"]: record for record in run.records}
    faults = []
    for name, value in found["values"].items():
        record = recorded.pop(name, None)
        if record is None:
            faults.append(("removed", f"{name} is not among its records, but its output says {value_text(value)}"))
            continue
        if not same(record["value"], value):
            stated = f"{record['value']!r} {record['unit']}"
            faults.append(("record", f"{name} is {stated} in the record, but its output says {value!r}"))
        expected = {**found["facts"]["metrics"][name], "unit": found["units"][name]}
        for field in (*OF_METRIC, "unit"):
            if not same(record[field], expected[field]):
                faults.append(("record", f"{name}: {field} is {_short(record[field])}, not {_short(expected[field])}"))
    faults += [("record", f"{name} does not follow from its output") for name in recorded]
    return faults


def _facts(run: Run, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    faults = [
        ("record", f"{name} is {_short(run.first[name])} in the record, but its files say {_short(facts[name])}")
        for name in FACTS
        if not same(run.first[name], facts[name])
    ]
    recorded, found = _blamed(run.first["findings"]), _blamed(facts["findings"])
    if recorded != found:
        some = "; ".join(sorted(recorded ^ found))[:200]
        faults.append(("record", f"its record and its output disagree about what is slow or faulty: {some}"))
    return faults


def _blamed(findings: Sequence[Mapping[str, Any]] | None) -> set[str]:
    return {f"{each.get('kind')} {each.get('hosts')}" for each in findings or () if each.get("fault")}


def _command(folder: Path, run: Run, commands: Sequence[Sequence[str]]) -> list[tuple[str, str]]:
    """Compare the job script with the commands of the check, and its launcher with the probe's; folders may differ."""
    text = script(folder, run)
    if text is None:
        return [("record", "its job script is not there")]
    lines = [_words(line) for line in text.splitlines()]
    probes = [line[: line.index("placement")] for line in lines if "placement" in line]
    faults = []
    for command in commands:
        words = _words(" ".join(command))
        launchers = [before for line in lines if (before := _before(line, words)) is not None]
        if not launchers:
            faults.append(("options", f"its job script does not launch `{' '.join(words)}`"))
        elif not any(before in probes for before in launchers):
            text = " ".join(launchers[0])
            faults.append(
                ("options", f"its program is launched with `{text}`, but the placement probe is launched differently")
            )
    return faults


def _words(line: str) -> list[str]:
    """Return the words of a line of a script, paths without their folders."""
    try:
        reader = shlex.shlex(line, posix=True, punctuation_chars=True)
        reader.whitespace_split = True
        words = list(reader)
    except ValueError:
        words = line.split()
    return [word.rpartition("/")[2] or word for word in words]


def _before(line: Sequence[str], words: Sequence[str]) -> list[str] | None:
    """Return what precedes a command that a line launches, None if it does not launch it.

    After it may come only a redirection of its output, or the next command.
    """
    for start in range(len(line) - len(words) + 1):
        end = start + len(words)
        if list(line[start:end]) == list(words) and (end == len(line) or line[end] in (";", ">", "||", "}")):
            before = list(line[:start])
            return before[before.index("{") + 1 :] if "{" in before else before
    return None


def same(one: Any, two: Any) -> bool:
    """Return whether two values of JSON are equal, except for the last digits of numbers."""
    if isinstance(one, bool) or isinstance(two, bool) or one is None or two is None:
        return one is two
    if isinstance(one, int | float) and isinstance(two, int | float):
        return math.isclose(one, two, rel_tol=_SAME, abs_tol=0)
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    return type(one) is type(two) and bool(one == two)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."

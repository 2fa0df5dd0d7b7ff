# SPDX-License-Identifier: BSD-3-Clause
"""Write the bundle that a vendor sends back: records, outputs, job scripts, and checksums of programs, in one
file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, RecordError, quoted
from fabric_checks.core.paths import LIBRARY, ROOT, name_is_sound
from fabric_checks.records import jsonlines, sessions
from fabric_checks.records.runs import reports_of
from fabric_checks.software.suite import STACKS
from fabric_offers import bundle_file
from fabric_offers.request import REPEATED, git
from fabric_offers.runs import SCRIPT

#: The files of a case's folder that go in: those that values are recomputed from, and no pictures.
KEPT = (".out", ".err", ".sh", ".txt", "iterations.json")
#: The description of the system; checksums of programs; the state of the collection.
SYSTEM, BINARIES, COLLECTION, CHANGES = "system.json", "binaries.json", "collection.json", "collection.diff"
#: In the path of what is built of the collection itself, for each session; its build prints its checksums.
OWN = "/FabricPrograms_"
#: An absolute path as a word of a script, or behind an equals sign.
_PATH = re.compile(r"(?:^|(?<=[\s=\"']))/[^\s\"';|&<>(){}$]+")

#: The folder in which a container starts: the stage folder of its case, which is also mounted.
_WORKDIR = re.compile(r"(?:-w |--pwd |--container-workdir=)(/\S+)")


def pack(
    path: Path,
    results: Path,
    system: str,
    *,
    level: str,
    answers: str | None = None,
    only: Collection[str] = (),
    more: Mapping[str, Path | bytes] | None = None,
    sign: Callable[[bytes], bytes] | None = None,
) -> dict[str, Any]:
    """Write the bundle, and return its manifest.

    :param results: the folder of results. :param system: whose records go in.
    :param answers: the number of the request.
    :param only: the sessions that go in; all if none is named. :param more: other files, by their names in
        the bundle.
    :raises RecordError: if there is nothing to pack. :raises FabricError: if the system cannot be described.
    """
    if not name_is_sound(system):
        raise FabricError(f"--system: {quoted(system)} is not the name of a system")
    perflogs, sessions_of, environs = _records(results, system, only)
    ours = sessions_of & set(only) if only else sessions_of
    if missing := set(only) - ours:
        raise RecordError(f"{results}: no run called {quoted(min(missing))} has records of {system}")
    if not ours:
        raise RecordError(
            f"{results}: no records of the system {system}; run it first: ci/run --system {system}"
        )
    described = description(system, environs)
    of_cases = _of_cases(results, system, ours)
    scripts = [file for file in of_cases.values() if file.name == SCRIPT]
    members = {**perflogs, **(more or {}), **of_cases, **_reports(results, ours)}
    members |= {**_site(system, described), **_collection()}
    members |= {SYSTEM: _json(described), BINARIES: _json(_binaries(scripts))}
    facts = {
        "kind": bundle_file.OFFER,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "collection": sessions.collection_version(),
        "system": system,
        "level": level,
        "sessions": sorted(ours),
        "left_out": sorted(sessions_of - ours),
        REPEATED: answers,
    }
    return bundle_file.write(path, facts, members, sign)


def _of_cases(results: Path, system: str, ours: Collection[str]) -> dict[str, Path]:
    """Return the files of the cases of sessions, by their names in the bundle."""
    folders = [
        results / folder / session / system for session in sorted(ours) for folder in ("output", "stage")
    ]
    return {str(file.relative_to(results)): file for folder in folders for file in _files(folder)}


def _reports(results: Path, ours: Collection[str]) -> dict[str, Path]:
    """Return the reports and logs of sessions, by their names in the bundle."""
    reports = reports_of(results)
    named = [path for session in ours for path in (reports.get(session), results / "logs" / f"{session}.log")]
    return {str(path.relative_to(results)): path for path in named if path and path.is_file()}


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def _lines(results: Path, system: str) -> Iterator[tuple[Path, bytes, dict[str, Any]]]:
    """Yield each line of a case of a system, with its file, and as it is read.

    :raises RecordError: for a line that is not a record: fix or delete it before anything is sent.
    """
    tree = os.walk(results / "perflogs" / system)
    for file in sorted(
        Path(parent, name) for parent, _, names in tree for name in names if name.endswith(".jsonl")
    ):
        for number, line in enumerate(files.read_bytes(file, results, 2**34).split(b"\n"), 1):
            if line.strip():
                try:
                    yield file, line, jsonlines.parsed(line)
                except ValueError as error:
                    raise RecordError(f"{file}:{number}: {error}; fix or delete the line") from None


def _records(
    results: Path, system: str, only: Collection[str]
) -> tuple[dict[str, bytes], set[str], set[str]]:
    """Return the perflogs by their names in the bundle, all sessions of the system, and the environments
    packed."""
    kept: dict[str, list[bytes]] = {}
    found: set[str] = set()
    environs: set[str] = set()
    for file, line, record in _lines(results, system):
        session = record.get("session")
        if not isinstance(session, str) or not name_is_sound(session):
            continue
        found.add(session)
        if not only or session in only:
            kept.setdefault(str(file.relative_to(results)), []).append(line + b"\n")
            environs.add(str(record.get("environ")))
    return {name: b"".join(lines) for name, lines in kept.items()}, found, environs


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a case's folders that go in; links are passed over."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not Path(parent, name).is_symlink())
        for name in sorted(names):
            path = Path(parent, name)
            if name.endswith(KEPT) and path.is_file() and not path.is_symlink():
                yield path


def description(system: str, environs: Collection[str]) -> dict[str, Any]:
    """Return a system as :mod:`fabric_checks.reframe_ext.system_description` does, with those environments
    that have records.

    An environment may be there with one stack only, so each is asked for until all are found.

    :raises FabricError: if the system cannot be loaded, or an environment is not found.
    """
    found = {**_described(system, None), "not_run": []}
    every = {each["name"]: each for each in found["environments"]}
    partitions = {each["name"]: each for each in found["partitions"]}
    for stack in STACKS:
        if set(environs) <= every.keys():
            break
        described = _described(system, stack)
        every = {each["name"]: each for each in described["environments"]} | every
        for partition in described["partitions"]:
            same = partitions[partition["name"]]
            same["environs"] = list(dict.fromkeys([*same["environs"], *partition["environs"]]))
    if lacking := set(environs) - every.keys():
        raise FabricError(
            f"{system} no longer has the environment {quoted(min(lacking))}, but there are records of it: put"
            " it back into the system's file, or choose the runs that go in with --session"
        )
    listed = {name for partition in found["partitions"] for name in partition["environs"]}
    for partition in found["partitions"]:
        partition["environs"] = [name for name in partition["environs"] if name in environs]
    packed = [each for name, each in every.items() if name in environs]
    return {**found, "environments": packed, "not_run": sorted(listed - set(environs))}


def _described(system: str, stack: str | None) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "system.json"
        variables = {**os.environ, "FABRIC_RESULTS": folder, "PYTHONPATH": str(LIBRARY)}
        if variables.get("FABRIC_MPI") != "none":
            variables["FABRIC_MPI"] = "all"
        variables.pop("FABRIC_STACK", None)
        if stack:
            variables["FABRIC_STACK"] = stack
        command = [sys.executable, "-m", "fabric_checks.reframe_ext.system_description", system, str(path)]
        done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode or not path.exists():
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise FabricError(
                f"the system {system} cannot be described: {lines[-1] if lines else 'no reason is given'}"
            )
        return json.loads(path.read_text())


def _site(system: str, described: Mapping[str, Any]) -> dict[str, Path | bytes]:
    """Return the site's own files, for whoever reads the bundle."""
    config = ROOT / "config"
    references = {str(each["extras"].get("references", system)) for each in described["partitions"]}
    named = [config / "systems" / f"{system}.py"]
    named += [config / "references" / f"{name.removesuffix('.yaml')}.yaml" for name in sorted(references)]
    found: dict[str, Path | bytes] = {
        f"site/{path.parent.name}/{path.name}": path for path in named if path.is_file()
    }
    for partition in described["partitions"]:
        for name in partition["extras"].get("topology", []):
            found[f"topology/{Path(name).name}"] = config / "systems" / name
    return found


def _collection() -> dict[str, Path | bytes]:
    """Return the state of the clone: git's hash of every file as it is now, and what differs from the
    commit."""
    listed = [ROOT / name for name in git("ls-files", "-z").split("\0") if name]
    names = [str(path.relative_to(ROOT)) for path in listed if path.is_file() and not path.is_symlink()]
    hashes = git("hash-object", "--", *names).split()
    links = {str(path.relative_to(ROOT)): _link_hash(path.readlink()) for path in listed if path.is_symlink()}
    untracked = [name for name in git("ls-files", "-z", "--others", "--exclude-standard").split("\0") if name]
    state = {
        "commit": git("rev-parse", "HEAD").strip(),
        "files": dict(zip(names, hashes, strict=True)) | links,
        "untracked": untracked,
    }
    return {COLLECTION: _json(state), CHANGES: git("diff", "HEAD").encode()}


def _link_hash(target: Path) -> str:
    """Return git's hash of a symbolic link, which is that of its target, in SHA-1 or SHA-256 as the clone has
    it."""
    return git("hash-object", "--stdin", stdin=str(target).encode()).strip()


def _binaries(scripts: Collection[Path]) -> dict[str, dict[str, Any] | None]:
    """Return SHA-256 and size of the files that job scripts name by their paths, None for files that are
    gone."""
    named = map(Path, sorted(set().union(*map(paths_in, map(files.read_text, scripts)))))
    return {str(path): bundle_file.checksum(path) if path.is_file() else None for path in named}


def paths_in(script: str) -> set[str]:
    """Return the files that a job script names by their paths, other than those that are built for each
    session.

    Devices and what the kernel shows of a process have no content of their own.
    """
    lines = script.splitlines()
    named = (line for line in lines if not line.startswith(("export ", "#", "mkdir ", "fabric_snapshot")))
    found = {path for line in named for path in _PATH.findall(line)} - set(_WORKDIR.findall(script))
    return {path for path in found if OWN not in path and not path.startswith(("/dev/", "/proc/"))}

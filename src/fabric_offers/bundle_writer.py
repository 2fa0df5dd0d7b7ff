# SPDX-License-Identifier: BSD-3-Clause
"""Write the bundle that a vendor sends back: records, outputs and job scripts in one file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from fabric_checks.core import module_run
from fabric_checks.core.errors import FabricError, RecordError, quoted
from fabric_checks.core.git import git
from fabric_checks.core.paths import ROOT, name_is_sound
from fabric_checks.records import reader, sessions, sources
from fabric_checks.records.runs import reports_of
from fabric_offers import bundle_file
from fabric_offers.request import REPEATED

#: The files of a case's folder that go in: those that values are recomputed from, and no pictures.
KEPT = (".out", ".err", ".sh", ".txt")
#: The description of the system; the state of the collection.
SYSTEM = "system.json"
COLLECTION = "collection.json"
CHANGES = "collection.diff"


def pack(
    path: Path,
    results: Path,
    system: str,
    *,
    level: str,
    answers: str | None = None,
    more: Mapping[str, Path | bytes] | None = None,
    sign: Callable[[bytes], bytes] | None = None,
) -> dict[str, Any]:
    """Write the bundle, and return its manifest.

    :param results: the folder of results. :param system: whose records go in.
    :param answers: the number of the request. :param more: other files, by their names in the bundle.
    :raises RecordError: if there is nothing to pack. :raises FabricError: if the system cannot be described.
    """
    if not name_is_sound(system):
        raise FabricError(f"--system: {quoted(system)} is not the name of a system")
    perflogs, found, environs = _records(results, system)
    if not found:
        raise RecordError(
            f"{results}: no records of the system {system}; run it first: ci/run --system {system}"
        )
    described = description(system, environs)
    own = _of_sessions(results, system, found)
    members: dict[str, Path | bytes] = {**perflogs, **(more or {}), **own}
    members |= {**_site(system, described), **_collection()}
    members[SYSTEM] = _json(described)
    facts = {
        "kind": bundle_file.OFFER,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "collection": sessions.collection_version(),
        "system": system,
        "level": level,
        "sessions": sorted(found),
        REPEATED: answers,
    }
    return bundle_file.write(path, facts, members, sign)


def _of_sessions(results: Path, system: str, ours: Collection[str]) -> dict[str, Path]:
    """Return the files of cases, the reports and the logs of sessions, by their names in the bundle."""
    reports = reports_of(results)
    found: list[Path] = []
    for session in sorted(ours):
        for folder in ("output", "stage"):
            found += _files(results / folder / session / system)
        log = results / f"logs/{session}.log"
        found += [
            path for path in (reports.get(session), log) if path and path.is_file()
        ]
    return {str(path.relative_to(results)): path for path in found}


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def _records(results: Path, system: str) -> tuple[dict[str, Path], set[str], set[str]]:
    """Return the perflogs of a system by their names in the bundle, its sessions, and its environments.

    :raises RecordError: for a line that is not a record: fix or delete it before anything is sent.
    """
    perflogs: dict[str, Path] = {}
    found: set[str] = set()
    environs: set[str] = set()
    for file in sources.perflogs(results, system):
        if file.suffix == ".gz":
            raise RecordError(
                f"{file}: it is packed, and a bundle has perflogs as they were written: gunzip it"
            )
        for record in reader.records_of(file, partial(_refuse, file)):
            found.add(record["session"])
            environs.add(record["environ"])
        perflogs[str(file.relative_to(results))] = file
    return perflogs, found, environs


def _refuse(file: Path, number: int, cause: str) -> None:
    raise RecordError(f"{file}:{number}: {cause}; fix or delete the line")


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a case's folders that go in; links are passed over."""
    for parent, _, names in os.walk(folder):  # it does not follow links
        for name in sorted(names):
            path = Path(parent, name)
            if name.endswith(KEPT) and path.is_file() and not path.is_symlink():
                yield path


def description(system: str, environs: Collection[str]) -> dict[str, Any]:
    """Return a system as :mod:`fabric_checks.reframe_ext.system_description` does, with those environments
    that have records.

    :raises FabricError: if the system cannot be loaded, or an environment is not found.
    """
    found: dict[str, Any] = module_run.written_by(
        "fabric_checks.reframe_ext.system_description",
        system,
        failed=f"the system {system} cannot be described",
    )
    if lacking := set(environs) - {each["name"] for each in found["environments"]}:
        raise FabricError(
            f"{system} no longer has the environment {quoted(min(lacking))}, but there are records of it: put"
            " it back into the system's file, or set FABRIC_STACK to the stack that it was run with"
        )
    listed: set[str] = set()
    for partition in found["partitions"]:
        listed.update(partition["environs"])
        partition["environs"] = [
            name for name in partition["environs"] if name in environs
        ]
    packed = [each for each in found["environments"] if each["name"] in environs]
    return {**found, "environments": packed, "not_run": sorted(listed - set(environs))}


def _site(system: str, described: Mapping[str, Any]) -> dict[str, Path | bytes]:
    """Return the site's own files, for whoever reads the bundle."""
    config = ROOT / "config"
    references = {
        str(each["extras"].get("references", system))
        for each in described["partitions"]
    }
    named = [config / f"systems/{system}.py"]
    named += [
        config / "references" / f"{name.removesuffix('.yaml')}.yaml"
        for name in sorted(references)
    ]
    found: dict[str, Path | bytes] = {
        f"site/{path.parent.name}/{path.name}": path for path in named if path.is_file()
    }
    for partition in described["partitions"]:
        for name in partition["extras"].get("topology", []):
            found[f"topology/{Path(name).name}"] = config / "systems" / name
    return found


def _collection() -> dict[str, Path | bytes]:
    """Return the state of the clone: git's hash of every file as it is now, and what differs from the
    commit.

    The hash of a symbolic link is that of its target.
    """
    hashes: dict[str, str] = {}
    names = []
    for name in _names("ls-files", "-z"):
        path = ROOT / name
        if path.is_symlink():
            hashes[name] = git(
                "hash-object", "--stdin", stdin=str(path.readlink()).encode()
            ).strip()
        elif path.is_file():
            names.append(name)
    hashes.update(zip(names, git("hash-object", "--", *names).split(), strict=True))
    state = {
        "commit": git("rev-parse", "HEAD").strip(),
        "files": hashes,
        "untracked": _names("ls-files", "-z", "--others", "--exclude-standard"),
    }
    return {COLLECTION: _json(state), CHANGES: git("diff", "HEAD").encode()}


def _names(*words: str) -> list[str]:
    """Return the names that a git command lists."""
    return [name for name in git(*words).split("\0") if name]

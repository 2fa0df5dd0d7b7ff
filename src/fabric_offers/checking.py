# SPDX-License-Identifier: BSD-3-Clause
"""Check an offer against the request: the file, its records, and the runs."""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, RecordError
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import count_text
from fabric_checks.records import sessions
from fabric_checks.records.record import is_success
from fabric_offers import bundle_file, plausibility, recomputation, runs, signing
from fabric_offers.bundle_file import OFFER, Fault
from fabric_offers.packing import BINARIES, COLLECTION, OWN, SYSTEM
from fabric_offers.request import blobs
from fabric_offers.runs import Run

#: The kinds of objections, the gravest first, with their titles.
KINDS = {
    "harmful": "in the file, but never part of a bundle",
    "changed": "changed since it was packed",
    "removed": "removed since it was packed or measured",
    "added": "in the file, but not in its manifest",
    "signature": "about the signature",
    "record": "records that do not follow from their outputs",
    "physics": "things that cannot be true",
    "collection": "another collection than was asked for",
    "left out": "checks with cases that were asked for but left out",
    "passes": "cases in fewer passes than asked for",
    "repeated": "cases that ran more often than asked for",
    "failed": "runs that failed",
    "options": "run with other options",
    "versions": "of several versions",
    "placement": "placed in several ways",
}
#: What no check of a bundle can prove.
UNPROVED = (
    "that the outputs are what the programs printed on the offered system: text can be written by hand, and a careful "
    "forgery is consistent with itself; measure some of it again when the system is delivered",
    "that no earlier runs were thrown away with their records; gaps in the job numbers are a hint",
    "that the binaries are those whose checksums were taken when it was packed, and that nothing slowed what it is "
    "compared with",
    "when it ran, in which queue, and what else was on the fabric: times, job numbers and nodes are the vendor's word",
)


@dataclass
class Checked:
    """The result of a check.

    :param objections: what the vendor has to be asked about; :param notes: facts that are no objection.
    """

    manifest: Mapping[str, Any]
    objections: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    records: int = 0
    runs: int = 0
    values: int = 0


def check(
    path: Path,
    *,
    level: str | None = None,
    request: Path | None = None,
    signers: Path | None = None,
    link_MBps: float | None = None,
    recompute: recomputation.Recompute = recomputation.recompute,
) -> Checked:
    """Check a bundle.

    :param level: the requested level; None: that of the request, or else of the bundle itself.
    :param request: the bundle that was sent out. :param signers: who may sign, as for ssh-keygen.
    :param link_MBps: the rate of a link, if it is not that of the vendor's description.
    :raises RecordError: if it is no bundle. :raises FabricError: if it cannot be checked.
    """
    with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as folder:
        opened = bundle_file.unpack(path, Path(folder))
        found = Checked(opened.manifest, list(opened.faults))
        _signature(opened, signers, found)
        if opened.manifest["kind"] == OFFER:
            sent = _request(request) if request else {}
            level = level or sent.get("level") or str(opened.manifest.get("level"))
            if level not in LEVELS:
                raise FabricError(f"{path}: it does not say which level was run; give it with --level")
            _offer(opened, found, _Asked(level, sent, link_MBps, recompute))
        order = list(KINDS)
        found.objections.sort(key=lambda each: order.index(each.kind))
        return found


@dataclass(frozen=True)
class _Asked:
    """The level, the manifest of the request if it is known, the rate of a link, and how to recompute."""

    level: str
    sent: Mapping[str, Any]
    link_MBps: float | None
    recompute: recomputation.Recompute


def _request(path: Path) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as folder:
        opened = bundle_file.unpack(path, Path(folder))
    if opened.faults or opened.manifest["kind"] != bundle_file.REQUEST:
        what = (
            f"{opened.faults[0].location}: {opened.faults[0].text}"
            if opened.faults
            else "it is a bundle that came back"
        )
        raise RecordError(f"{path}: not the request that was sent out: {what}")
    return opened.manifest


def _signature(opened: bundle_file.Opened, signers: Path | None, found: Checked) -> None:
    if opened.signature is None:
        if signers is not None:
            found.objections.append(Fault("signature", bundle_file.SIGNATURE, "it is not signed"))
        else:
            found.notes.append("it is not signed: anyone who had it on the way could have repacked it")
        return
    good, signer = signing.verify(opened.manifest_text, opened.signature, signers)
    if not good:
        found.objections.append(Fault("signature", bundle_file.SIGNATURE, signer))
    elif signers is None:
        found.notes.append(f"{signer}; to check whose key that is, use --signers")
    else:
        found.notes.append(signer)


def _offer(opened: bundle_file.Opened, found: Checked, asked: _Asked) -> None:
    folder = opened.folder
    names = [name for name in opened.manifest["files"] if (folder / name).is_file()]
    every, faults, found.records = runs.read(folder, names)
    found.objections += faults
    found.runs = len(every)
    measured = [run for run in every if run.has_values]
    found.values = sum(len(run.records) for run in measured)
    system = _json(folder, SYSTEM)
    binaries = _json(folder, BINARIES)
    state = _json(folder, COLLECTION)
    for name, content in ((SYSTEM, system), (BINARIES, binaries), (COLLECTION, state)):
        if not isinstance(content, dict):
            found.objections.append(Fault("removed", name, "it is missing, or not a JSON object"))
    if isinstance(system, dict):
        _recomputed(folder, system, every, found, asked)
    found.objections += _alike(folder, measured)
    found.objections += _own_programs(folder, names, found)
    if isinstance(state, dict):
        found.objections += _collection(state, every, asked.sent, found)
    if isinstance(left_out := opened.manifest.get("left_out"), list) and left_out:
        found.objections.append(Fault("removed", "sessions", f"{len(left_out)} runs were left out when it was packed"))


def _recomputed(folder: Path, system: Any, every: Sequence[Run], found: Checked, asked: _Asked) -> None:
    """Compare the records with the outputs, and with the cases of the system as described."""
    measured = [run for run in every if run.has_values]
    try:
        with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as scratch:
            recomputed = asked.recompute(recomputation.job(system, folder, asked.level, measured, Path(scratch)))
    except FabricError as error:
        found.objections.append(Fault("record", SYSTEM, str(error)))
        return
    for run, came in zip(measured, recomputed["runs"], strict=True):
        found.objections += recomputation.differences(folder, run, came)
    found.objections += _counted(every, {tuple(case) for case in recomputed["cases"]}, asked.level)
    # As the checks declare it: a record that says otherwise would double the rate that passes.
    one_way = {
        (run.folder, metric)
        for run, came in zip(measured, recomputed["runs"], strict=True)
        for metric, facts in ({} if "error" in came else came["facts"]["metrics"]).items()
        if facts["one_way"]
    }
    found.objections += plausibility.implausible(folder, measured, system, asked.link_MBps, one_way)
    _note_system(system, found)


def _json(folder: Path, name: str) -> Any:
    try:
        return json.loads(files.read_bytes(folder / name, folder))
    except (OSError, ValueError, RecursionError):
        return None


def _counted(every: Sequence[Run], cases: set[tuple[Any, ...]], level: str) -> Iterator[Fault]:
    """Compare how often cases ran with the passes of the level."""
    passes = LEVELS[level].passes
    ran: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in every:
        ran[run.case].append(run)
    missing: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for case in sorted(cases - ran.keys()):
        missing[f"{str(case[0]).split(' ')[0]} @{case[1]}+{case[2]}"].append(case)
    for where, lost in missing.items():
        which = ", ".join(case[0].partition(" ")[2] for case in lost)
        yield Fault("left out", where, f"no record of {count_text(len(lost), 'case')} that {level} has: {which}"[:300])
    for case, found in ran.items():
        good = [run for run in found if run.has_values and is_success(run.first["case_result"])]
        times = len({run.first["session"] for run in found})
        if len(good) < passes and case in cases:
            yield Fault("passes", _name(case), f"{len(good)} good of the {passes} that {level} asks for")
        if len(found) > passes:
            within = f"in {times} sessions" if times > 1 else "in one session"
            yield Fault("repeated", _name(case), f"{len(found)} runs {within}, but {passes} were asked for")
    for run in every:
        if not is_success(run.first["case_result"]):
            yield Fault("failed", run.name, str(run.first["fail_reason"] or "no reason is given")[:200])


def _name(case: Sequence[str]) -> str:
    return f"{case[0]} @{case[1]}+{case[2]}"


def _alike(folder: Path, measured: Sequence[Run]) -> Iterator[Fault]:
    """Find versions, bindings and options that differ between runs."""
    versions: dict[tuple[str, str], set[str]] = defaultdict(set)
    bindings: dict[tuple[str, ...], set[str]] = defaultdict(set)
    variables: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for run in measured:
        record = run.first
        where = f"{record['partition']}+{record['environ']}"
        versions[where, "MPI"].add(str(record["mpi"]))
        versions[where, "compiler"].add(str(record["compiler"]))
        versions[where, f"{record['program']}"].add(str(record["program_version"]))
        versions["all runs", "ReFrame"].add(str(record["reframe"]))
        versions["all runs", "collection"].add(str(record["collection"]))
        bindings[run.case].add(str(record["binding"]))
        text = runs.script(folder, run) or ""
        for line in sorted(set(re.findall(r"^export .*$", text, re.MULTILINE))):
            variables[f"{where} {record['check']}"][line] += 1
        variables[f"{where} {record['check']}"][""] += 1
    for (where, what), found in versions.items():
        if len(found) > 1:
            yield Fault("versions", where, f"{what}: {'; '.join(sorted(found))}"[:300])
    for case, found in bindings.items():
        if len(found) > 1:
            yield Fault(
                "placement", _name(case), f"ranks were bound differently from run to run: {', '.join(sorted(found))}"
            )
    for where, lines in variables.items():
        total = lines.pop("")
        for line, count in lines.items():
            if count < total:
                yield Fault("options", where, f"{count} of {total} job scripts have `{line[:120]}`")


def _own_programs(folder: Path, names: Sequence[str], found: Checked) -> Iterator[Fault]:
    """Find programs of the collection that were not the same in all runs: every build prints their checksums."""
    digests: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name in names:
        if OWN in name and name.endswith("/rfm_build.out"):
            text = files.read_text(folder / name, folder)
            for digest, program in re.findall(r"^([0-9a-f]{64})  (\S+)$", text, re.MULTILINE):
                digests["+".join(name.split("/")[3:5]), program].add(digest)
    for (where, program), several in digests.items():
        if len(several) > 1:
            yield Fault("versions", where, f"{len(several)} builds of {program[:120]} that differ")
    found.notes.append(
        f"{len(digests)} programs of the collection and libraries of MPI have checksums in build outputs"
    )


def _collection(
    state: Mapping[str, Any], every: Sequence[Run], asked: Mapping[str, Any], found: Checked
) -> Iterator[Fault]:
    """Compare the vendor's clone with the requested commit."""
    commit = str(state.get("commit"))
    wanted = str(asked.get("commit") or commit)
    own = ("config/systems/", "config/references/", "config/environments/")
    if commit != wanted:
        yield Fault("collection", commit[:12], f"it was packed at this commit, but {wanted[:12]} was asked for")
    expected = asked.get("files_of_commit")
    if expected is None:
        try:
            expected = blobs(wanted) if re.fullmatch(r"[0-9a-f]{40,64}", wanted) else {}
        except FabricError:
            found.notes.append(
                f"this clone does not know the commit {wanted[:12]}; give --request, which has its checksums"
            )
            expected = {}
    actual = state.get("files")
    if isinstance(actual, dict) and expected:
        for name in sorted(expected.keys() | actual.keys()):
            if expected.get(name) != actual.get(name):
                how = "is new" if name not in expected else "was deleted" if name not in actual else "was changed"
                if name.startswith(own) and name not in expected:
                    found.notes.append(f"of the site: {name}")
                else:
                    yield Fault("collection", name, f"it {how} (see collection.diff)")
    if isinstance(untracked := state.get("untracked"), list) and untracked:
        some = ", ".join(str(name)[:60] for name in untracked[:4])
        found.notes.append(f"{len(untracked)} files in the clone do not belong to the collection: {some}")
    versions = sorted({str(run.first["collection"]) for run in every})
    for version in versions:
        if wanted[:12] not in version or version.endswith(".dirty"):
            yield Fault("collection", version, f"runs were made with it, but {wanted[:12]}, unchanged, was asked for")
    found.notes.append(f"recomputed with the collection {sessions.collection_version()}")


def _note_system(system: Mapping[str, Any], found: Checked) -> None:
    """Note the vendor's choices, which are no fault and decide what is measured."""
    for partition in system["partitions"]:
        extras = partition["extras"]
        stated = [f"{key} {extras[key]}" for key in ("nodes", "cores", "ppn", "link_MBps", "nics") if key in extras]
        found.notes.append(f"{partition['name']}: {', '.join(stated)}")
        for key in ("program_options", "launch_options", "oversubscribed", "fabric"):
            if extras.get(key):
                found.notes.append(f"{partition['name']}: {key} {json.dumps(extras[key])[:200]}")
    for environ in system["environments"]:
        for suite, program in environ["programs"].items():
            command = str(program.get("command"))[:160]
            found.notes.append(f"{environ['name']}: {suite} is {program.get('version')}, by `{command}`")
        for suite, why in environ["without"].items():
            found.notes.append(f"{environ['name']} has no {suite}, so no case of it was asked for: {why}"[:300])
    if isinstance(idle := system.get("not_run"), list) and idle:
        found.notes.append(f"no records from these environments of the system: {', '.join(map(str, idle))[:200]}")


def as_json(path: Path, found: Checked) -> str:
    """Return all of it as JSON."""
    manifest = {
        name: value for name, value in found.manifest.items() if name not in ("files", "pins", "files_of_commit")
    }
    whole = {
        "bundle": str(path),
        "manifest": manifest,
        "files": len(found.manifest["files"]),
        "records": found.records,
        "runs": found.runs,
        "recomputed": found.values,
        "objections": [{"kind": each.kind, "location": each.location, "text": each.text} for each in found.objections],
        "notes": found.notes,
        "not_proved": list(UNPROVED),
    }
    return json.dumps(whole, indent=1)

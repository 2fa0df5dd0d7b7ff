# SPDX-License-Identifier: BSD-3-Clause
"""Check an offer against the request: the file, its records, and the runs."""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, RecordError
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import count_text
from fabric_checks.records import sessions
from fabric_checks.records.record import is_success
from fabric_offers import bundle_file, plausibility, recomputation, runs, scripts, signatures
from fabric_offers.bundle_file import OFFER, Fault
from fabric_offers.bundle_writer import BINARIES, COLLECTION, OWN, SYSTEM, paths_in
from fabric_offers.request import NUMBER, REPEATED, blobs
from fabric_offers.runs import SCRIPT, Run

#: The kinds of objections, the gravest first, with their titles.
KINDS = {
    "harmful": "in the file, but never part of a bundle",
    "changed": "changed since it was packed",
    "removed": "removed since it was packed or measured",
    "added": "in the file, but neither in its manifest nor written by a job",
    "signature": "about the signature",
    "request": "not an answer to this request",
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
#: What no check of a bundle can prove, with the fields of records and the files of cases that it is about:
#: whoever changes one of them is not found out. All others follow from something.
UNPROVED = {
    (
        "that the outputs are what the programs printed on the offered system: text can be written by hand, "
        "and a careful forgery is consistent with itself; measure some of it again when the system is "
        "delivered"
    ): (),
    "that no earlier runs were thrown away with their records; gaps in the job numbers are a hint": (
        "jobid",
    ),
    (
        "that the binaries are those whose checksums were taken when it was packed or built, that an image "
        "is the one of that digest, that a launcher named without its folder is the MPI's own, and that "
        "nothing slowed what it is compared with"
    ): (*("rfm_build.out", "rfm_build.err", "rfm_build.sh", "container", "image", "image_digest"),),
    (
        "when it ran, in which queue, and what else was on the fabric: times, job numbers, nodes are the "
        "vendor's word"
    ): (*("case", "time", "job_began", "job_state", "node_faults"),),
    (
        "by which ReFrame it ran, what Spack built, which suites were asked for and are not there, why a run "
        "failed, and what a run that did not fail printed as errors"
    ): (*("reframe", "spec", "spec_hash", "spack", "not_offered", "fail_reason", "rfm_job.err"),),
    "that its words for what a metric is are those of this collection: docs/metrics.md has ours": (
        "meaning",
    ),
}


#: A line of the output of a build: the SHA-256 of a program.
_PRINTED_DIGEST = re.compile(r"^([0-9a-f]{64})  (\S+)$", re.MULTILINE)
#: Folders of the clone that a site adds files to.
_OF_SITE = ("config/systems/", "config/references/", "config/environments/")


def unproved() -> list[str]:
    """Return what cannot be proved in words, with the fields and files that it is about."""
    return [text + (f" ({', '.join(names)})" if names else "") for text, names in UNPROVED.items()]


@dataclass
class Checked:
    """The result of a check.

    :param objections: what the vendor has to be asked about; :param notes: facts that are no objection.
    :param values: the measured ones; :param recomputed: how many of them could be computed again.
    """

    manifest: Mapping[str, Any]
    objections: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    records: int = 0
    runs: int = 0
    values: int = 0
    recomputed: int = 0


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
    :raises RecordError: if it is no offer. :raises FabricError: if it cannot be checked.
    """
    with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as folder:
        opened = bundle_file.unpack(path, Path(folder))
        if opened.manifest["kind"] != OFFER:
            raise RecordError(
                f"{path}: by its manifest it is a request, and no offer; a request alone is checked by"
                " --request"
            )
        found = _begun(opened, signers)
        sent = check_request(request).manifest if request else {}
        level = level or sent.get("level") or str(opened.manifest.get("level"))
        if level not in LEVELS:
            raise FabricError(f"{path}: it does not say which level was run; give it with --level")
        state = _json(opened.folder, COLLECTION)
        packed = state.get("commit") if isinstance(state, dict) else None
        _offer(opened, found, _Asked(level, str(sent.get("commit") or packed), sent, link_MBps, recompute))
        order = list(KINDS)
        found.objections.sort(key=lambda each: order.index(each.kind))
        return found


def check_request(path: Path, signers: Path | None = None) -> Checked:
    """Check the file of a request.

    :raises RecordError: if it is none, or was changed.
    """
    with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as folder:
        opened = bundle_file.unpack(path, Path(folder))
    if opened.faults or opened.manifest["kind"] != bundle_file.REQUEST:
        first = f"{opened.faults[0].location}: {opened.faults[0].text}" if opened.faults else "it is an offer"
        raise RecordError(f"{path}: not the request that was sent out: {first}")
    return _begun(opened, signers)


def _begun(opened: bundle_file.Opened, signers: Path | None) -> Checked:
    found = Checked(opened.manifest, list(opened.faults))
    _signature(opened, signers, found)
    return found


@dataclass(frozen=True)
class _Asked:
    """The level, the commit, the manifest of the request if it is known, the rate of a link, and how to
    recompute."""

    level: str
    commit: str
    sent: Mapping[str, Any]
    link_MBps: float | None
    recompute: recomputation.Recompute


def _signature(opened: bundle_file.Opened, signers: Path | None, found: Checked) -> None:
    if opened.signature is None:
        if signers is not None:
            found.objections.append(Fault("signature", bundle_file.SIGNATURE, "it is not signed"))
        else:
            found.notes.append("it is not signed: anyone who had it on the way could have repacked it")
        return
    good, signer = signatures.verify(opened.manifest_text, opened.signature, signers)
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
    found.objections += _answers(opened.manifest, every, asked.sent, found)
    found.objections += _checksums(folder, names, binaries)
    found.objections += _alike(measured)
    found.objections += _own_programs(folder, names, every, found)
    if isinstance(state, dict):
        found.objections += _collection(state, every, asked.sent, found)
    if isinstance(left_out := opened.manifest.get("left_out"), list) and left_out:
        found.objections.append(
            Fault("removed", "sessions", f"{len(left_out)} runs were left out when it was packed")
        )


def _recomputed(folder: Path, system: Any, every: Sequence[Run], found: Checked, asked: _Asked) -> None:
    """Compare the records with the outputs, and with the cases of the system as described."""
    measured = [run for run in every if run.has_values]
    try:
        with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as scratch:
            job = recomputation.job(system, folder, asked.level, measured, Path(scratch))
            recomputed = asked.recompute(job, asked.commit)
    except FabricError as error:
        found.objections.append(Fault("record", SYSTEM, str(error)))
        return
    again = recomputed["runs"]
    following = (*recomputation.FACTS, *recomputation.OF_METRIC)
    fields = [name for name in following if recomputed["at"] or name not in recomputation.OF_RELEASE]
    for run, came in zip(measured, again, strict=True):
        found.recomputed += 0 if "error" in came else len(run.records)
        found.objections += recomputation.differences(folder, run, came, fields)
    found.objections += _counted(every, {tuple(case) for case in recomputed["cases"]}, asked.level)
    found.objections += plausibility.implausible(folder, measured, system, asked.link_MBps)
    _note_system(system, found)
    found.notes.append(f"recomputed with the collection {sessions.collection_version()}")
    if recomputed["at"]:
        faults, notes = scripts.differences(folder, measured, again, recomputed["folder"])
        found.objections += faults
        found.notes += notes
    else:
        cause = "this clone is at another commit, or changed: job scripts and findings are not compared"
        remedy = "check it in a clone at that commit, as `git worktree add FOLDER COMMIT` makes one"
        found.objections.append(Fault("collection", asked.commit[:12], f"{cause}; {remedy}"))


def _json(folder: Path, name: str) -> Any:
    try:
        return json.loads(files.read_bytes(folder / name, folder))
    except (OSError, ValueError, RecursionError):
        return None


def _answers(
    manifest: Mapping[str, Any], every: Sequence[Run], sent: Mapping[str, Any], found: Checked
) -> Iterator[Fault]:
    """Compare an offer with the request that it has to answer: its number, and when that was made."""
    if not sent:
        found.notes.append("whether it answers your request is not checked: give --request")
        return
    if manifest.get(REPEATED) != sent.get(NUMBER):
        which = "that of another request" if manifest.get(REPEATED) else "no request"
        yield Fault(
            "request", bundle_file.MANIFEST, f"it answers {which}; it has to be packed with --request"
        )
    names = sorted({str(run.first["session"]) for run in every})
    made = datetime.fromisoformat(sent["made"])
    if before := [name for name in names if (began := sessions.started(name)) and began < made]:
        yield Fault(
            "request", before[0], f"{count_text(len(before), 'session')} began before the request was made"
        )


def _checksums(folder: Path, names: Sequence[str], binaries: Any) -> Iterator[Fault]:
    """Find files that job scripts name, and that have no checksum."""
    scripts_of = [files.read_text(folder / name, folder) for name in names if name.endswith(f"/{SCRIPT}")]
    known = binaries if isinstance(binaries, Mapping) else {}
    for name in sorted(set().union(*map(paths_in, scripts_of))):
        entry = known.get(name)
        if not isinstance(entry, Mapping) or not isinstance(entry.get("sha256"), str):
            yield Fault("removed", BINARIES, f"it has no checksum of {name[:160]}, which job scripts name")


def _counted(every: Sequence[Run], cases: set[tuple[Any, ...]], level: str) -> Iterator[Fault]:
    """Compare how often cases ran with the passes of the level."""
    ran: dict[tuple[str, ...], list[Run]] = defaultdict(list)
    for run in every:
        ran[run.case].append(run)
    missing: dict[str, list[str]] = defaultdict(list)
    for test, partition, environ in sorted(cases - ran.keys()):
        check, _, parameters = str(test).partition(" ")
        missing[f"{check} @{partition}+{environ}"].append(parameters)
    for where, lost in missing.items():
        text = f"no record of {count_text(len(lost), 'case')} that {level} has: {', '.join(lost)}"
        yield Fault("left out", where, text[:300])
    for case, found in ran.items():
        yield from _passes(case, found, case in cases, level)
    for run in every:
        if not is_success(run.first["case_result"]):
            yield Fault("failed", run.name, str(run.first["fail_reason"] or "no reason is given")[:200])


def _passes(case: Sequence[str], found: Sequence[Run], is_asked_for: bool, level: str) -> Iterator[Fault]:
    """Compare how often a case ran with the passes of the level."""
    passes = LEVELS[level].passes
    good = sum(run.has_values and is_success(run.first["case_result"]) for run in found)
    times = len({run.first["session"] for run in found})
    if good < passes and is_asked_for:
        yield Fault("passes", _name(case), f"{good} good of the {passes} that {level} asks for")
    if len(found) > passes:
        within = f"in {times} sessions" if times > 1 else "in one session"
        yield Fault("repeated", _name(case), f"{len(found)} runs {within}, but {passes} were asked for")


def _name(case: Sequence[str]) -> str:
    return f"{case[0]} @{case[1]}+{case[2]}"


def _alike(measured: Sequence[Run]) -> Iterator[Fault]:
    """Find versions and bindings that differ between runs."""
    versions: dict[tuple[str, str], set[str]] = defaultdict(set)
    bindings: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for run in measured:
        record = run.first
        where = f"{record['partition']}+{record['environ']}"
        versions[where, "MPI"].add(str(record["mpi"]))
        versions[where, "compiler"].add(str(record["compiler"]))
        versions[where, f"{record['program']}"].add(str(record["program_version"]))
        versions["all runs", "ReFrame"].add(str(record["reframe"]))
        bindings[run.case].add(str(record["binding"]))
    for (where, what), found in versions.items():
        if len(found) > 1:
            yield Fault("versions", where, f"{what}: {'; '.join(sorted(found))}"[:300])
    for case, found in bindings.items():
        if len(found) > 1:
            yield Fault(
                "placement",
                _name(case),
                f"ranks were bound differently from run to run: {', '.join(sorted(found))}",
            )


def _own_programs(
    folder: Path, names: Sequence[str], every: Sequence[Run], found: Checked
) -> Iterator[Fault]:
    """Find programs of the collection that were not the same in all runs: every build prints their
    checksums."""
    own = [name for name in names if OWN in name and name.endswith(".out")]
    built = {name.partition(OWN)[0].partition("/")[2] for name in own}
    needed = {run.folder.rpartition("/")[0].partition("/")[2] for run in every if run.has_values}
    for where in sorted(needed - built):
        yield Fault("removed", where, "the output of the build of the collection's programs is not there")
    digests: dict[tuple[str, str], set[str]] = defaultdict(set)
    for name in own:
        for digest, program in _PRINTED_DIGEST.findall(files.read_text(folder / name, folder)):
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
    if commit != wanted:
        yield Fault(
            "collection", commit[:12], f"it was packed at this commit, but {wanted[:12]} was asked for"
        )
    yield from _changed_files(state.get("files"), _files_of(wanted, asked, found), found)
    if isinstance(untracked := state.get("untracked"), list) and untracked:
        some = ", ".join(str(name)[:60] for name in untracked[:4])
        found.notes.append(f"{len(untracked)} files in the clone do not belong to the collection: {some}")
    for version in sorted({str(run.first["collection"]) for run in every}):
        if not version.endswith(f"+g{wanted[:12]}"):
            yield Fault(
                "collection", version, f"runs were made with it, but {wanted[:12]}, unchanged, was asked for"
            )


def _files_of(commit: str, asked: Mapping[str, Any], found: Checked) -> Mapping[str, str]:
    """Return the checksums of the files of the requested commit; none, and a note, if they are not known."""
    known: Mapping[str, str] | None = asked.get("files_of_commit")
    if known is not None or not re.fullmatch(r"[0-9a-f]{40,64}", commit):
        return known or {}
    try:
        return blobs(commit)
    except FabricError:
        found.notes.append(
            f"this clone does not know the commit {commit[:12]}; give --request, which has its checksums"
        )
        return {}


def _changed_files(actual: Any, expected: Mapping[str, str], found: Checked) -> Iterator[Fault]:
    """Compare the files of the vendor's clone with those of the commit; new ones of the site are noted."""
    if not isinstance(actual, dict) or not expected:
        return
    for name in sorted(expected.keys() | actual.keys()):
        if expected.get(name) == actual.get(name):
            continue
        if name not in expected and name.startswith(_OF_SITE):
            found.notes.append(f"of the site: {name}")
        else:
            how = "is new" if name not in expected else "was deleted" if name not in actual else "was changed"
            yield Fault("collection", name, f"it {how} (see collection.diff)")


def _note_system(system: Mapping[str, Any], found: Checked) -> None:
    """Note the vendor's choices, which are no fault and decide what is measured."""
    for partition in system["partitions"]:
        extras = partition["extras"]
        stated = [
            f"{key} {extras[key]}" for key in ("nodes", "cores", "ppn", "link_MBps", "nics") if key in extras
        ]
        found.notes.append(f"{partition['name']}: {', '.join(stated)}")
        for key in ("program_options", "launch_options", "oversubscribed", "fabric", "access", "resources"):
            if given := extras.get(key) or partition.get(key):
                found.notes.append(f"{partition['name']}: {key} {json.dumps(given)[:200]}")
    for environ in system["environments"]:
        for suite, program in environ["programs"].items():
            command = str(program.get("command"))[:160]
            found.notes.append(f"{environ['name']}: {suite} is {program.get('version')}, by `{command}`")
        for suite, why in environ["without"].items():
            found.notes.append(
                f"{environ['name']} has no {suite}, so no case of it was asked for: {why}"[:300]
            )
    if isinstance(idle := system.get("not_run"), list) and idle:
        found.notes.append(
            f"no records from these environments of the system: {', '.join(map(str, idle))[:200]}"
        )


def as_json(path: Path, found: Checked) -> str:
    """Return all of it as JSON."""
    manifest = {
        name: value
        for name, value in found.manifest.items()
        if name not in ("files", "pins", "files_of_commit")
    }
    whole = {
        "bundle": str(path),
        "manifest": manifest,
        "files": len(found.manifest["files"]),
        "records": found.records,
        "runs": found.runs,
        "values": found.values,
        "recomputed": found.recomputed,
        "objections": [
            {"kind": each.kind, "location": each.location, "text": each.text} for each in found.objections
        ],
        "notes": found.notes,
        "not_proved": unproved(),
    }
    return json.dumps(whole, indent=1)

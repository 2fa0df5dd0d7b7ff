# SPDX-License-Identifier: BSD-3-Clause
"""Check an offer against the request: the file, its records, and the runs."""

from __future__ import annotations

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError, RecordError
from fabric_checks.core.grouping import by_key
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import count_text
from fabric_checks.records import sessions
from fabric_offers import (
    bundle_file,
    plausibility,
    recomputation,
    runs,
    scripts,
    signatures,
)
from fabric_offers.bundle_file import OFFER, Data, Fault
from fabric_offers.bundle_writer import COLLECTION, SYSTEM
from fabric_offers.request import NUMBER, REPEATED, blobs

#: The kinds of objections, the gravest first, with their titles.
KINDS: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("objections.yaml").read_text()
)
#: Folders of the clone that a site adds files to.
_OF_SITE = ("config/systems/", "config/references/", "config/environments/")
#: What a vendor chose of a partition.
_CHOSEN = (
    "nodes", "cores", "ppn", "link_MBps", "nics", "program_options", "launch_options", "oversubscribed",
    "fabric", "access", "resources",
)  # fmt: skip


def unproved() -> list[str]:
    """Return what cannot be proved in words, with the fields and files that it is about."""
    return [
        text + (f" ({', '.join(names)})" if names else "")
        for text, names in recomputation.UNPROVED.items()
    ]


@dataclass
class Checked:
    """The result of a check.

    :param objections: what the vendor has to be asked about; :param notes: facts that are no objection.
    :param values: the measured ones; :param recomputed: how many of them could be computed again.
    """

    manifest: Data
    objections: list[Fault]
    notes: list[str] = field(default_factory=list)
    records: int = 0
    runs: int = 0
    values: int = 0
    recomputed: int = 0


def check(
    path: Path,
    *,
    request: Path | None = None,
    signers: Path | None = None,
    link_MBps: float | None = None,
    recompute: recomputation.Recompute = recomputation.recompute,
) -> Checked:
    """Check a bundle.

    :param request: the bundle that was sent out; without it the offer is held to its own level and commit.
    :param signers: who may sign, as for ssh-keygen.
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
        found = Checked(opened.manifest, opened.faults)
        _signature(opened, signers, found)
        sent = check_request(request).manifest if request else {}
        offer = _Offer(opened, found, sent)
        if offer.level not in LEVELS:
            raise FabricError(
                f"{path}: it does not say which level was run; ask for it again"
            )
        offer.check(link_MBps, recompute)
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
        first = (
            f"{opened.faults[0].location}: {opened.faults[0].text}"
            if opened.faults
            else "it is an offer"
        )
        raise RecordError(f"{path}: not the request that was sent out: {first}")
    found = Checked(opened.manifest, [])
    _signature(opened, signers, found)
    return found


def _signature(
    opened: bundle_file.Opened, signers: Path | None, found: Checked
) -> None:
    if opened.signature is not None:
        is_good, text = signatures.verify(
            opened.manifest_text, opened.signature, signers
        )
        if is_good and signers is None:
            text = f"{text}; to check whose key that is, use --signers"
    elif signers is None:
        is_good = True
        text = "it is not signed: anyone who had it on the way could have repacked it"
    else:
        is_good, text = False, "it is not signed"
    if is_good:
        found.notes.append(text)
    else:
        found.objections.append(Fault("signature", bundle_file.SIGNATURE, text))


class _Offer:
    """An offer that is compared with what was asked for: the request, a level, and the commit of both."""

    def __init__(self, opened: bundle_file.Opened, found: Checked, sent: Data) -> None:
        self.found, self.sent = found, sent
        self.folder, self.manifest = opened.folder, opened.manifest
        self.level = str((sent or self.manifest).get("level"))
        self.names = [
            name for name in self.manifest["files"] if (self.folder / name).is_file()
        ]
        self.runs, faults, found.records = runs.read(self.folder, self.names)
        found.objections += faults
        self.measured = [run for run in self.runs if run.has_values]
        found.runs = len(self.runs)
        found.values = sum(len(run.records) for run in self.measured)
        self.system, self.state = map(self._json, (SYSTEM, COLLECTION))
        self.packed = str(self.state.get("commit"))
        self.commit = str(sent.get("commit") or self.packed)

    def _json(self, name: str) -> Data:
        """Return a JSON object of the bundle; an empty one, and an objection, if it is not there."""
        try:
            content = json.loads(files.read_bytes(self.folder / name, self.folder))
        except (OSError, ValueError, RecursionError):
            content = None
        if isinstance(content, dict):
            return content
        self.found.objections.append(
            Fault("removed", name, "it is missing, or not a JSON object")
        )
        return {}

    def check(
        self, link_MBps: float | None, recompute: recomputation.Recompute
    ) -> None:
        """List all objections and notes."""
        if self.system:
            self.found.objections += self._recomputed(link_MBps, recompute)
        for part in (
            self._answers,
            self._alike,
            self._collection,
        ):
            self.found.objections += part()

    def _recomputed(
        self, link_MBps: float | None, recompute: recomputation.Recompute
    ) -> Iterator[Fault]:
        """Compare the records with the outputs, and with the cases of the system as described."""
        try:
            with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as scratch:
                job = recomputation.job(
                    self.system, self.folder, self.level, self.measured, Path(scratch)
                )
                recomputed = recompute(job, self.packed)
        except FabricError as error:
            yield Fault("record", SYSTEM, str(error))
            return
        is_same = recomputed["at"]
        again = recomputed["runs"]
        fields = [
            name
            for name in recomputation.FOLLOWING
            if is_same or name not in recomputation.OF_RELEASE
        ]
        for run, came in zip(self.measured, again, strict=True):
            self.found.recomputed += 0 if "error" in came else len(run.records)
            yield from recomputation.differences(self.folder, run, came, fields)
        yield from self._failed()
        yield from self._counted({tuple(case) for case in recomputed["cases"]})
        yield from plausibility.implausible(
            self.folder, self.measured, self.system, link_MBps
        )
        self.found.notes += _choices(self.system)
        self.found.notes.append(
            f"recomputed with the collection {sessions.collection_version()}"
        )
        if is_same:
            faults, notes = scripts.differences(
                self.folder, self.measured, again, recomputed["folder"]
            )
            self.found.notes += notes
            yield from faults
        else:
            cause = "this clone is at another commit, or changed: job scripts and findings are not compared"
            remedy = "check it in a clone at that commit, as `git worktree add FOLDER COMMIT` makes one"
            yield Fault("collection", self.packed[:12], f"{cause}; {remedy}")

    def _answers(self) -> Iterator[Fault]:
        """Compare an offer with the request that it has to answer: its number, and when that was made."""
        if not self.sent:
            self.found.notes.append(
                "whether it answers your request is not checked: give --request"
            )
            return
        number = self.manifest.get(REPEATED)
        if number != self.sent.get(NUMBER):
            which = "that of another request" if number else "no request"
            text = f"it answers {which}; it has to be packed with --request"
            yield Fault("request", bundle_file.MANIFEST, text)
        made = datetime.fromisoformat(self.sent["made"])
        names = sorted({str(run.first["session"]) for run in self.runs})
        before = [name for name in names if (sessions.started(name) or made) < made]
        if before:
            text = f"{count_text(len(before), 'session')} began before the request was made"
            yield Fault("request", before[0], text)

    def _counted(self, cases: set[tuple[Any, ...]]) -> Iterator[Fault]:
        """Compare how often cases ran with the passes of the level."""
        ran = by_key(self.runs, lambda run: run.case)
        yield from self._left_out(cases - ran.keys())
        passes = LEVELS[self.level].passes
        for case, found in ran.items():
            good = sum(run.has_values and run.succeeded for run in found)
            if good < passes and case in cases:
                text = f"{good} good of the {passes} that {self.level} asks for"
                yield Fault("passes", _name(case), text)
            if len(found) > passes:
                sessions_of = {run.first["session"] for run in found}
                many = count_text(len(sessions_of), "session")
                text = f"{len(found)} runs in {many}, but {passes} were asked for"
                yield Fault("repeated", _name(case), text)

    def _failed(self) -> Iterator[Fault]:
        """List the runs that failed."""
        for run in self.runs:
            if not run.succeeded:
                why = str(run.first["fail_reason"] or "no reason is given")
                yield Fault("failed", run.name, why[:200])

    def _left_out(self, cases: set[tuple[Any, ...]]) -> Iterator[Fault]:
        """List cases without a record, together those of a check, partition and environment."""
        lost: dict[str, list[str]] = defaultdict(list)
        for test, *place in sorted(cases):
            name, _, parameters = str(test).partition(" ")
            lost[_name((name, *place))].append(parameters)
        for where, which in lost.items():
            many = count_text(len(which), "case")
            text = f"no record of {many} that {self.level} has: {', '.join(which)}"
            yield Fault("left out", where, text[:300])

    def _alike(self) -> Iterator[Fault]:
        """Find versions and bindings that differ between runs."""
        seen: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for run in self.measured:
            record = run.first
            where = f"{record['partition']}+{record['environ']}"
            for kind, place, what, name in (
                ("versions", where, "MPI", "mpi"),
                ("versions", where, "compiler", "compiler"),
                ("versions", where, str(record["program"]), "program_version"),
                ("versions", "all runs", "ReFrame", "reframe"),
                ("placement", _name(run.case), "binding of the ranks", "binding"),
            ):
                seen[kind, place, what].add(str(record[name]))
        for (kind, place, what), several in seen.items():
            if len(several) > 1:
                yield Fault(kind, place, f"{what}: {'; '.join(sorted(several))}"[:300])

    def _collection(self) -> Iterator[Fault]:
        """Compare the vendor's clone with the requested commit."""
        wanted = self.commit[:12]
        if self.packed != self.commit:
            text = f"it was packed at this commit, but {wanted} was asked for"
            yield Fault("collection", self.packed[:12], text)
        yield from self._changed_files()
        if isinstance(untracked := self.state.get("untracked"), list) and untracked:
            some = ", ".join(str(name)[:60] for name in untracked[:4])
            self.found.notes.append(
                f"{len(untracked)} files in the clone do not belong to the collection: {some}"
            )
        for version in sorted({str(run.first["collection"]) for run in self.runs}):
            if not version.endswith(f"+g{wanted}"):
                text = f"runs were made with it, but {wanted}, unchanged, was asked for"
                yield Fault("collection", version, text)

    def _changed_files(self) -> Iterator[Fault]:
        """Compare the files of the vendor's clone with those of its commit; note new ones of the site."""
        actual = self.state.get("files")
        if not isinstance(actual, dict) or not re.fullmatch(
            r"[0-9a-f]{40,64}", self.packed
        ):
            return
        try:
            expected = blobs(self.packed)
        except FabricError:
            self.found.notes.append(
                f"this clone does not know the commit {self.packed[:12]}: whether files of the collection"
                " were changed is not checked; fetch it"
            )
            return
        for name in sorted(expected.keys() | actual.keys()):
            if name not in expected and name.startswith(_OF_SITE):
                self.found.notes.append(f"of the site: {name}")
            elif expected.get(name) != actual.get(name):
                is_new, is_gone = name not in expected, name not in actual
                how = (
                    "is new" if is_new else "was deleted" if is_gone else "was changed"
                )
                yield Fault("collection", name, f"it {how} (see collection.diff)")


def _name(case: Sequence[str]) -> str:
    return f"{case[0]} @{case[1]}+{case[2]}"


def _choices(system: Data) -> Iterator[str]:
    """Yield the vendor's choices, which are no fault and decide what is measured."""
    for partition in system["partitions"]:
        given = {**partition, **partition["extras"]}
        stated = [
            f"{key} {json.dumps(given[key])[:200]}" for key in _CHOSEN if given.get(key)
        ]
        yield f"{partition['name']}: {', '.join(stated)}"
    for environ in system["environments"]:
        for suite, program in environ["programs"].items():
            command = str(program.get("command"))[:160]
            yield f"{environ['name']}: {suite} is {program.get('version')}, by `{command}`"
        for suite, why in environ["without"].items():
            yield f"{environ['name']} has no {suite}, so no case of it was asked for: {why}"[
                :300
            ]
    if idle := system.get("not_run"):
        yield f"no records from these environments of the system: {', '.join(map(str, idle))[:200]}"


def as_json(path: Path, found: Checked) -> str:
    """Return all of it as JSON."""
    whole = {
        **vars(found),
        "bundle": str(path),
        "manifest": {
            name: value for name, value in found.manifest.items() if name != "files"
        },
        "files": len(found.manifest["files"]),
        "objections": [asdict(each) for each in found.objections],
        "not_proved": unproved(),
    }
    return json.dumps(whole, indent=1)

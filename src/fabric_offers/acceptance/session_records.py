# SPDX-License-Identifier: BSD-3-Clause
"""Load the records that clauses are judged by, from results or recomputed from a bundle, and count their
sessions.

The ledger is a file of JSON lines among the results: one line for each session that ended, with the SHA-256
of its records and of the line before (a hash chain: Haber and Stornetta, How to time-stamp a digital
document, J. Cryptology 3, 1991). Whoever has a copy of its last line can tell that a session was removed,
changed, or put in later.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.records import reader, sources, table
from fabric_checks.records.record import Record
from fabric_checks.records.runs import reports_of
from fabric_offers import bundle_file, offer_check, recomputation, runs
from fabric_offers.acceptance.clauses import Contract, Role
from fabric_offers.bundle_file import Data

#: The names in a bundle; signatures have that of the document, and the role of who signed.
PACKED = {
    "clauses": "acceptance/clauses.yaml",
    "ledger": "acceptance/ledger.jsonl",
    "verdict": "acceptance/verdict.html",
}
ROLES: tuple[Role, ...] = ("seller", "buyer")
#: Objections to a bundle that are about the level that was asked for, and not about clauses.
_ABOUT_LEVELS = (
    "left out",
    "passes",
    "repeated",
    "failed",
    "versions",
    "placement",
    "request",
)


@dataclass(frozen=True)
class Evidence:
    """The records that clauses are judged by.

    :param folder: of the results, with the outputs. :param faults: why records were left out, or differ from
        outputs.
    :param recomputed: how many values were computed again from their outputs; None where that was not done.
    """

    records: tuple[Record, ...]
    folder: Path
    faults: tuple[str, ...] = ()
    recomputed: int | None = None


def load(source: str) -> Evidence:
    """Load a set of results as a user names it.

    :raises RecordError: if there is none.
    """
    chosen = sources.parse(source)
    loaded = reader.load([chosen])
    return Evidence(
        tuple(map(table.record_of, loaded.frame.to_dicts())), chosen.path, loaded.faults
    )


@contextmanager
def of_bundle(path: Path) -> Iterator[Evidence]:
    """Unpack a bundle and take the values that follow from its outputs; a run that has none is left out.

    :raises RecordError: if it is no offer. :raises FabricError: if it cannot be checked.
    """
    again: list[Data] = []

    def kept(asked: Data, commit: str) -> Data:
        found = recomputation.recompute(asked, commit)
        again.extend(found["runs"])
        return found

    checked = offer_check.check(path, recompute=kept)
    faults = [
        f"{each.location}: {each.text}"
        for each in checked.objections
        if each.kind not in _ABOUT_LEVELS
    ]
    with tempfile.TemporaryDirectory(prefix="fabric-bundle-") as folder:
        opened = bundle_file.unpack(path, Path(folder))
        names = [
            name for name in opened.manifest["files"] if (Path(folder) / name).is_file()
        ]
        records = _following(runs.read(Path(folder), names)[0], again)
        count = sum(record["metric"] is not None for record in records)
        yield Evidence(
            tuple(records), Path(folder), tuple(dict.fromkeys(faults)), count
        )


def _following(every: Sequence[runs.Run], again: Sequence[Data]) -> list[Record]:
    """Return the records of runs that failed, and of the others what follows from their outputs."""
    records: list[Record] = [
        record for run in every if not run.has_values for record in run.records
    ]
    computed = (*recomputation.FOLLOWING, "metric")
    for run, came in zip((run for run in every if run.has_values), again, strict=False):
        own = {name: value for name, value in run.first.items() if name not in computed}
        records += [{**record, **own} for record in came.get("records", ())]
    return records


def digest(records: Sequence[Record]) -> str:
    """Return the SHA-256 of what was measured, in any order; the same for records and for those
    recomputed."""
    fields = ("test", "partition", "environ", "metric", "jobid", "case_result")
    rows = (
        [*map(record.get, fields), f"{record['value']:.9g}" if record["metric"] else ""]
        for record in records
    )
    return hashlib.sha256("\n".join(sorted(map(json.dumps, rows))).encode()).hexdigest()


class Entry(msgspec.Struct, frozen=True):
    """A session that was counted, as a line of the ledger has it.

    :param sha256: of its records; :param before: of the line before; :param clauses: of the file of clauses
        that it was counted for, empty in lines of earlier releases.
    """

    session: str
    sha256: str
    counted: datetime
    before: str
    clauses: str = ""


@dataclass
class Ledger:
    """The sessions that were counted.

    :param lines: as the file has them, of which :param entries: are the content.
    :param faults: what is wrong with the chain, or with the records.
    """

    path: Path
    lines: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def last(self) -> str:
        """The SHA-256 of the last line, which both sides keep; of none: empty."""
        return hashlib.sha256(self.lines[-1].encode()).hexdigest() if self.lines else ""

    def count(self, evidence: Evidence, contract: Contract) -> list[str]:
        """Compare it with clauses and records, note what differs, and count and return the sessions that are
        not in it.

        A session whose run report is not yet there has not ended, and is not counted.
        """
        by_session: dict[str, list[Record]] = defaultdict(list)
        for record in evidence.records:
            if record["system"] == contract.system:
                by_session[str(record["session"])].append(record)
        self.faults += self._differences(by_session, contract)
        known = {entry.session for entry in self.entries}
        fresh = sorted((by_session.keys() & reports_of(evidence.folder).keys()) - known)
        for session in fresh:
            if known and session < max(known):
                self.faults.append(
                    f"{session}: it began before {max(known)} but was not there when that was counted"
                )
            now = datetime.now(timezone.utc).replace(microsecond=0)
            sha256 = digest(by_session[session])
            entry = Entry(session, sha256, now, self.last, contract.sha256)
            self.entries.append(entry)
            self.lines.append(json.dumps(msgspec.to_builtins(entry), sort_keys=True))
        return fresh

    def _differences(
        self, by_session: Mapping[str, Sequence[Record]], contract: Contract
    ) -> Iterator[str]:
        """Yield counted sessions whose records are not what they were, and whether the clauses are others."""
        for entry in self.entries:
            session, day = entry.session, f"{entry.counted:%Y-%m-%d}"
            if session not in by_session:
                yield f"{session}: it was counted on {day}, and its records are gone"
            elif digest(by_session[session]) != entry.sha256:
                yield f"{session}: its records are not those that were counted on {day}"
        if {entry.clauses for entry in self.entries} - {"", contract.sha256}:
            yield (
                f"{contract.path}: it was changed after sessions were counted for it; restore it, or count"
                " anew with another --ledger if both sides agree on the change"
            )

    def write(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(self.path, "".join(f"{line}\n" for line in self.lines))


def ledger_of(results: Path, contract: Path) -> Path:
    """Return where the ledger of clauses is in a folder of results."""
    return results / f"acceptance/{contract.stem}.jsonl"


def signature_of(document: Path, role: str) -> Path:
    """Return where the signature of a document is."""
    return document.with_name(f"{document.name}.{role}.sig")


def packed(
    contract: Path, results: Path, document: Path | None
) -> dict[str, Path | bytes]:
    """Return the clauses, the ledger, and the document with its signatures, by their names in a bundle.

    :raises RecordError: if one is missing; a signature may be.
    """
    named = {"clauses": contract, "ledger": ledger_of(results, contract)}
    signed = {}
    if document:
        named["verdict"] = document
        inside = Path(PACKED["verdict"])
        signed = {
            signature_of(inside, role): signature_of(document, role) for role in ROLES
        }
    for name, path in named.items():
        if not path.is_file():
            how = "; `accept status` writes it" if name == "ledger" else ""
            raise RecordError(f"{path}: the {name} is not there{how}")
    return {
        **{PACKED[name]: path for name, path in named.items()},
        **{str(name): path for name, path in signed.items() if path.is_file()},
    }


def ledger(path: Path) -> Ledger:
    """Read a ledger; one that does not exist is empty.

    :raises RecordError: if it is none.
    """
    found = Ledger(path)
    lines = files.read_text(path).splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except (msgspec.MsgspecError, ValueError):
            raise RecordError(
                f"{path}:{number}: {quoted(line, 60)} is no line of a ledger; restore its copy"
            ) from None
        if entry.before != found.last:
            found.faults.append(
                f"{path}:{number}: it does not follow from the line before: the ledger was changed"
            )
        found.lines.append(line)
        found.entries.append(entry)
    return found

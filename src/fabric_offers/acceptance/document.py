# SPDX-License-Identifier: BSD-3-Clause
"""Write the verdict on a contract for signing: two pages of HTML, on the model and the renderer of the
report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.core import console, files
from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import count_text, first_of, names_text
from fabric_checks.records.record import Record
from fabric_checks.report.blocks import Lines, Section, Table
from fabric_checks.report.page import render
from fabric_offers import signatures
from fabric_offers.acceptance import clause_verdicts
from fabric_offers.acceptance.clause_verdicts import Judged
from fabric_offers.acceptance.clauses import Clause, Contract, Of, number_text
from fabric_offers.acceptance.sequential import MET, OPEN, VIOLATED
from fabric_offers.acceptance.session_records import (
    ROLES,
    Evidence,
    Ledger,
    digest,
    signature_of,
)

#: So many lines of what did not count are on paper; the page says how many more there are.
_MOST_LINES = 12
_NOT_COUNTED = "not: without a ledger nobody can tell whether a session was left out"
_BLANK = "_" * 16


def bounds_text(clause: Clause, unit: str = "") -> str:
    """Return what a clause asks for, in words."""
    way = "at least" if clause.good > clause.bad else "at most"
    good, bad = (
        number_text(clause, bound, unit) for bound in (clause.good, clause.bad)
    )
    return f"{way} {good}; {bad} is refused"


def quantity_text(clause: Clause) -> str:
    """Return the quantity of a clause in words, as in ``99.5 % of pairs reach, of the line rate``."""
    if clause.quantity == "quantile":
        words = f"what {100 * (clause.share or 0):g} % of {clause.over} reach"
    elif clause.quantity == "share":
        bounds = (("at least", clause.at_least), ("at most", clause.at_most))
        texts = [f"with {way} {bound:g}" for way, bound in bounds if bound is not None]
        words = f"share of {clause.unit}s {(*texts, f'without a fault of {names_text(clause.free_of)}')[0]}"
    elif clause.quantity == "slowest":
        words = f"the slowest of {clause.over}"
    else:
        words = f"{clause.quantity} of {clause.over}"
    return f"{words}{_of_text(clause)}"


def _of_text(clause: Clause) -> str:
    if not isinstance(clause.of, Of):
        return f", of the {clause.of}" if clause.of else ""
    return (
        ", of another series"
        if clause.of.value is None
        else f", of {clause.of.value:g} ({clause.of.source})"
    )


def html(
    contract: Contract,
    judged: Sequence[Judged],
    evidence: Evidence,
    ledger: Ledger,
    code: str,
) -> str:
    """Return the document.

    :param ledger: without lines if sessions were not counted. :param code: version and commit that judged.
    """
    counted = Lines(
        "excluded",
        "What did not count, and why",
        _excluded(judged),
        empty="Everything counted.",
    )
    hashes = _hashes(contract, judged, evidence, ledger, code)
    signed = Lines("signatures", "Signatures", (("", _signatures(contract)),))
    parts = (counted, Lines("hashes", "Hashes", hashes), signed)
    basis = Section("basis", "What it rests on", parts)
    sections = [_verdict(contract, judged), basis]
    return render(contract.title, sections, datetime.now(timezone.utc))


def _verdict(contract: Contract, judged: Sequence[Judged]) -> Section:
    word = clause_verdicts.overall(judged)
    seller, buyer = clause_verdicts.joint_risks(contract)
    counts = Counter(each.word for each in judged)
    since = contract.period.get("from", "the first session")
    period = f"{since} to {contract.period.get('to', 'the last')}"
    sessions = sorted({str(record["session"]) for record in _records(judged)})
    counted = ", ".join(f"{counts[each]} {each}" for each in (MET, VIOLATED, OPEN))
    return Section(
        "verdict",
        "Verdict",
        (_table(judged),),
        verdict=(word, f"{count_text(len(judged), 'clause')}: {counted}."),
        intro=(contract.source,) if contract.source else (),
        facts=(
            ("System", contract.system),
            ("Period", f"{period}, UTC"),
            (
                "Sessions",
                f"{len(sessions)}, {sessions[0]} to {sessions[-1]}"
                if sessions
                else "none",
            ),
            (
                "Risks",
                (
                    f"seller's at most {100 * seller:.3g} % over all clauses, buyer's {100 * buyer:.3g} % in"
                    " each"
                ),
            ),
        ),
    )


def _hashes(
    contract: Contract,
    judged: Sequence[Judged],
    evidence: Evidence,
    ledger: Ledger,
    code: str,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    records = _records(judged)
    runs = count_text(len({each["output"] for each in records}), "run")
    versions = ", ".join(
        sorted({str(each["collection"]) for each in records if each["collection"]})
    )
    counted = f"{count_text(len(ledger.entries), 'session')}, SHA-256 of the last line {ledger.last}"
    again = "as recorded; `offers accept check` computes them again from the outputs"
    if evidence.recomputed is not None:
        again = f"{evidence.recomputed} computed again from the outputs, {len(evidence.faults)} objections"
    return (
        ("clauses", (f"{contract.path.name}, SHA-256 {contract.sha256}",)),
        ("records", (f"{runs}, SHA-256 {digest(records)}",)),
        (
            "code",
            (f"judged with {code}; measured with {versions or 'an unknown version'}",),
        ),
        ("sessions counted", (counted if ledger.entries else _NOT_COUNTED,)),
        ("values", (again,)),
    )


def _signatures(contract: Contract) -> tuple[str, ...]:
    return (
        (
            "Each side signs this file with its own key: fabric-checks offers accept sign FILE --as ROLE"
            " --key KEY. The signature is in a file of its own; whoever has the public keys can verify both."
        ),
        *(
            f"{role}: {contract.parties.get(role, _BLANK)}, date: {_BLANK}, signature: {_BLANK}"
            for role in ROLES
        ),
    )


def _records(judged: Sequence[Judged]) -> list[Record]:
    return [record for each in judged for record in each.observed.records]


def _table(judged: Sequence[Judged]) -> Table:
    columns = (
        "verdict",
        "asked for",
        "measured",
        "units",
        "risks, seller and buyer",
    )
    rows = []
    for each in judged:
        clause, unit = each.clause, each.observed.unit
        cells = (
            each.word,
            f"{quantity_text(clause)}: {bounds_text(clause, unit)}",
            number_text(clause, each.estimate, unit)
            if each.estimate is not None
            else "nothing yet",
            f"{each.state.units} of at most {count_text(each.plan.most_units, clause.unit)}",
            f"{100 * clause.seller_risk:g} %, {100 * clause.buyer_risk:g} %",
        )
        rows.append(
            (
                f"{clause.name}{f': {clause.text}' if clause.text else ''}",
                cells,
            )
        )
    notes = (
        (
            "A unit is one number, of all runs, nodes and pairs of its day or session. The test is sequential"
            " (Wald, 1945), with exact risks for units as correlated as agreed."
        ),
        *(f"{each.clause.name}: {note}." for each in judged for note in each.notes),
    )
    return Table(
        "clauses",
        "Clause by clause",
        "clause",
        columns,
        tuple(rows),
        notes,
    )


def _excluded(judged: Sequence[Judged]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    hint = ", which `status --json` lists"
    return tuple(
        (each.clause.name, tuple(first_of(each.observed.lines, hint, _MOST_LINES)))
        for each in judged
        if each.observed.lines
    )


def read(path: Path) -> bytes:
    """Return a document as it is signed.

    :raises FabricError: if there is none.
    """
    try:
        return files.read_bytes(path)
    except OSError as error:
        raise FabricError(
            f"{path}: {error.strerror}; name the document that `accept verdict` wrote"
        ) from None


def objections(
    path: Path,
    contract: Contract,
    judged: Sequence[Judged],
    ledger: Ledger,
    signers: Path | None,
) -> list[str]:
    """Return what is wrong with a document: its signatures, or what it rests on, or its verdict.

    :param judged: the verdict as the outputs give it. :param signers: who may sign, see ssh-keygen(1).
    """
    text, found = read(path), []
    for role in ROLES:
        signature = signature_of(path, role)
        if not signature.is_file():
            found.append(f"{path.name}: the {role} has not signed it")
            continue
        good, who = signatures.verify(text, files.read_bytes(signature), signers)
        if not good or (signers is not None and f" for {role} " not in f" {who} "):
            found.append(f"{signature.name}: not a signature of the {role}: {who}")
        else:
            console.error(f"signed by the {role}: {who}")
    shown, word = text.decode(errors="replace"), clause_verdicts.overall(judged)
    counted = ledger.last or _NOT_COUNTED
    causes = {
        contract.sha256: f"it is about other clauses than {contract.path.name}",
        counted: f"its count of sessions does not end with the last line of {ledger.path.name}",
        digest(_records(judged)): "its records are not those that the outputs give",
        f'class="verdict {word}"': f"its verdict is not {word}, which the outputs give",
    }
    found += [
        f"{path.name}: {cause}" for part, cause in causes.items() if part not in shown
    ]
    return found

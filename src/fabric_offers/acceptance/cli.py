# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks offers accept``: plan an acceptance, see where it stands, judge it, sign it, and check it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from fabric_checks.core import console, files, paths
from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import count_text
from fabric_checks.records import sessions
from fabric_checks.report.texts import rich_table
from fabric_offers import bundle_file, signing
from fabric_offers.acceptance import clauses, document, evidence, judging, planning
from fabric_offers.acceptance.clauses import Contract
from fabric_offers.acceptance.evidence import Evidence, Ledger
from fabric_offers.acceptance.judging import Judged
from fabric_offers.acceptance.observations import number_text
from fabric_offers.acceptance.sequential import MET, OPEN, VIOLATED

_STATUSES = """
\b
Exit status: 0 if the contract is met; 1 for an error; 2 for wrong usage; 3 if a clause is violated, or what is checked
is not as it was; 4 if a clause is open.
"""
_PLAN = """
\b
Examples:
  fabric-checks offers accept plan config/clauses/oak.yaml
  fabric-checks offers accept plan clauses.yaml .fabric/results --system oak       with node-hours

\b
config/clauses has examples, docs/clauses.md describes their keys.
"""
_STATUS_HELP = f"""
\b
Examples:
  fabric-checks offers accept status clauses.yaml
  fabric-checks offers accept status clauses.yaml .fabric/results,system=oak --json
{_STATUSES}"""
_VERDICT = f"""
\b
Examples:
  fabric-checks offers accept verdict clauses.yaml verdict.html
{_STATUSES}"""
_SIGN = """
\b
Examples:
  fabric-checks offers accept sign verdict.html --as seller --key ~/.ssh/id_ed25519
"""
_CHECK = f"""
\b
Examples:
  fabric-checks offers accept check clauses.yaml oak.tar
  fabric-checks offers accept check clauses.yaml oak.tar --verdict verdict.html --signers signers --ledger ledger.jsonl
{_STATUSES}"""
_STATUS = {MET: 0, VIOLATED: 3, OPEN: 4}
_ROLES = ("seller", "buyer")

_file = click.Path(path_type=Path, dir_okay=False)
_contract = click.argument("contract", metavar="CLAUSES", type=_file)
_source = click.argument("source", metavar="[RESULTS]", default="", required=False)
_json = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
_ledger = click.option(
    "--ledger", "ledger_path", type=_file, help="The count of sessions.  [default: acceptance/CLAUSES.jsonl in RESULTS]"
)


@click.group("accept")
def command() -> None:
    """Judge a machine by the clauses of a contract, with stated risks for both sides."""


@command.command("plan", epilog=_PLAN)
@_contract
@_source
@click.option("--system", help="A system of this clone: its checks must have the cases and its links the rates.")
@_json
def plan(contract: Path, *, source: str, system: str | None, as_json: bool) -> None:
    """Print what CLAUSES take: units, at most and on average, node-hours, and the smallest violation that is found.

    It refuses clauses that cannot be decided or that nobody measures. RESULTS say how long the cases took.
    """
    read = clauses.read(contract)
    if system:
        planning.require_measured(read, system)
    rows = planning.rows(read, evidence.load(source).records if source else ())
    if as_json:
        console.print_json(json.dumps([asdict(row) for row in rows], indent=1))
        return
    console.print_rich([rich_table(planning.HEADER, [row.cells() for row in rows])])
    seller, buyer = judging.joint_risks(read)
    console.print(
        f"A good machine fails some clause with at most {100 * seller:.3g} %; one that is bad in a clause meets it "
        f"with at most {100 * buyer:.3g} %.",
        *(f"{row.name}: {row.note}" for row in rows if row.note),
    )


def _judged(read: Contract, found: Evidence) -> list[Judged]:
    return judging.judge(read, found.records, found.folder)


def _opened(path: Path | None, contract: Path, folder: Path) -> Ledger:
    return evidence.ledger(path or folder / evidence.LEDGERS / f"{contract.stem}.jsonl")


@command.command("status", epilog=_STATUS_HELP)
@_contract
@_source
@_ledger
@_json
def status(contract: Path, *, source: str, ledger_path: Path | None, as_json: bool) -> None:
    """Count the sessions that ended, and print where each clause stands: met, violated or open.

    RESULTS are those of this clone, unless named. Give the other side the last line of the ledger after each session.
    """
    read = clauses.read(contract)
    found = evidence.load(source or str(paths.results()))
    ledger = _opened(ledger_path, contract, found.folder)
    ledger.add(ledger.compare(found, read.system))
    judged = _judged(read, found)
    if as_json:
        console.print_json(json.dumps([_data(each) for each in judged], indent=1))
    else:
        _print(judged)
        console.print(
            f"{count_text(len(ledger.entries), 'session')} counted; last line of {ledger.path}: {ledger.last}"
        )
    _end(judged, [*found.faults, *ledger.faults])


def _data(each: Judged) -> dict[str, Any]:
    return {
        **{"clause": each.clause.name, "verdict": each.word, "units": [asdict(unit) for unit in each.observed.units]},
        **{"estimate": each.estimate, "low": each.low, "high": each.high, "left": each.left},
        **{"evidence": list(each.state.path), "notes": list(each.notes), "excluded": list(each.observed.lines)},
    }


def _print(judged: Sequence[Judged]) -> None:
    header = ("verdict", "clause", "asked for", "measured", "used", "left at most")
    rows = []
    for each in judged:
        clause, unit = each.clause, each.observed.unit
        value = "-" if each.estimate is None else number_text(clause, each.estimate, unit)
        cells = (document.bounds_text(clause, unit), value, count_text(each.state.units, clause.unit), str(each.left))
        rows.append((each.word, clause.name, *cells))
    console.print_rich([rich_table(header, rows)])
    for each in judged:
        console.print(*(f"{each.clause.name}: {line}" for line in (*each.notes, *each.observed.lines)))


def _end(judged: Sequence[Judged], faults: Sequence[str]) -> None:
    console.warn(tuple(faults))
    raise SystemExit(3 if faults else _STATUS[judging.overall(judged)])


@command.command("verdict", epilog=_VERDICT)
@_contract
@click.argument("target", metavar="FILE", type=_file)
@_source
@_ledger
def verdict(contract: Path, *, target: Path, source: str, ledger_path: Path | None) -> None:
    """Write the verdict as two pages of HTML for signing.

    What the ledger and the records contradict each other in is an error: no document is written.
    """
    read = clauses.read(contract)
    found = evidence.load(source or str(paths.results()))
    ledger = _opened(ledger_path, contract, found.folder)
    fresh = ledger.compare(found, read.system)
    if ledger.faults or found.faults:
        raise FabricError(f"no verdict: {(*ledger.faults, *found.faults)[0]}; restore what was counted")
    ledger.add(fresh)
    judged = _judged(read, found)
    files.write_text(target, document.html(read, judged, found, ledger, sessions.collection_version()))
    console.print(f"{target}: {judging.overall(judged)}")
    _end(judged, ())


@command.command("sign", epilog=_SIGN)
@click.argument("target", metavar="FILE", type=_file)
@click.option("--as", "role", required=True, type=click.Choice(_ROLES), help="Who signs.")
@click.option("--key", required=True, type=click.Path(path_type=Path), help="An SSH key.")
def sign(target: Path, *, role: str, key: Path) -> None:
    """Sign a verdict; the signature is FILE.seller.sig or FILE.buyer.sig."""
    path = _signature(target, role)
    files.write_text(path, signing.signature(_bytes(target), key).decode())
    console.print(f"{path}: signed by the {role}")


def _signature(target: Path, role: str) -> Path:
    return target.with_name(f"{target.name}.{role}.sig")


def _bytes(path: Path) -> bytes:
    try:
        return files.read_bytes(path)
    except OSError as error:
        raise FabricError(f"{path}: {error.strerror}; name the document that `accept verdict` wrote") from None


@command.command("check", epilog=_CHECK)
@_contract
@click.argument("bundle", type=_file)
@click.option("--verdict", "document_path", type=_file, help="The document: its signatures and its verdict.")
@click.option("--signers", type=_file, help="Allowed signers, lines `seller KEY` and `buyer KEY`, see ssh-keygen(1).")
@_ledger
@_json
def check(
    contract: Path,
    *,
    bundle: Path,
    document_path: Path | None,
    signers: Path | None,
    ledger_path: Path | None,
    as_json: bool,
) -> None:
    """Repeat the verdict from the outputs in BUNDLE alone, which `offers pack` wrote, and compare."""
    if not bundle_file.is_bundle(bundle):
        raise FabricError(f"{bundle}: this is no bundle; `fabric-checks offers pack` writes one")
    read = clauses.read(contract)
    with evidence.of_bundle(bundle) as found:
        objections = list(found.faults)
        if ledger_path:
            ledger = evidence.ledger(ledger_path)
            missing = ledger.compare(found, read.system)
            objections += [*ledger.faults, *(f"{each['session']}: it was never counted" for each in missing)]
        judged = _judged(read, found)
        if document_path:
            objections += _objections(document_path, read, judged, signers)
        if as_json:
            console.print_json(json.dumps([_data(each) for each in judged], indent=1))
        else:
            _print(judged)
            console.print(f"{found.recomputed} values computed again from their outputs")
    _end(judged, objections)


def _objections(path: Path, read: Contract, judged: Sequence[Judged], signers: Path | None) -> list[str]:
    """Return what is wrong with a document: its signatures, its clauses, its verdict."""
    text, found = _bytes(path), []
    for role in _ROLES:
        signature = _signature(path, role)
        if not signature.is_file():
            found.append(f"{path}: the {role} has not signed it")
            continue
        good, who = signing.verify(text, _bytes(signature), signers)
        is_theirs = good and (signers is None or f" for {role} " in f" {who} ")
        if not is_theirs:
            found.append(f"{signature}: not a signature of the {role}: {who}")
        else:
            console.error(f"signed by the {role}: {who}")
    shown = text.decode(errors="replace")
    if read.sha256 not in shown:
        found.append(f"{path}: it is about other clauses than {read.path}")
    if f'class="verdict {judging.overall(judged)}"' not in shown:
        found.append(f"{path}: its verdict is not {judging.overall(judged)}, which the outputs give")
    return found

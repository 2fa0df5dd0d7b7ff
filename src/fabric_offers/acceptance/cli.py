# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks offers accept``: plan an acceptance, see where it stands, judge it, sign it, and check
it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fabric_checks.cli.verb import FOUND, Verbs, json_option
from fabric_checks.core import console, files, paths
from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import count_text
from fabric_checks.records import sessions
from fabric_checks.report.texts import rich_table
from fabric_offers import signatures
from fabric_offers.acceptance import (
    clause_verdicts,
    clauses,
    document,
    run_plan,
    session_records,
)
from fabric_offers.acceptance.clause_verdicts import Judged
from fabric_offers.acceptance.clauses import Contract, number_text
from fabric_offers.acceptance.sequential import MET, OPEN, VIOLATED
from fabric_offers.acceptance.session_records import Evidence, Ledger

_STATUSES = {
    0: "the contract is met",
    FOUND: "a clause is violated, or what is checked is not as it was",
    4: "a clause is open",
}
_PLAN = """
\b
Examples:
  fabric-checks offers accept plan config/clauses/oak.yaml
  fabric-checks offers accept plan clauses.yaml .fabric/results --system oak       with node-hours

\b
config/clauses has examples, docs/clauses.md describes their keys.
"""
_STATUS_HELP = """
\b
Examples:
  fabric-checks offers accept status clauses.yaml
  fabric-checks offers accept status clauses.yaml .fabric/results,system=oak --json
"""
_VERDICT = """
\b
Examples:
  fabric-checks offers accept verdict clauses.yaml verdict.html
"""
_SIGN = """
\b
Examples:
  fabric-checks offers accept sign verdict.html --as seller --key ~/.ssh/id_ed25519
"""
_CHECK = """
\b
Examples:
  fabric-checks offers accept check oak.tar --signers signers
  fabric-checks offers accept check oak.tar --clauses clauses.yaml --ledger ledger.jsonl     by our own copies
"""
_STATUS = {MET: 0, VIOLATED: FOUND, OPEN: 4}

_file = click.Path(path_type=Path, dir_okay=False)
_contract = click.argument("contract", metavar="CLAUSES", type=_file)
_source = click.argument("source", metavar="[RESULTS]", default="", required=False)
_ledger = click.option(
    "--ledger",
    "ledger_path",
    type=_file,
    help="The count of sessions.  [default: acceptance/CLAUSES.jsonl in RESULTS]",
)


@click.group("accept", cls=Verbs)
def command() -> None:
    """Judge a machine by the clauses of a contract, with stated risks for both sides."""


@command.command("plan", epilog=_PLAN)
@_contract
@_source
@click.option(
    "--system", help="A system of this clone, whose checks must have the cases."
)
@json_option
def plan(contract: Path, *, source: str, system: str | None, as_json: bool) -> None:
    """Print what CLAUSES take: units, at most and on average, node-hours, and from which value on a bad
    machine is refused.

    It refuses clauses that cannot be decided or that nobody measures. RESULTS say how long the cases took.
    """
    read = clauses.read(contract)
    if system:
        run_plan.require_measured(read, system)
    rows = run_plan.rows(read, session_records.load(source).records if source else ())
    if as_json:
        console.print_json(rows)
        return
    console.print_rich([rich_table(run_plan.HEADER, list(map(run_plan.cells, rows)))])
    seller, buyer = clause_verdicts.joint_risks(read)
    console.print(
        f"A good machine fails some clause with at most {100 * seller:.3g} %; one that is bad in a clause"
        f" meets it with at most {100 * buyer:.3g} %."
    )


def _counted(
    contract: Path, source: str, ledger_path: Path | None
) -> tuple[Contract, Evidence, Ledger]:
    """Return clauses, results and ledger; sessions that the ledger does not have are counted, but not yet
    written."""
    read = clauses.read(contract)
    found = session_records.load(source or str(paths.results()))
    ledger = session_records.ledger(
        ledger_path or session_records.ledger_of(found.folder, contract)
    )
    ledger.count(found, read)
    return read, found, ledger


@command.command("status", epilog=_STATUS_HELP, statuses=_STATUSES)
@_contract
@_source
@_ledger
@json_option
def status(
    contract: Path, *, source: str, ledger_path: Path | None, as_json: bool
) -> None:
    """Count the sessions that ended, and print where each clause stands: met, violated or open.

    RESULTS are those of this clone, unless named. Give the other side the last line of the ledger after each
    session.
    """
    read, found, ledger = _counted(contract, source, ledger_path)
    ledger.write()
    judged = clause_verdicts.judge(read, found.records, found.folder)
    count = count_text(len(ledger.entries), "session")
    _print(
        judged,
        f"{count} counted; last line of {ledger.path}: {ledger.last or 'none yet'}",
        as_json,
    )
    _end(judged, [*found.faults, *ledger.faults])


def _print(judged: Sequence[Judged], last: str, as_json: bool) -> None:
    if as_json:
        console.print_json([each.data for each in judged])
        return
    header = ("verdict", "clause", "asked for", "measured", "used", "left at most")
    rows = []
    for each in judged:
        clause, unit = each.clause, each.observed.unit
        value = (
            "-" if each.estimate is None else number_text(clause, each.estimate, unit)
        )
        used = count_text(each.state.units, clause.unit)
        bounds = document.bounds_text(clause, unit)
        rows.append((each.word, clause.name, bounds, value, used, str(each.left)))
    console.print_rich([rich_table(header, rows)])
    console.print(
        *(
            f"{each.clause.name}: {line}"
            for each in judged
            for line in (*each.notes, *each.observed.lines)
        ),
        last,
    )


def _end(judged: Sequence[Judged], faults: Sequence[str]) -> None:
    console.warn(tuple(faults))
    raise SystemExit(FOUND if faults else _STATUS[clause_verdicts.overall(judged)])


@command.command("verdict", epilog=_VERDICT, statuses=_STATUSES)
@_contract
@click.argument("target", metavar="FILE", type=_file)
@_source
@_ledger
def verdict(
    contract: Path, *, target: Path, source: str, ledger_path: Path | None
) -> None:
    """Write the verdict as two pages of HTML for signing.

    If ledger and records disagree, no document is written (status 1).
    """
    read, found, ledger = _counted(contract, source, ledger_path)
    if faults := (*ledger.faults, *found.faults):
        raise FabricError(f"no verdict: {faults[0]}; restore what was counted")
    ledger.write()
    judged = clause_verdicts.judge(read, found.records, found.folder)
    files.write_text(
        target,
        document.html(read, judged, found, ledger, sessions.collection_version()),
    )
    console.print(f"{target}: {clause_verdicts.overall(judged)}")
    _end(judged, ())


@command.command("sign", epilog=_SIGN)
@click.argument("target", metavar="FILE", type=_file)
@click.option(
    "--as",
    "role",
    required=True,
    type=click.Choice(session_records.ROLES),
    help="Who signs.",
)
@click.option(
    "--key", required=True, type=click.Path(path_type=Path), help="An SSH key."
)
def sign(target: Path, *, role: str, key: Path) -> None:
    """Sign a verdict; the signature is FILE.seller.sig or FILE.buyer.sig."""
    path = session_records.signature_of(target, role)
    files.write_text(path, signatures.signature(document.read(target), key).decode())
    console.print(f"{path}: signed by the {role}")


@command.command("check", epilog=_CHECK, statuses=_STATUSES)
@click.argument("bundle", type=_file)
@click.option(
    "--clauses", "contract", type=_file, help="Your copy of the clauses, to compare."
)
@click.option(
    "--signers",
    type=_file,
    help="Allowed signers, lines `seller KEY` and `buyer KEY`, see ssh-keygen(1).",
)
@click.option(
    "--ledger",
    "ledger_path",
    type=_file,
    help="The count of sessions, if it is not the bundle's.",
)
@json_option
def check(
    bundle: Path,
    *,
    contract: Path | None,
    signers: Path | None,
    ledger_path: Path | None,
    as_json: bool,
) -> None:
    """Repeat the verdict from the outputs in BUNDLE alone, which `offers pack --clauses` wrote."""
    with session_records.of_bundle(bundle) as found:
        packed = {
            name: found.folder / path for name, path in session_records.PACKED.items()
        }
        if not packed["clauses"].is_file():
            raise FabricError(f"{bundle}: it has no clauses; pack it with --clauses")
        read = clauses.read(packed["clauses"])
        objections = list(found.faults)
        if contract and clauses.read(contract).sha256 != read.sha256:
            objections.append(f"{bundle}: its clauses are not those of {contract}")
        ledger = session_records.ledger(ledger_path or packed["ledger"])
        missing = ledger.count(found, read)
        objections += [
            *ledger.faults,
            *(f"{each}: it was never counted" for each in missing),
        ]
        judged = clause_verdicts.judge(read, found.records, found.folder)
        if packed["verdict"].is_file():
            objections += document.objections(
                packed["verdict"], read, judged, ledger, signers
            )
        _print(
            judged,
            f"{found.recomputed} values computed again from their outputs",
            as_json,
        )
    _end(judged, objections)

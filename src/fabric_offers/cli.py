# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks offers``: make a request, pack an offer, check it, and rank offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from fabric_checks.cli.verb import (
    FAILED,
    FOUND,
    Verbs,
    ending,
    json_option,
    link_rate_option,
)
from fabric_checks.core import console, paths
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import (
    bytes_text,
    count_text,
    first_of,
    one_line,
    value_text,
)
from fabric_checks.records import reader
from fabric_checks.records.sources import distinct
from fabric_checks.report.texts import rich_table
from fabric_offers import bundle_writer, offer_check, offer_ranking, signatures
from fabric_offers import request as requests
from fabric_offers.acceptance import session_records
from fabric_offers.acceptance.cli import command as accept
from fabric_offers.bundle_file import OFFER
from fabric_offers.offer_ranking import PRICE, Offer, Rules

_REQUEST = """
\b
Examples:
  fabric-checks offers request request.tar
  fabric-checks offers request request.tar --key ~/.ssh/id_ed25519
"""
_PACK = """
\b
Examples:
  fabric-checks offers pack offer.tar --system oak --request ../request.tar
  fabric-checks offers pack offer.tar --system oak --level procurement --key ~/.ssh/id_ed25519
  fabric-checks offers pack oak.tar --system oak --clauses clauses.yaml --verdict verdict.html
"""
_CHECK = """
\b
Examples:
  fabric-checks offers check offer.tar
  fabric-checks offers check offer.tar --request request.tar --signers vendors --link-MBps 25000
  fabric-checks offers check offer.tar --json > offer.json
  fabric-checks offers check --request request.tar      the request itself: whether it came as it was sent

\b
A line of the file of --signers is `NAME ssh-ed25519 KEY`: see ALLOWED SIGNERS in ssh-keygen(1).
"""
_RANK = """
\b
Examples:
  fabric-checks offers rank offers.yaml oak=oak.tar elm=elm.tar
  fabric-checks offers rank offers.yaml oak=oak.tar elm=elm.tar --json > decision.json

\b
Copy docs/offers.yaml to begin with: it has criteria, weights, requirements and prices.
"""


@click.group("offers", cls=Verbs)
def command() -> None:
    """Make one file for a vendor, pack what was run, check what comes back, and rank offers."""


_file = click.Path(path_type=Path, dir_okay=False)
_written = click.argument("path", metavar="FILE", type=_file)
_key = click.option("--key", type=_file, help="Sign with this SSH key.")
_level = partial(click.option, "--level", type=click.Choice(list(LEVELS)))


def _print_written(path: Path, manifest: dict[str, Any], summary: str) -> None:
    many = count_text(len(manifest["files"]), "file")
    console.print(f"{path}: {bytes_text(path.stat().st_size)}, {many}, {summary}")


def _signer(key: Path | None) -> Callable[[bytes], bytes] | None:
    return None if key is None else lambda text: signatures.signature(text, key)


command.add_command(accept)


@command.command("request", epilog=_REQUEST)
@_written
@_level(default="procurement", show_default=True, help="The level to be run.")
@_key
def request(path: Path, *, level: str, key: Path | None) -> None:
    """Make one file for a vendor: the collection at this clone's commit, and one page of rules.

    Uncommitted changes are not included.
    """
    manifest = requests.make(path, level=level, sign=_signer(key))
    _print_written(path, manifest, f"commit {manifest['commit'][:12]}, {level}")


@command.command("pack", epilog=_PACK)
@_written
@click.option("--system", required=True, help="The system whose runs go in.")
@_level(default="procurement", show_default=True, help="The level that was asked for.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of results.  [default: those of this clone]",
)
@click.option(
    "--request", type=_file, help="The request that this answers, as it was sent."
)
@click.option(
    "--clauses", type=_file, help="Of a contract, to be packed with their ledger."
)
@click.option(
    "--verdict", type=_file, help="The document on them, with its signatures."
)
@_key
def pack(
    path: Path,
    *,
    system: str,
    results: Path | None,
    request: Path | None,
    clauses: Path | None,
    verdict: Path | None,
    key: Path | None,
    **more: Any,
) -> None:
    """Pack what was run on a system: records, outputs, job scripts, and its description."""
    if verdict and not clauses:
        raise click.UsageError("--verdict needs the --clauses that it is about")
    folder = results or paths.results()
    number = (
        offer_check.check_request(request).manifest.get(requests.NUMBER)
        if request
        else None
    )
    contract = session_records.packed(clauses, folder, verdict) if clauses else None
    manifest = bundle_writer.pack(
        path, folder, system, answers=number, more=contract, sign=_signer(key), **more
    )
    _print_written(
        path,
        manifest,
        f"{count_text(len(manifest['sessions']), 'session')} of {system}",
    )


@command.command(
    "check",
    epilog=_CHECK,
    statuses={
        0: "there is nothing to ask about",
        FAILED: "it is no bundle, or cannot be checked",
        FOUND: "objections",
    },
)
@click.argument("path", metavar="[FILE]", required=False, type=_file)
@click.option("--request", type=_file, help="The request that was sent out.")
@click.option(
    "--signers",
    type=_file,
    help="File of those who may sign; the bundle must then be signed.",
)
@link_rate_option
@json_option
def check(
    path: Path | None,
    *,
    request: Path | None,
    signers: Path | None,
    link_MBps: float | None,
    as_json: bool,
) -> None:
    """Check FILE: verify its checksums and signature, recompute values and job scripts, and compare what was
    run.

    It lists what was changed, removed, left out, run with other options, versions or placements, in fewer
    passes, or more often than asked for, and what is impossible: rates above the line rate.
    """
    file = path or request
    if file is None:
        raise click.UsageError("name the offer, or with --request alone the request")
    if path:
        found = offer_check.check(
            path, request=request, signers=signers, link_MBps=link_MBps
        )
    else:
        found = offer_check.check_request(file, signers)
    if as_json:
        console.print_json(offer_check.as_json(file, found))
    else:
        _print_checked(file, found)
    if found.objections:
        raise SystemExit(FOUND)


def _print_checked(path: Path, found: offer_check.Checked) -> None:
    is_offer = found.manifest["kind"] == OFFER
    what = (
        _measured_text(found)
        if is_offer
        else "a request, and nothing in it is measured"
    )
    console.print(f"{path}: {count_text(len(found.manifest['files']), 'file')}; {what}")
    for kind, group in groupby(found.objections, key=lambda each: each.kind):
        listed = [f"{each.location}: {each.text}" for each in group]
        title = f"{offer_check.KINDS[kind].capitalize()} ({len(listed)})"
        _print_part(title, first_of(listed, ", which --json lists"))
    if is_offer and not found.objections:
        console.print("Nothing to ask about.")
    if found.notes:
        _print_part("Good to know", found.notes)
    if is_offer:
        unproved = [f"- {line}" for line in offer_check.unproved()]
        _print_part("Not proved, because no file can prove it", unproved)


def _print_part(title: str, lines: Sequence[str]) -> None:
    console.print("", f"{title}:", *(f"  {line}" for line in lines))


def _measured_text(found: offer_check.Checked) -> str:
    """Return how many values an offer has, and how many of them were recomputed."""
    each = found.recomputed == found.values
    again = "each" if each else found.recomputed or "none"
    many = f"{count_text(found.values, 'value')} of {count_text(found.runs, 'run')}"
    return f"{many}, {again} recomputed from its output"


@command.command(
    "rank",
    epilog=_RANK,
    statuses={
        FAILED: "records could not be used",
        FOUND: "no offer meets what is required",
    },
)
@click.argument("rules", metavar="FILE", type=_file)
@click.argument("sources", nargs=-1, required=True, metavar="LABEL=SOURCE...")
@json_option
def rank(rules: Path, sources: tuple[str, ...], *, as_json: bool) -> None:
    """Rank offers by FILE: the criteria, their weights, the requirements, and the prices.

    A source is a bundle, or any set of results. The score is the weighted geometric mean of the ratios to the
    best offer. With the ranking comes how often each offer is first if its runs are drawn anew.
    """
    decides = offer_ranking.read(rules)
    sets = distinct(sources)
    labels = [each.label for each in sets]
    loaded = reader.load(sets, offer_ranking.FIELDS)
    offers = offer_ranking.rank(decides, loaded.frame, labels)
    if as_json:
        listed = [asdict(offer) for offer in offers]
        console.print_json({"offers": listed, "faults": list(loaded.faults)})
    else:
        _print_ranking(decides, offers)
    console.warn(loaded.faults)
    raise ending(found=not any(offer.score for offer in offers), failed=loaded.faults)


#: What the table of a ranking means.
_NOTE = (
    "In brackets: the ratio to the best offer (1 for the best itself), and the least number of runs behind a"
    " median; the score is the weighted geometric mean of the ratios."
)


def _print_ranking(rules: Rules, offers: Sequence[Offer]) -> None:
    header = ("", "weight", *(one_line(offer.label) for offer in offers))
    console.print_rich([rich_table(header, list(_ranking_rows(rules, offers)))])
    console.print(_NOTE)
    for offer in offers:
        if offer.misses:
            console.print(f"{offer.label} is out: {'; '.join(offer.misses)}")


def _ranking_rows(rules: Rules, offers: Sequence[Offer]) -> Iterator[tuple[str, ...]]:
    yield "score", "", *(f"{each.score:.3f}" if each.score else "-" for each in offers)
    weights = {each.name: each.weight for each in rules.criteria}
    weights[PRICE] = rules.price_weight
    for name, weight in weights.items():
        yield name, f"{weight:g}", *(_cell(each, name) for each in offers)
    shares = [
        f"first in {100 * each.first_by_runs:.1f} %" if each.score else "-"
        for each in offers
    ]
    yield "runs redrawn", "", *shares


def _cell(offer: Offer, name: str) -> str:
    """Return the median of an offer by a criterion, its ratio to the best, and the number of its runs."""
    if name not in offer.medians:
        return "-"
    text = f"{value_text(offer.medians[name])} {offer.units[name]}"
    if name not in offer.ratios:
        return text
    count = f", n {offer.runs[name]}" if name in offer.runs else ""
    return f"{text} ({offer.ratios[name]:.3f}{count})"

# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks offers rank``: offers in an order, by what the buyer says decides."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.table import Table as RichTable

from fabric_checks.core import console
from fabric_checks.core.text import one_line, value_text
from fabric_checks.records import reading
from fabric_checks.records import sources as sets_of
from fabric_checks.report.comparison import documents
from fabric_checks.report.comparison.table import Page, Table
from fabric_checks.report.terminal.summary import plain
from fabric_offers import ranking
from fabric_offers.ranking import PRICE, Ranking

_EPILOG = """
\b
Examples:
  fabric-checks offers rank offers.yaml oak=oak.tar elm=elm.tar
  fabric-checks offers rank offers.yaml oak=oak.tar elm=elm.tar --format html > decision.html

\b
Copy docs/offers.yaml to begin with: it has criteria, weights, requirements and prices.
Exit status: 0; 1 if records could not be used; 2 for wrong usage; 3 if no offer meets what is required.
"""


@click.command("rank", epilog=_EPILOG)
@click.argument("rules", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("sources", nargs=-1, required=True, metavar="LABEL=SOURCE...")
@click.option(
    "--format",
    "form",
    type=click.Choice(("terminal", "json", "markdown", "html")),
    default="terminal",
    show_default=True,
    help="Format of the output.",
)
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def command(rules: Path, sources: tuple[str, ...], *, form: str) -> None:
    """Rank offers by FILE: the criteria, their weights, the requirements, and the prices.

    A source is a bundle, or any set of results. The score is the weighted geometric mean of the ratios to the best
    offer. Beside the ranking is what would change it: the weights, and the runs.
    """
    decides = ranking.read(rules)
    sets = [sets_of.parse(source) for source in sources]
    labels = [each.label for each in sets]
    if len(set(labels)) < len(labels):
        raise click.UsageError("two offers have the same label; give them different ones, as in LABEL=PATH")
    loaded = reading.load(sets, ranking.FIELDS)
    found = ranking.rank(decides, loaded.frame, labels)
    page = _page(found)
    if form == "json":
        told = [asdict(offer) for offer in found.offers]
        turns = {name: turn and {"weight": turn[0], "first": turn[1]} for name, turn in found.turns.items()}
        console.print_json(json.dumps({"offers": told, "turns": turns, "faults": list(loaded.faults)}, indent=1))
    elif form == "markdown":
        console.print_document(documents.as_markdown(page))
    elif form == "html":
        console.print_document(documents.as_html(page, "What decides"))
    else:
        console.print_rich(map(_rich, page.tables))
        console.print(*page.notes, *page.counts)
    console.warn(loaded.faults)
    if not any(offer.score for offer in found.offers):
        raise SystemExit(3)
    if loaded.faults:
        raise SystemExit(1)


def _page(found: Ranking) -> Page:
    labels = [offer.label for offer in found.offers]
    score = tuple("-" if offer.score is None else f"{offer.score:.3f}" for offer in found.offers)
    rows = [("score", "", *score)]
    for criterion in found.rules.criteria:
        cells = []
        for offer in found.offers:
            median = offer.medians.get(criterion.name)
            ratio = offer.ratios.get(criterion.name)
            text = "-" if median is None else f"{value_text(median)} {offer.units[criterion.name]}"
            cells.append(text + ("" if ratio is None else f" ({ratio:.3f}, n {offer.runs[criterion.name]})"))
        rows.append((criterion.name, f"{criterion.weight:g}", *cells))
    prices = []
    for offer in found.offers:
        ratio = offer.ratios.get(PRICE)
        text = "-" if offer.price is None else f"{offer.price:,.0f} {found.rules.currency}"
        prices.append(text + ("" if ratio is None else f" ({ratio:.3f})"))
    rows.append((PRICE, f"{found.rules.price_weight:g}", *prices))
    for title, name in (("weights redrawn", "first_by_weights"), ("runs redrawn", "first_by_runs")):
        shares = ("-" if o.score is None else f"first in {100 * getattr(o, name):.1f} %" for o in found.offers)
        rows.append((title, "", *shares))
    table = Table(
        "What decides",
        ("", "weight", *map(one_line, labels)),
        tuple(tuple(map(one_line, row)) for row in rows),
    )
    lines = [f"{offer.label} is out: {'; '.join(offer.misses)}" for offer in found.offers if offer.misses]
    weights = {each.name: each.weight for each in found.rules.criteria} | {PRICE: found.rules.price_weight}
    for name, turn in found.turns.items():
        if turn is None:
            lines.append(f"No weight of {name} puts another offer first.")
        else:
            way = "above" if turn[0] > weights[name] else "below"
            lines.append(f"{turn[1]} comes first with a weight of {name} {way} {turn[0]:.3g}.")
    notes = (
        "In brackets: the ratio to the best offer (1 for the best itself), and the least number of runs behind the "
        "median.",
        "The score is the weighted geometric mean of the ratios. Weights are redrawn between half and twice their own "
        "value.",
    )
    return Page((table,), notes, tuple(map(one_line, lines)))


def _rich(table: Table) -> RichTable:
    out = RichTable(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for title in table.header:
        out.add_column(plain(title))
    for row in table.rows:
        out.add_row(*map(plain, row))
    return out

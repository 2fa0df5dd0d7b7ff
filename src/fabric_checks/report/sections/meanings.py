# SPDX-License-Identifier: BSD-3-Clause
"""Say of each quantity of a check what it means, and what is usual for it here."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import count_text, value_text
from fabric_checks.report.values import Value

#: A range of fewer runs before says little.
_FEWEST_RUNS = 5


def of_check(values: Sequence[Value]) -> tuple[str, ...]:
    """Return a line for each thing that the values of a check mean."""
    alike = by_key(
        values, lambda value: (value.record["meaning"] or "", value.record["better"])
    )
    return tuple(_line(meaning, of) for (meaning, _), of in alike.items())


def _line(meaning: str, values: Sequence[Value]) -> str:
    quantities = dict.fromkeys(value.quantity.replace("_", " ") for value in values)
    names = list(quantities)
    named = ", ".join(names[:3]) + (f" and {len(names) - 3} more" * (len(names) > 3))
    first = values[0]
    direction = f"{first.record['better'] or 'smaller'} is better"
    what = meaning.rstrip(".") if meaning else "not described"
    return f"{named}: {what}; {direction}. {_usual(values)}"


def _usual(values: Sequence[Value]) -> str:
    """Return what is known of how good values are: by references, by the link, by the runs before."""
    judged = [value for value in values if value.verdict]
    if judged:
        met = sum(value.verdict == "met" for value in judged)
        return f"{met} of {count_text(len(judged), 'reference')} met."
    by_link = _share_of_link(values)
    followed = [value for value in values if len(value.runs) > _FEWEST_RUNS]
    if not followed:
        return by_link or "Nothing here to judge by: no reference, and too few runs."
    usual = sum(map(_is_usual, followed))
    runs = max(len(value.runs) for value in followed) - 1
    return (
        f"{by_link} The last run is in the range of up to {runs} runs before in {usual} of"
        f" {count_text(len(followed), 'value')}."
    ).strip()


def _is_usual(value: Value) -> bool:
    before = [each for *_, each in value.runs[:-1]]
    return min(before) <= value.last <= max(before)


def _share_of_link(values: Sequence[Value]) -> str:
    """Return the largest rate of two nodes as a share of the link's; empty where that bounds none."""
    bounded = [
        value
        for value in values
        if value.record["one_way"]
        and value.record["link_MBps"]
        and value.layout == "2x1"
    ]
    if not bounded:
        return ""
    best = max(bounded, key=lambda value: value.last)
    link_MBps = best.record["link_MBps"]
    share = best.last / link_MBps
    return f"At most the {value_text(link_MBps)} MB/s of a link; the best here is {100 * share:.0f} % of it."

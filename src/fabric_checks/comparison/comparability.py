# SPDX-License-Identifier: BSD-3-Clause
"""Comparability: what keeps two series from being compared, and what to note if they are."""

from __future__ import annotations

import polars as pl

from fabric_checks.comparison.verdicts import MISSING, NOT_COMPARABLE

#: A condition on a pair, the verdict if it holds, and why.
Reason = tuple[pl.Expr, str, pl.Expr]


def reasons_against(baseline: str, side: str, across_versions: bool) -> list[Reason]:
    """Return what can keep a pair from being compared; the first condition that holds counts.

    :param baseline, side: the labels of the sides.
    :param across_versions: whether programs and their releases may differ.
    """
    here, there = pl.col("n_baseline").is_null(), pl.col("n_side").is_null()
    layouts = [pl.col(f"layouts_{name}") for name in ("baseline", "side")]
    apart = (layouts[0].list.len() > 0) & (layouts[1].list.len() > 0)
    apart &= layouts[0].list.set_intersection(layouts[1]).list.len() == 0
    reasons: list[Reason] = [
        (
            here & there & pl.col("failed_side").is_null(),
            MISSING,
            _failed(baseline, "baseline", f"missing in {side}; "),
        ),
        (
            here & there & pl.col("failed_baseline").is_null(),
            MISSING,
            _failed(side, "side", f"missing in {baseline}; "),
        ),
        (here & there, MISSING, _failed(f"{baseline} and in {side}", "side", "")),
        ((here | there) & apart, NOT_COMPARABLE, _against("layout", "layouts", baseline, side)),
    ]
    for missing, label, name in ((here, baseline, "baseline"), (there, side, "side")):
        reason = _failed(label, name, "")
        reasons.append((missing & pl.col(f"failed_{name}").is_not_null(), MISSING, reason))
        reasons.append((missing, MISSING, pl.lit(f"missing in {label}")))
    fields = [("unit", "unit"), ("better", "which direction is better")]
    if not across_versions:
        fields += [("program", "program"), ("program_version", "program version")]
    for field, words in fields:
        lists = [pl.col(f"{field}_{name}") for name in ("baseline", "side")]
        differ = lists[0] != lists[1]
        if field in ("unit", "better"):
            differ |= lists[0].list.len() > 1
        reasons.append((differ, NOT_COMPARABLE, _against(words, field, baseline, side)))
    return reasons


def notes(baseline: str, side: str) -> pl.Expr:
    """Return what a reader has to know of a pair, however it is judged; null if nothing."""
    both = pl.col("n_baseline").is_not_null() & pl.col("n_side").is_not_null()
    kinds = [pl.col(f"evidence_{name}") for name in ("baseline", "side")]
    alike = (kinds[0] == kinds[1]).fill_null(False)
    simulated = [(each != ["measured"]).fill_null(False) for each in kinds]
    parts = [
        pl.when(alike & simulated[0]).then(pl.concat_str(pl.lit("both are simulations: "), kinds[0].list.join(", ")))
    ]
    for label, kind, holds in zip((baseline, side), kinds, simulated, strict=True):
        said = pl.concat_str(pl.lit(f"{label} is a simulation: "), kind.list.join(", "))
        parts.append(pl.when(holds & ~alike).then(said))
    for field, words in (("program", "program"), ("program_version", "program version")):
        differ = pl.col(f"{field}_baseline") != pl.col(f"{field}_side")
        parts.append(pl.when((both & differ).fill_null(False)).then(_against(words, field, baseline, side)))
    for label, name in ((baseline, "baseline"), (side, "side")):
        failed = pl.col(f"failed_{name}")
        parts.append(
            pl.when(pl.col(f"n_{name}").is_not_null() & failed.is_not_null()).then(
                pl.concat_str(failed, pl.lit(f" runs without values in {label}"))
            )
        )
    text = pl.concat_str(parts, separator="; ", ignore_nulls=True)
    return pl.when(text != "").then(text)


def _against(words: str, field: str, baseline: str, side: str) -> pl.Expr:
    one, two = (pl.col(f"{field}_{name}").list.join(", ") for name in ("baseline", "side"))
    return pl.concat_str(pl.lit(f"{words}: "), one, pl.lit(f" in {baseline}, "), two, pl.lit(f" in {side}"))


def _failed(label: str, name: str, before: str) -> pl.Expr:
    reason = pl.col(f"fail_reason_{name}").fill_null("the reason is not recorded")
    return pl.concat_str(pl.lit(f"{before}its case failed in {label}: "), reason)

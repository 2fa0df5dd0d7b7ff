# SPDX-License-Identifier: BSD-3-Clause
"""Find switches that lost a part of their way to the others, by the flows of all their nodes at once.

Where routing is adaptive or hashed, no pair depends on one cable, but a switch with fewer cables carries
less. In the phase ``leaf`` the nodes of one switch after the other send to those of all others and receive
from them. What they reach together, as a share of what each has reached at best, is compared from switch to
switch: those that are alike by design differ by chance only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import chdtri, stdtrit

from fabric_checks.core.finding import Severity
from fabric_checks.core.routing import ADAPTIVE, HASHED, STATIC
from fabric_checks.core.text import count_text, names_text
from fabric_checks.diagnosis.cross_section.noise import OF_MEDIAN, Array, deviation
from fabric_checks.diagnosis.cross_section.parts import MappedEvidence, Mask
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding as Finding
from fabric_checks.diagnosis.finding import note as a_note
from fabric_checks.parsers.rotate import RotateOutput

#: The spread of a switch over that by its nodes, which share its cables, and of both directions together.
OF_SHARING = np.array([1.3, 1.3, 0.8])
_FRACTIONS = {
    1 / 8: "an eighth",
    1 / 4: "a quarter",
    1 / 3: "a third",
    1 / 2: "half",
    2 / 3: "two thirds",
}
_MOST_NAMES = 4
#: What explains that a switch carries little, if it is blamed.
_NAMED_AS = ("all uplinks of", "switch", "pairs into", "pairs out of")
#: A direction, what the nodes of a switch do in it, and the side of the switch.
_SIDES = (
    ("up", "send", "out of it"),
    ("down", "receive", "into it"),
    ("both ways", "send and receive", "both ways"),
)
_LOOK = (
    "count its uplinks that are up, and look at their widths, speeds and error counters"
)
_IF_STATIC = (
    "tables of static routes may be uneven; say by extras['routing'] or --routing if they are adaptive or"
    " hashed"
)
_IF_CROWDED = (
    "what goes to a switch that has lost more crowds the ways of the others; "
    "look again once that is repaired"
)


@dataclass(frozen=True)
class Ways:
    """The ways of groups of nodes, those of a switch, to all others.

    :param share: by group, out, in and both, the logarithm of the rate of a group's flows, as a share of what
        the slower of their two nodes reaches at best divided by its number of flows; NaN if a group was not
        measured.
    :param error: its standard error, by how the nodes of a group differ, out, in and both; :param freedom: of
        these.
    :param members: the ranks of each group; :param rounds: the number of rounds of each direction.
    :param routing: of the fabric; :param kinds: the number of kinds of nodes.
    """

    share: Array
    error: Array
    freedom: int
    members: tuple[tuple[int, ...], ...]
    rounds: int
    routing: str
    kinds: int

    @property
    def why_not(self) -> str:
        """Return why no switch can be blamed; empty if one can.

        Tables of static routes may be uneven, and nodes of several kinds get uneven shares of what is there.
        """
        if (
            len(self.share) < SETTINGS.fewest_leaves
            or np.isnan(self.share).any()
            or self.freedom < 2
        ):
            return f"among {len(self.share)} switches the one that has lost cables cannot be identified"
        if self.kinds > 1:
            return "nodes are of several kinds, so a switch that has lost cables cannot be identified"
        if self.routing == STATIC:
            return "where routes are static, a lost cable shows in pairs, and their tables may be uneven"
        return ""

    @property
    def is_certain(self) -> bool:
        """Whether a switch is blamed that carries too little, and not only observed."""
        return not self.why_not and self.routing in (ADAPTIVE, HASHED)

    def losses(self) -> tuple[Array, Array]:
        """Return the loss of each group against the others, out, in and both, and the error of each, as
        logarithms."""
        freedom = len(self.share) - 2
        by_chance = np.sqrt(chdtri(freedom, SETTINGS.chance_of_design) / freedom)
        others = np.array(
            [np.delete(self.share, each, axis=0) for each in range(len(self.share))]
        )
        error = np.maximum(self.error, deviation(others, axis=1) / by_chance)
        error *= np.sqrt(1 + OF_MEDIAN**2 / (freedom + 1))
        return np.median(others, axis=1) - self.share, error

    @property
    def errors_of_chance(self) -> float:
        """The standard errors that the largest loss of healthy switches exceeds with ``chance_of_leaf``."""
        return float(
            stdtrit(self.freedom, 1 - SETTINGS.chance_of_leaf / (3 * len(self.share)))
        )

    @property
    def smallest(self) -> float:
        """The loss, as a share, that would have been named of any switch in 95 of 100 runs."""
        _, error = self.losses()
        spread = SETTINGS.hashed_loss_spread if self.routing == HASHED else 1.0
        errors = self.errors_of_chance + SETTINGS.found_errors_of_leaf * spread
        return max(
            SETTINGS.least_loss_of_leaf, float(1 - np.exp(-errors * error[:, 2].max()))
        )

    @property
    def limit(self) -> float | None:
        """The smallest loss, as a share, that would have been named; None where none would."""
        return float(self.smallest) if self.is_certain else None


def of_output(output: RotateOutput, mapped: MappedEvidence) -> Ways | None:
    """Return the ways of the groups of a run; None without any."""
    leaf = output.phases.get("leaf")
    if leaf is None or not len(leaf):
        return None
    evidence, groups = mapped.evidence, np.array(output.groups)
    count = int(groups.max()) + 1
    level = evidence.able
    place = leaf.round.astype(np.int64) * evidence.ranks + leaf.sender
    able = np.minimum(level[0, leaf.sender], level[1, leaf.receiver])
    flow = (
        leaf.MBps * np.bincount(place)[place] / evidence.reference_MBps / np.exp(able)
    )
    share, error, freedom = np.full((count, 3), np.nan), np.zeros(3), 0
    for side, (member, partner) in enumerate(
        ((leaf.sender, leaf.receiver), (leaf.receiver, leaf.sender))
    ):
        columns = {
            "group": groups[member],
            "other": groups[partner],
            "round": leaf.round,
        }
        table = pl.DataFrame({**columns, "rank": member, "flow": flow})
        # A group whose partner lost cables is as fast as it is with the others.
        pairs = (
            table.group_by("group", "other")
            .agg(pl.col("flow").mean())
            .sort("flow", descending=True)
        )
        found = pairs.group_by("group").agg(
            pl.col("flow").head((pl.len() + 1) // 2).mean()
        )
        share[found["group"].to_numpy(), side] = np.log(found["flow"].to_numpy())
        # Nodes of a group towards one other, in one round: these differ by what each of them does.
        nodes = table.group_by("group", "other", "round", "rank").agg(
            pl.col("flow").mean()
        )
        flow_of = pl.col("flow")
        spread = nodes.group_by("group", "other", "round").agg(
            flow_of.var() / flow_of.mean() ** 2
        )
        freedom += len(nodes) - len(spread)
        error[side] = np.sqrt(
            np.nanmean(spread["flow"].to_numpy()) * 2 * count / len(nodes)
        )
    share[:, 2] = share[:, :2].mean(axis=1)
    error[2] = float(np.hypot(*error[:2])) / 2
    error *= OF_SHARING
    if mapped.known.routing != ADAPTIVE:
        error = np.maximum(
            error,
            SETTINGS.spread_by_hash
            / np.sqrt(len(leaf) / count / 2)
            * np.array([2.0, 2.0, 1.0]),
        )
    members = tuple(
        tuple(np.flatnonzero(groups == group).tolist()) for group in range(count)
    )
    return Ways(
        share,
        np.maximum(error, SETTINGS.least_spread / 2),
        freedom,
        members,
        int(leaf.round.max() + 1) // 2,
        mapped.known.routing,
        len(evidence.kinds),
    )


def lost(ways: Ways, mapped: MappedEvidence, named: Collection[str]) -> list[Finding]:
    """Return the switches that lost a part of their way to the others.

    :param named: the names of parts that are blamed already.
    """
    if ways.why_not:
        return []
    loss, _ = ways.losses()
    beyond, is_both = _beyond(ways)
    findings = []
    largest = np.where(beyond, loss, 0.0).max(initial=0.0)
    for group in np.flatnonzero(beyond.any(axis=1)):
        switch, own = _name(ways.members[group], mapped), loss[group]
        if {f"{some} {switch}" for some in _NAMED_AS} & set(named):
            continue
        side = 2 if is_both[group] else int(own[:2].argmax())
        is_crowded = own[side] < SETTINGS.alike_losses * largest
        doubt = _IF_CROWDED if is_crowded else ""
        doubt = doubt if ways.is_certain else _IF_STATIC
        members = count_text(len(ways.members[group]), "node")
        share = float(np.exp(-own[side]))
        findings.append(_finding(ways, switch, members, side, share=share, doubt=doubt))
    return findings


def _beyond(ways: Ways) -> tuple[Mask, Mask]:
    """Return which groups lost more than by chance, by direction, and which did in both.

    A cable is lost in both; the tables of static routes may be uneven in one.
    """
    loss, error = ways.losses()
    least = -np.log1p(-np.full(3, SETTINGS.least_loss_of_leaf))
    if not ways.is_certain:
        least[:2] = -np.log1p(-SETTINGS.least_loss_of_untold)
    beyond = (loss > ways.errors_of_chance * error) & (loss > least)
    is_both = beyond[:, 2] & (loss[:, :2] > loss[:, 2:] / 2).all(axis=1)
    beyond[:, 2] &= is_both | ways.is_certain
    return beyond, is_both


def _name(members: Sequence[int], mapped: MappedEvidence) -> str:
    """Return the name of the switch of some nodes, or theirs if it is not known."""
    known = set(mapped.leaf[list(members)].tolist())
    if len(known) == 1 and (leaf := int(known.pop())) >= 0:
        return mapped.known.switches[leaf]
    names = list(map(mapped.name, members))
    return f"the switch of {names_text(names, _MOST_NAMES)}"


def _finding(
    ways: Ways, switch: str, members: str, side: int, *, share: float, doubt: str
) -> Finding:
    """Return the finding of a switch.

    :param members: the number of its nodes, in words; :param side: a position in :data:`_SIDES`.
    :param share: what is left; :param doubt: what else may be the cause; empty for nothing.
    """
    way, verb, side_text = _SIDES[side]
    is_untold = doubt == _IF_STATIC and share > 1 - SETTINGS.least_loss_of_untold
    is_suspect = is_untold or doubt == _IF_CROWDED
    text = (
        f"{switch} {'may have' if is_untold else 'has'} lost about {_fraction(1 - share)} of its uplink"
        f" bandwidth ({way}): its {members} together {verb} {100 * share:.0f} % of what those of other"
        f" switches do ({ways.rounds} rounds); which cable is not known: {_LOOK}"
    )
    return Finding(
        kind="uplinks",
        severity=Severity.SUSPECT if is_suspect else Severity.FAULT,
        text=text,
        part=f"all uplinks of {switch}",
        size=1 - share,
        advice=_LOOK,
        details=(doubt,) if doubt else (),
        data={"side": side_text, "slow": ways.rounds},
    )


def _fraction(lost_share: float) -> str:
    """Return a share in words where it is near a simple fraction, else in percent.

    >>> [_fraction(lost) for lost in (0.24, 0.35, 0.5, 0.09)]
    ['a quarter', 'a third', 'half', '9 %']
    """
    nearest = min(_FRACTIONS, key=lambda each: abs(each - lost_share))
    return (
        _FRACTIONS[nearest]
        if abs(nearest / lost_share - 1) < 0.15
        else f"{100 * lost_share:.0f} %"
    )


def note(ways: Ways) -> Finding:
    """Return what was measured of the switches."""
    level = np.exp(ways.share[:, 2])
    text = (
        f"with all nodes of a leaf active, each keeps {100 * level.min():.0f} to {100 * level.max():.0f} % of"
        " its pairwise rate"
    )
    doubt = ways.why_not or (
        "" if ways.is_certain else f"no leaf is blamed: {_IF_STATIC}"
    )
    return a_note("by leaf", f"{text}; {doubt}" if doubt else text)

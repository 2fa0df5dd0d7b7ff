# SPDX-License-Identifier: BSD-3-Clause
"""Decide what a run shows: which parts are slow for certain, which look slow, and what is inconclusive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fabric_checks.diagnosis.cross_section import exchanges, intermittent, sentences
from fabric_checks.diagnosis.cross_section.evidence import Numbers
from fabric_checks.diagnosis.cross_section.inference import (
    Culprit,
    explain,
    least_loss,
    slow_since_scan,
)
from fabric_checks.diagnosis.cross_section.parts import OF_NODES, MappedEvidence
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding, faults
from fabric_checks.parsers.rotate import RotateOutput

#: What is slow comes first.
_ORDER = {"pair": 1, "past": 2, "node classes": 3, "sharing": 4, "noise": 5}


def find(output: RotateOutput, mapped: MappedEvidence) -> list[RankFinding]:
    """Return the findings of a run: faults first, the slowest first, pairs after nodes, cables and switches.

    A fault is slow alone. Without that measurement (``rotate --confirm``) there are none.

    :param mapped: the evidence of the run on the map of its fabric.
    """
    evidence = mapped.evidence
    if (
        output.confirmed
        and evidence.noise.repeat > SETTINGS.most_noise
        and not output.at_once
    ):
        return [sentences.inconclusive(mapped, int((evidence.repeats > 0).sum()))]
    if not (output.confirmed or output.is_table):
        return []
    culprits, unsure = explain(mapped)
    culprits = tuple(
        replace(each, sure=each.sure and _lasts(output, mapped, each))
        for each in culprits
    )
    found = _blamed(output, mapped, culprits, unsure)
    if not output.is_table:
        found = _with_losing(found, _unexplained(output, mapped, culprits, unsure))
    if len(evidence.kinds) > 1:
        found.append(sentences.node_classes(mapped))
    return sorted(
        found,
        key=lambda each: (_ORDER.get(each.kind, 0), not each.is_fault, each.share),
    )


def _with_losing(
    found: list[RankFinding], more: list[RankFinding]
) -> list[RankFinding]:
    """Return findings with further ones, without the pairs of nodes that lose time: these explain them."""
    nodes = [each for each in faults(more) if each.kind in OF_NODES]
    losing = {rank for each in nodes for rank in each.ranks}
    rest = [each for each in found if each.kind != "pair" or not losing & {*each.ranks}]
    return rest + more


def _lasts(output: RotateOutput, mapped: MappedEvidence, culprit: Culprit) -> bool:
    """Return whether what is slow was so each time; of a table, whether it was measured more than once."""
    if not output.is_table:
        return intermittent.is_steady(mapped.evidence, culprit.slow)
    # Where pairs within a switch are slow, too, its nodes may be of a kind that was not separated.
    is_of_kind = culprit.part.kind == "switch" and bool(
        mapped.within[culprit.slow].any()
    )
    return mapped.evidence.is_repeated(culprit.slow) and not is_of_kind


def _blamed(
    output: RotateOutput,
    mapped: MappedEvidence,
    culprits: Sequence[Culprit],
    unsure: Numbers,
) -> list[RankFinding]:
    """Return the faults; without any the suspects; :param unsure: pairs that no fault explains."""
    found = [
        sentences.slow(mapped, each)
        for each in culprits
        if not (_is_symptom(each, culprits) or _is_of_node(mapped, each, culprits))
    ]
    certain = faults(found)
    if not certain:
        # Of a run of ours pairs that were slow alone are reported as inconclusive.
        return found[: SETTINGS.most_suspects] if output.is_table else []
    # Where routes are known, what is slow leaves no pair unexplained.
    shares = np.exp(mapped.evidence.alone[unsure]) if mapped.known.has_routes else ()
    pairs = sum(map(_is_fair, shares))
    return _joined(mapped, _by_traffic(_of_rail(mapped, certain), pairs))


def _of_rail(mapped: MappedEvidence, certain: list[RankFinding]) -> list[RankFinding]:
    """Return the faults with several devices of one rail, which have a switch in common, as one."""
    rails = mapped.evidence.rails
    devices = [
        each for each in certain if each.kind in OF_NODES and len(each.ranks) == 1
    ]
    numbers = {each.ranks[0] % rails for each in devices}
    if rails == 1 or len(numbers) > 1 or len(devices) < SETTINGS.fewest_of_class:
        return certain
    rest = [each for each in certain if each not in devices]
    return [sentences.of_rail(mapped, devices), *rest]


def _by_traffic(certain: list[RankFinding], pairs: int) -> list[RankFinding]:
    """Return what is slow for certain, as one suspicion if many parts and pairs have a fair share at once: as
    beside traffic of others.

    :param pairs: the number of pairs that have one, and that no part explains.
    """
    fair = [each for each in certain if _is_fair(each.share)]
    # Pairs may have a part in common.
    paths = [each for each in fair if each.kind not in (*OF_NODES, "pair")]
    if not fair or len(paths) + pairs < SETTINGS.fewest_by_traffic:
        return certain
    # A pair beside several flows may have another share.
    fair += [each for each in certain if each.kind == "pair" and each not in fair]
    rest = [each for each in certain if each not in fair]
    return [sentences.by_traffic(fair, pairs), *rest]


def _is_fair(share: float) -> bool:
    """Return whether a share is what two, three or four flows at once get of a link."""
    return any(abs(share - 1 / flows) < SETTINGS.near_fair for flows in (2, 3, 4))


def _joined(mapped: MappedEvidence, certain: list[RankFinding]) -> list[RankFinding]:
    """Return the faults with many slow pairs as one."""
    pairs = [each for each in certain if each.kind == "pair"]
    if len({frozenset(each.ranks) for each in pairs}) <= SETTINGS.most_listed_pairs:
        return certain
    rest = [each for each in certain if each.kind != "pair"]
    return [*rest, sentences.group(mapped, pairs)]


def _is_of_node(
    mapped: MappedEvidence, culprit: Culprit, culprits: Sequence[Culprit]
) -> bool:
    """Return whether all slow pairs of a cable or a switch are those of one node that is slow: what a node
    receives takes few cables."""
    ends = np.array([mapped.evidence.sender, mapped.evidence.receiver])[:, culprit.slow]
    return culprit.part.kind not in (*OF_NODES, "pair") and any(
        (ends == each.part.key[0]).any(axis=0).all()
        for each in culprits
        if each.part.kind in OF_NODES and each.sure
    )


def _is_symptom(culprit: Culprit, culprits: Sequence[Culprit]) -> bool:
    """Return whether the other slow parts on the route of a pair explain its rate, taken together."""
    pair, kind = culprit.part.pairs[0], culprit.part.kind
    shares = [
        each.share
        for each in culprits
        if each.part.kind != "pair" and pair in each.part.pairs
    ]
    explained = SETTINGS.explained_by_parts * float(np.prod(shares))
    return kind == "pair" and bool(shares) and culprit.share > explained


def _unexplained(
    output: RotateOutput,
    mapped: MappedEvidence,
    culprits: Sequence[Culprit],
    unsure: Numbers,
) -> list[RankFinding]:
    """Return the findings about what comes and goes, and about suspect pairs, that no fault explains.

    :param unsure: positions of pairs that may be slow by chance.
    """
    explained = np.concatenate(
        [unsure[:0], *(each.part.pairs for each in culprits if each.sure)]
    )
    changes, paths = intermittent.of_parts(mapped, explained)
    found = [sentences.changed(mapped, each) for each in changes]
    found += [sentences.paths_changed(mapped, paths)] if paths else []
    losing = [each.number for each in changes if each.lasts]
    of_losing = np.isin(intermittent.parts_of(mapped), losing).any(axis=1)
    unsure = np.setdiff1d(unsure, [*explained, *np.flatnonzero(of_losing)])
    late = slow_since_scan(mapped, unsure)
    if late and not exchanges.of_output(output, mapped).clear(late):
        found.append(sentences.slow(mapped, late))
        unsure = np.setdiff1d(unsure, late.slow)
    controls, _ = mapped.evidence.controls
    return found + _noisy(mapped, np.setdiff1d(unsure, controls))


def _noisy(mapped: MappedEvidence, noisy: Numbers) -> list[RankFinding]:
    """Return the findings of pairs that are slow alone and not explained: beyond chance, and by chance."""
    evidence = mapped.evidence
    limits = [least_loss(mapped, error, "pair") for error in evidence.error(noisy)]
    is_slow = evidence.alone[noisy] < -np.array(limits)
    return [
        said(len(some), float(np.exp(np.median(evidence.alone[some]))))
        for some, said in (
            (noisy[is_slow], sentences.slow_alone_only),
            (noisy[~is_slow], partial(sentences.inconclusive, mapped)),
        )
        if len(some)
    ]


def of_machine(
    output: RotateOutput,
    mapped: MappedEvidence,
    link_MBps: float | None,
    found: Sequence[RankFinding],
) -> list[RankFinding]:
    """Return that even healthy pairs are far below the rate of a link; without that rate, that perhaps half
    of the nodes are slow.

    Nodes that share cables look like that, too, and so does a machine that is too small for
    :mod:`fabric_checks.diagnosis.cross_section.kinds` or whose scan has too few pairs of two fast nodes.
    """
    reached = mapped.evidence.reference_MBps
    if link_MBps:
        is_slow = reached / link_MBps < SETTINGS.least_of_link
        return [sentences.below_line_rate(reached, link_MBps)] if is_slow else []
    has_classes = any(each.kind == "node classes" for each in found)
    if output.is_table or faults(found) or has_classes:
        return []
    return _half_slow(mapped)


def _half_slow(mapped: MappedEvidence) -> list[RankFinding]:
    """Return that half of the nodes are slow, or share cables, if most pairs are far below the fastest
    ones."""
    evidence = mapped.evidence
    best = np.fmax(evidence.alone, evidence.bound)
    if len(best) <= SETTINGS.fewest_fast:
        return []
    fastest = float(np.sort(best)[-SETTINGS.fewest_fast])
    is_fast = best > fastest + float(np.log(SETTINGS.least_of_link)) / 2
    share = float(np.exp(np.median(best) - fastest))
    if share >= SETTINGS.least_of_link or is_fast.mean() >= 0.5:
        return []
    fast = np.union1d(evidence.sender[is_fast], evidence.receiver[is_fast])
    slow = [host for rank, host in enumerate(mapped.hosts) if rank not in fast]
    return [sentences.half_slow(share, slow)]

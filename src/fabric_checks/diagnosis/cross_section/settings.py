# SPDX-License-Identifier: BSD-3-Clause
"""The numbers that the analysis of a cross-section stands on, each with its derivation or calibration.

Those without a derivation stand where neither neighbour names more faults without blaming anybody healthy:
`python -m lab.faults.calibration` varies them. A chance is named by what it guards. Shares, standard errors
and counts have no unit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Hold the numbers; see the comment of each."""

    # The spread of measurements, healthy pairs and healthy nodes.

    #: The level of significance: a spread, or a drift, is more than chance if it is as large in one such run
    #: of a hundred.
    chance_of_spread: float = 0.01
    #: The confidence bound of the spread of healthy pairs leaves out this share.
    chance_beyond_bound: float = 0.05
    #: The least error of any model of a fabric, calibrated: `python -m lab.faults.calibration`.
    least_spread: float = 0.012
    #: The rate of a node is this quantile of its pairs: few share every cable in every round. Calibrated.
    node_quantile: float = 0.85
    #: While others run, nodes and pairs are slow by sharing, too: where controls, which run alone, cover this
    #: share of the nodes, their spread bounds that of nodes and of the fastest pairs of the scan. Calibrated
    #: likewise.
    enough_controls: float = 2 / 3
    #: Rates within this distance of the 95th percentile are the fastest ones; more if their spread is a third
    #: of it. Calibrated.
    near_top: float = 0.12
    #: A value so many deviations from the median of its sample is no noise but a disturbance: in 1 of 16,000
    #: it is chance.
    disturbed_errors: float = 4.0

    # The slowest of healthy nodes by chance.

    #: The share of runs in which the slowest of healthy nodes may be blamed: a third of the documented one,
    #: because the model is not exact for few pairs.
    chance_of_slowest_node: float = 0.0003
    #: A pair so many deviations below its expectation was disturbed.
    disturbed_pair_errors: float = 5.0
    #: The most pairs of the scan that are used, evenly spread; and the fewest pairs that show a spread. For
    #: matrices of 200 and more OpenBLAS starts threads, which takes a hundred times as long where others have
    #: the cores.
    most_pairs_of_scan: int = 192
    fewest_pairs_of_spread: int = 4

    # Samples.

    #: The most pairs whose repeats are compared with each other; a matrix of another program has them of all
    #: its pairs.
    most_samples: int = 4096

    # Parts, and what they explain.

    #: Ranks no further apart than this are assumed to share a switch where switches are unknown.
    neighbours: int = 2
    price_of_choice: float = 0.7
    #: The fewest slow pairs for which a part other than a pair is blamed.
    fewest_pairs: int = 2
    #: The expectation for the scan, by what pairs share, is used if at least so many pairs fit it, ...
    fewest_corrected: int = 24
    #: ... except for this share, which may be slow or disturbed, ...
    most_off: float = 0.3
    #: ... within this standard deviation of logarithms.
    most_rest: float = 0.12

    # The search for slow parts.

    #: Smaller losses are not reported, however certain.
    least_fault: float = 0.06
    #: The largest weight of one pair, in squared standard errors; a pair of the scan was measured once, while
    #: others ran.
    most_weight: float = 25.0
    most_scan_weight: float = 16.0
    #: A pair that exceeds its prediction counts against it from so many standard errors on; ...
    exceeding_errors: float = 2.5
    #: ... beyond so many it contradicts it, and a part that more than this share of its pairs contradict is
    #: not at fault.
    contradiction_errors: float = 4.0
    most_contradictions: float = 0.03
    #: The fewest slow pairs alone of a part that became slow during the run.
    fewest_late: int = 3
    #: Of the pairs that are slow alone at most this share was as slow before a part became slow.
    most_slow_before: float = 0.25
    #: Explanations that are worse by less than this are as good: a ratio of likelihoods of twenty.
    as_good: float = 6.0
    #: The most parts of an explanation.
    most_parts: int = 12

    # What is certain.

    #: The standard errors by which a loss has to exceed chance; that of a single pair, which is one of many,
    #: ...
    confirmed_errors: float = 4.0
    confirmed_errors_of_pair: float = 5.5
    #: ... and the multiple of the spread of healthy parts, one of which is always the slowest.
    spread_errors: float = 5.0
    #: Of the pairs of a part that were measured alone and would be slow, the least share that is. Where
    #: controls are slow, too, the spread of healthy pairs is large, and none contradicts it.
    least_slow: float = 0.75
    #: The number of pairs that look slow alone that are examined.
    most_slow_pairs: int = 2048
    #: A node that became slow during the run may not have been measured with its neighbours since; so many
    #: partners do.
    fewest_partners: int = 3
    #: While others ran: the chance that any healthy node is blamed, the fewest nodes that are compared, and
    #: the most that are blamed, if these are no more than a sixteenth.
    chance_of_slow_at_once: float = 0.0003
    fewest_alike: int = 4
    most_slow_at_once: int = 2

    # What comes and goes.

    #: A measurement alone is low from so many deviations below the best one of its pair on: 1 in 430 of four
    #: normal deviates are so far apart; and from this loss on, as a logarithm.
    low_errors: float = 5.0
    least_low: float = 0.08
    #: The chance that any healthy node of a run has as many low measurements, and the fewest of them.
    chance_of_lows: float = 1e-3
    fewest_low: int = 4
    #: The slowest test is far from the best one from so many times their median difference on: 1 in 460 of
    #: three normal deviates. A node comes and goes if that is so with so many partners.
    far_apart: float = 3.0
    fewest_intermittent_partners: int = 3
    #: More than half of all tests are low if the median one is in more than half of the measurements, with
    #: some errors of 100 of these; or if the slowest of three is in more than seven of eight.
    most_with_low_median: float = 0.6
    most_with_low_test: float = 7 / 8
    #: A part is not blamed if more of the measurements alone of its slow pairs are not steady.
    most_unsteady: float = 1 / 3

    # Classes of nodes.

    #: The fewest nodes of a kind, and the least share of all: fewer that are alike are as likely slow ones.
    fewest_of_class: int = 3
    least_share_of_class: float = 1 / 8
    #: The middles of two kinds are so many deviations of the nodes of each apart, and no closer than this as
    #: a logarithm. The halves of one normal population are three apart.
    classes_apart: float = 4.5
    least_apart: float = 0.03
    #: The standard error of the mean of the second to the fourth highest of eight normal values, over their
    #: deviation, by 100,000 samples: as few pairs of a node may share no link. Of more it is less.
    error_of_next_best: float = 0.41
    #: Nodes of a slow kind differ by no more than so many times what healthy ones do by chance; slow nodes
    #: do. Of a few, some slow ones may be alike by chance.
    most_spread_of_class: float = 2.5
    few_of_class: int = 6
    most_spread_of_few: float = 1.6
    #: Of the pairs within a slow kind, and of those of it alone, at most this share exceeds its level by
    #: :data:`APART` deviations.
    most_faster: float = 0.1

    # The uplinks of leaves.

    #: The chance that any of healthy switches is blamed, over all of them and both directions.
    chance_of_leaf: float = 0.0005
    #: The least loss that is blamed, as a share.
    least_loss_of_leaf: float = 0.08
    #: With fewer switches, one of which is slow, it is not known which.
    fewest_leaves: int = 4
    #: Hashed flows are uneven on cables: the spread of a switch is at least this over the root of its flows,
    #: of one direction twice that; in two models 0.14 to 0.21, of leaves of 4 to 8 nodes with as many cables
    #: or half.
    spread_by_hash: float = 0.15
    #: The chance with which healthy switches differ by more than what then counts as differences of their
    #: design.
    chance_of_design: float = 0.05
    #: Standard errors by which a loss has to exceed the bound so that 95 of 100 are found; with hashed routes
    #: what a lost cable takes differs twice as much as healthy switches do.
    found_errors_of_leaf: float = 1.645
    hashed_loss_spread: float = 2.0
    #: A switch that lost less than this share of what another lost may only be in its way, where flows keep
    #: their cables.
    alike_losses: float = 0.6

    #: Where it is not known whether routes are static, uneven tables explain a smaller loss.
    least_loss_of_untold: float = 0.35

    # Flows that collapse at a switch.

    #: So many flows at once, in so many rounds of the scan, carry together less than this share of what fewer
    #: carried.
    #: With random tables healthy ones take the same cable by chance: five of four cables in 1 of 256 rounds.
    fewest_flows_at_once: int = 3
    fewest_crowded_rounds: int = 2
    least_carried_by_many: float = 0.45

    # What would have been found.

    #: Standard errors by which a fault has to exceed the bound so that 95 of 100 are found. A pair needs
    #: more: its rate is the best of four, with a longer tail (1.72), and the next run estimates its noise
    #: anew (by `python
    #: -m lab.fluid`).
    found_errors: float = 1.645
    found_errors_of_pair: float = 2.2
    #: So much larger the spread of nodes may be in the next run, where controls reach too few nodes to bound
    #: it.
    next_spread: float = 1.5
    #: The usual number of pairs of a suspect node, and of a suspect cable, that are measured alone.
    pairs_of_node: int = 6
    pairs_of_cable: int = 6
    #: A cable that fewer scanned pairs cross may not be told from its pairs.
    fewest_pairs_of_cable: int = 4
    #: Measurements of a suspect where a run had none.
    usual_repeats: int = 4
    #: A part that loses more than this is dead rather than slow.
    dead_from: float = 0.99
    #: With fewer nodes most pairs, or all, belong to a slow node, or pair, and there is nothing to compare it
    #: with.
    fewest_nodes: int = 4
    fewest_nodes_of_pair: int = 3
    #: A pair is named only if it is measured alone, which has to be as likely as this.
    found_share: float = 0.95

    # Whether the map fits.

    #: A rate differs from its expectation from this share on, or from so many deviations of a measurement on.
    least_above: float = 0.18
    errors_above: float = 6.0
    #: The fewest cables that carry more than they can, and their least share of those shared, by which a map
    #: does not fit.
    fewest_above: int = 3
    least_share_above: float = 0.02
    #: Where so many cables carry more, all are faster than the links of hosts, which the tools do not tell.
    most_above: float = 0.6
    #: So many explanations of slow pairs are seldom right at once.
    fewest_scattered: int = 2

    # Cables that a pair alone does not fill.

    #: Of the pairs of a cable only those count that fill it no less than others, by more than this as a
    #: logarithm.
    more_headroom: float = 0.1
    #: Only cables so much faster than a host's link are judged by what pairs carry together, and only in
    #: rounds in which so much was asked of them: others are judged by pairs alone.
    more_than_a_pair: float = 1.2
    #: A round in which less than this share of what was asked is carried is low; noise of 3 % is not.
    least_carried: float = 0.85
    #: A cable was asked in so many rounds at least, both directions together, of which so many were low:
    #: traffic of others ends. Of 9 rounds among 18 hosts a cable had three.
    fewest_rounds_shared: int = 3
    #: Rounds count in which so much was asked of it as a share of what was in the busiest of these.
    most_asked: float = 0.9
    least_low_rounds: float = 0.75

    # Findings.

    #: Nothing is blamed if one measurement of a pair differs so much from the next.
    most_noise: float = 0.25
    #: The rate of a pair over the product of the shares of the parts on its route, down to which these
    #: explain it.
    explained_by_parts: float = 0.93
    #: Pairs alone reach this share of a link, even where one process does not fill it (670 of 968 MB/s on
    #: Feynman: 0.69); where all lost two fifths they do not.
    least_of_link: float = 0.65
    #: So many pairs have to be fast before others are called slow.
    fewest_fast: int = 2
    #: Traffic of others leaves a fair share of a link, within this distance; so many cables and
    #: switches at once at such shares are seldom slow.
    near_fair: float = 0.03
    fewest_by_traffic: int = 3
    #: The most single slow pairs that are findings of their own, and the most suspects of a table.
    most_listed_pairs: int = 3
    most_suspects: int = 5


#: Those of the analysis.
SETTINGS = Settings()

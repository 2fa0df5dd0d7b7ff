# SPDX-License-Identifier: BSD-3-Clause
"""The numbers that the analysis of a latency map stands on; shares are of the latency."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Hold the numbers; see the comment of each."""

    #: Smaller excesses are not reported, however certain.
    least_fault: float = 0.10
    #: The largest share of the latency that a hop may cost: without known levels less than this is no fault.
    most_of_hop: float = 0.5
    #: A fault exceeds the others by so many standard deviations of healthy nodes or pairs.
    certain_errors: float = 6.0
    #: Nothing is blamed if one measurement of a pair differs by more than this share from the next.
    most_noise: float = 0.10
    #: Of fewer nodes, two kinds and groups of different sizes look alike.
    fewest_for_classes: int = 16
    #: So many models of groups are compared.
    most_models: int = 5
    #: How often the expectations of pairs and the effects of nodes are estimated in turns.
    rounds: int = 3
    #: The least error of a latency, as a share, and the most errors that a pair counts as, when models are
    #: compared.
    least_error: float = 0.005
    most_errors: float = 20.0
    #: The standard error of the least of four over that of their mean (normal order statistics: Harter,
    #: Biometrika 48, 1961, table 1).
    error_of_least: float = 1.4
    #: A slow node takes part in what is usual for its group: its effect is seen smaller by some of it.
    seen_effect: float = 1.05
    #: Standard errors by which a fault has to exceed the least one so that more than 95 of 100 are found.
    found_errors: float = 2.5


#: Those of the analysis.
SETTINGS = Settings()

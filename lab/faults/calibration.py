# SPDX-License-Identifier: BSD-3-Clause
"""Vary the constants of the analysis, and count what becomes of trials: `python -m lab.faults.calibration
[NAME...]`.

Constants without a derivation stand where neither neighbour names more faults without blaming anybody
healthy.
"""

import argparse
import sys
from collections import Counter

from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from lab.faults.trials import Trial, outcome

#: The settings that are varied, and the factors that are tried.
CONSTANTS = (
    "least_spread",
    "enough_controls",
    "near_top",
    "classes_apart",
    "most_spread_of_class",
    "most_spread_of_few",
    "most_faster",
    "spread_errors",
    "most_slow_before",
    "contradiction_errors",
    "low_errors",
)
FACTORS = (0.6, 1.0, 1.6)
#: Faults of each kind of circumstance, and healthy fabrics that are easily blamed.
TRIALS = (
    Trial("host", 0.2, 16),
    Trial("cable", 0.25, 32),
    Trial("leaf", 0.2, 16),
    Trial("cable", 0.2, 32, known="nothing"),
    Trial("host sends", 0.3, 32, history="begins", known="nothing"),
    Trial("host", 0.3, 32, history="flaps"),
    Trial("cable", 0.2, 32, noise="1 % at half"),
    Trial("several", 0.2, 32),
    Trial("host", 0.2, 32, kinds=(0.25, 0.9, "at random")),
    Trial("healthy", 0.0, 32, kinds=(0.25, 0.9, "every k-th")),
    Trial("healthy", 0.0, 16, noise="bursts of others' traffic"),
    Trial("healthy", 0.0, 16, noise="nodes differ by 3 %"),
)


def tried(name, value, seeds):
    """Return how often each outcome came of all trials with a setting at a value."""
    before = getattr(SETTINGS, name)
    try:
        object.__setattr__(
            SETTINGS, name, value
        )  # they are frozen, and all modules have the same
        return Counter(outcome(trial, seed)[0] for trial in TRIALS for seed in seeds)
    finally:
        object.__setattr__(SETTINGS, name, before)


def main():
    """Print a line for each constant and value."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="constants; without any: all")
    parser.add_argument("--trials", type=int, default=20, help="of each kind")
    parser.add_argument("--first-seed", type=int, default=10_000)
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.trials)
    for name in (name for name in CONSTANTS if not asked.names or name in asked.names):
        for factor in FACTORS:
            value = getattr(SETTINGS, name) * factor
            print(
                f"{name:22}{value:8.3f}  {dict(tried(name, value, seeds))}", flush=True
            )


if __name__ == "__main__":
    sys.exit(main())

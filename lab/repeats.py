# SPDX-License-Identifier: BSD-3-Clause
"""What it does to false and missed alarms that a miss of a reference is measured twice again.

    . ci/env.sh
    python -m lab.repeats 2000          # so many series of each kind: the table of lab/repeats.md

A series is a rate whose reference is derived from ten runs, as `references propose` does. Then come nights: a
run, and two repeats of it. Without repeats each run that misses is an alarm. `3 of 3` are those that both
repeats miss as well, which are alarms with repeats; `2 or 3` are those that at least one misses, too. The
noise slows down: it is that of `lab/change_points.py`, of the given size, drawn anew for each run; in `a busy
host` 3 % of runs take half as long again at a size of 3 %, and each repeat is still in the same trouble with
a probability of a half; `measured` are three runs in turn of series of a cluster (`lab/acceptance.py`).
"""

import sys

import numpy as np

from fabric_checks.references.derive import derive
from lab.acceptance import measured
from lab.change_points import NOISES

RUNS, NIGHTS, LOSS = 10, 200, 0.1
SIZES = (0.01, 0.02, 0.03)


def busy(draw, nights):
    """Return three runs a night, of which 3 % begin on a busy host that is so for a while."""
    trouble = np.zeros((nights, 3), dtype=bool)
    trouble[:, 0] = draw.random(nights) < 0.03
    for number in (1, 2):
        stays = trouble[:, number - 1] & (draw.random(nights) < 0.5)
        trouble[:, number] = stays | (draw.random(nights) < 0.03)
    return (1 + 0.03 * draw.normal(size=(nights, 3))) * (1 + 0.5 * trouble)


def in_turn(draw, nights):
    """Return three runs a night cut out of a measured series, with a deviation of 3 %."""
    series = measured()
    own = series[draw.integers(len(series))] * draw.choice([-1, 1])
    begins = draw.integers(len(own) - 2, size=nights)
    return np.exp(0.03 * own[begins[:, None] + np.arange(3)])


def drawn(kind, size, draw, nights):
    """Return the factors by which noise slows down three runs of each night."""
    if kind in MORE:
        noise = MORE[kind](draw, nights)
    elif kind == "each half like the one before":
        noise = np.stack([NOISES[kind](draw, 3) for _ in range(nights)])
    else:
        noise = NOISES[kind](draw, 3 * nights).reshape(nights, 3)
    return np.maximum(1 + (noise - 1) * size / 0.03, 0.2)


MORE = {"a busy host": busy, "measured": in_turn}


def alarms(kind, size, loss, count, seed):
    """Return the shares of nights with an alarm: without repeats, by 2 or 3 misses of 3, by 3 of 3."""
    draw = np.random.default_rng(seed)
    found = np.zeros(3)
    for _ in range(count):
        before = 1 / drawn(kind, size, draw, RUNS)[:, 0]
        reference = derive(before.tolist(), "larger")
        rates = (1 - loss) / drawn(kind, size, draw, NIGHTS)
        missed = rates < reference.value * (1 + reference.lower)
        times = missed.sum(axis=1)
        found += [
            missed[:, 0].mean(),
            (missed[:, 0] & (times >= 2)).mean(),
            (missed[:, 0] & (times == 3)).mean(),
        ]
    return found / count


def rows(count):
    """Yield a line of the table for each kind of noise and its size."""
    for size in SIZES:
        for kind in (*NOISES, *MORE):
            false = alarms(kind, size, 0.0, count, 4670)
            true = alarms(kind, size, LOSS, count, 4671)
            per_1000 = [f"{1000 * each:.2f}" for each in false]
            found = [f"{100 * each:.1f}" for each in true]
            kept = [f"{100 * each / true[0]:.1f}" for each in true[1:]]
            yield [kind, f"{100 * size:.0f} %", *per_1000, *found, *kept]


def main(count: int) -> None:
    """Print the table."""
    columns = [
        "noise", "size",
        "false alarms in 1,000 values: no repeat", "2 or 3", "3 of 3",
        "losses of 10 % found, %: no repeat", "2 or 3", "3 of 3",
        "of those found without, %: 2 or 3", "3 of 3",
    ]  # fmt: skip
    print(f"| {' | '.join(columns)} |")
    print("|---|---|" + "---:|" * 8)
    for row in rows(count):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]))

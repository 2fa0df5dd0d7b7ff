# SPDX-License-Identifier: BSD-3-Clause
"""How often the right part is blamed on simple fabrics, in some minutes: `python -m lab.faults.culprits`."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.diagnosis.cross_section.test_findings import NOISES, SCENARIOS, right_answers

#: Trials of each scenario by number of nodes.
TRIALS = {32: 40, 128: 10}


def main():
    """Print a table of right answers by scenario, number of nodes and noise of a measurement."""
    columns = [(nodes, noise) for nodes in TRIALS for noise in NOISES]
    tasks = [(name, *column, TRIALS[column[0]]) for name in SCENARIOS for column in columns]
    # The library that computes medians has threads, which a fork would not copy.
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        answers = dict(zip(tasks, pool.map(right_answers, *zip(*tasks, strict=True)), strict=True))
    print(f"{'':22}" + "".join(f"{f'N={nodes}, {noise:.0%}':>12}" for nodes, noise in columns))
    for name in SCENARIOS:
        row = [f"{answers[task]} of {task[-1]}" for task in tasks if task[0] == name]
        print(f"{name:22}" + "".join(f"{cell:>12}" for cell in row))


if __name__ == "__main__":
    main()

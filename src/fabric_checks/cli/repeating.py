# SPDX-License-Identifier: BSD-3-Clause
"""Measure misses of references again, as further sessions of the run that missed them.

ReFrame's ``--max-retries`` would not do: it stops at the first pass, retries what fails for any other reason,
on whatever nodes are free, and its run report has the last try for the case. ``--restore-session --failed``
takes what failed for any reason, too, on any nodes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import service
from fabric_checks.records import repeats, runs
from fabric_checks.records.record import Record
from fabric_checks.schedulers import in_job, reservations

#: A repeat is one pass, without retries, and leaves the file of test results to the run.
_ONCE = ("--reruns=0", "--max-retries=0", f"--report-junit={os.devnull}")


@dataclass
class Repeater:
    """Repeat the misses of a run.

    :param line: its command; :param results: the folder of its results; :param session: its name.
    :param run: runs a command with more variables of the environment, and returns its exit status.
    :param number: of the last repeat.
    """

    line: Sequence[str]
    results: Path
    session: str
    run: Callable[[Sequence[str], Mapping[str, str]], int]
    number: int = 0

    def measure_again(self, times: int) -> bool:
        """Repeat the cases that missed references so often; return whether the run is a success then.

        Each whose miss is confirmed is measured once more on other nodes, if enough are free.
        """
        if runs.ended_early(self.results, self.session):
            return False
        found = repeats.measure_again(times, self._records, self._repeat, cache(_free))
        return found and not runs.verdict(runs.load_session(self.results, self.session))

    def _records(self) -> Sequence[Record]:
        return runs.load_session(self.results, self.session).records

    def _repeat(self, cases: Mapping[str, Sequence[str]]) -> bool:
        """Run cases on their nodes in a session of its own; return whether that ran to its end."""
        self.number += 1
        name = f"{self.session}{repeats.SUFFIX}{self.number}"
        path = self.results / "logs" / f"{name}.json"
        path.write_text(json.dumps(cases))
        env = {"FABRIC_SESSION": name, repeats.VARIABLE: str(path)}
        status = self.run([*self.line, *_ONCE], env)
        path.unlink()
        return status in (0, 1) and not runs.ended_early(self.results, name)


def _free(place: str) -> set[str]:
    """Return the nodes of SYSTEM:PARTITION that are in service and free; none where that is unknown."""
    try:
        (partition,) = service.configuration(place)["partitions"]
        scheduler = in_job.asked_of(partition["scheduler"])
        access = partition.get("access", ())
        takes = reservations.takes_nodes(scheduler)
        nodes = service.nodes_for(scheduler, access) if takes else []
    except FabricError:
        return set()
    return {each.name for each in nodes if not (each.fault or each.is_busy)}

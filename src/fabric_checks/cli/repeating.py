# SPDX-License-Identifier: BSD-3-Clause
"""Measure misses of references again, as further sessions of the run that missed them.

ReFrame's ``--max-retries`` would not do: it stops at the first pass, retries what fails for any other reason,
on whatever nodes are free, and its run report has the last try for the case. ``--restore-session --failed``
takes what failed for any reason, too, on any nodes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly import service
from fabric_checks.records import repeats, runs
from fabric_checks.records.record import Record, case_name
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
        wanted = _missed(self._load().records)
        if not wanted or runs.ended_early(self.results, self.session):
            return False
        if all(self._repeat(wanted) for _ in range(times)):
            elsewhere = _elsewhere(self._load().records, wanted)
            if elsewhere:
                self._repeat(elsewhere)
        return not runs.verdict(self._load())

    def _load(self) -> runs.Session:
        return runs.load_session(self.results, self.session)

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


def _missed(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the cases to repeat, with their nodes.

    A case that ran several times in the run is no miss by chance, and a simulation repeats itself.
    """
    times = Counter((case_name(each), each["metric"]) for each in records)
    return {
        case_name(each): each["nodelist"] or []
        for each in filter(repeats.is_miss, records)
        if times[case_name(each), each["metric"]] == 1 and not each["evidence"]
    }


def _elsewhere(
    records: Sequence[Record], wanted: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the cases whose misses are confirmed, each with as many other nodes, where these are free."""
    confirmed = [
        each for each in filter(repeats.is_miss, records) if each.get("confirmation")
    ]
    places = {f"{each['system']}:{each['partition']}" for each in confirmed}
    free = {place: _free(place) for place in places}
    found = {}
    for record in confirmed:
        nodes = wanted[case_name(record)]
        others = free[f"{record['system']}:{record['partition']}"].difference(nodes)
        if nodes and len(others) >= len(nodes):
            found[case_name(record)] = sorted(others)[: len(nodes)]
    return found


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

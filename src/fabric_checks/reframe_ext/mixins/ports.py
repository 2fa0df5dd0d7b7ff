# SPDX-License-Identifier: BSD-3-Clause
"""Record ports, NVLinks and the kernel's log around a launch, and compare the traffic of the ports with what
the program moved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from reframe.core.builtins import run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError
from fabric_checks.core.finding import Finding
from fabric_checks.core.layouts import Layout
from fabric_checks.records.record import SIMULATED

# Modules that read and judge a job's files are imported after the job: a listing needs none of them.
# ruff: noqa: PLC0415


class PortsMixin(RegressionTestPlugin):
    """Verify the network of the traffic.

    Our program ``ports`` starts the benchmark on every node, and reads the counters of all ports before and
    after. A partition may name the ports that have to carry the traffic in ``extras['fabric']``:
    patterns such as ``['mlx5_*']``, ``['hsn*']``, ``['eth0']``. If others did, the case fails; without it the
    record names them. On a single node, where no traffic crosses a port, only NVLinks and the kernel's log
    are of interest. Nothing is recorded of a simulation.

    Needs: ``facts`` (:class:`RecordMixin`), ``current_layout`` and ``launches`` (:class:`LayoutMixin`),
    ``ranks`` (:class:`PlacementMixin`); before the phase ``run``, ``ports_program``, the path of the program;
    ``inside()``, ``of_image()`` (:class:`ContainerMixin`).
    """

    #: Whether the program may be started by another one: not where its start-up is measured.
    records_ports = True

    @property
    def ports_folder(self) -> str:
        """The folder with a file of port counters for each node, in the stage folder."""
        return f"ports{self.launch_suffix}"

    @property
    def has_ports(self) -> bool:
        """Whether traffic of the current launch crosses ports that are recorded."""
        return self._is_recorded and self.current_layout.nodes > 1

    @property
    def _is_recorded(self) -> bool:
        return self.records_ports and SIMULATED not in self.current_partition.features

    def recorded(self, words: list[str]) -> list[str]:
        """Return a command line in which the program `ports`, outside of any container, starts that of the
        check.

        :param words: an executable and its options.
        """
        words = self.inside(words)
        if not self._is_recorded:
            return words
        return [str(self.ports_program), "--output", self.ports_folder, "--", *words]

    def moved_B(self, text: str) -> int | None:
        """Return the bytes that the nodes of a launch sent to each other, by its output; None if unknown.

        :param text: the output of a successful launch.
        """
        return None

    @run_before("sanity")
    def note_ports(self):
        """Evaluate the ports, also of a program that failed: they may show the cause."""
        if not self.is_dry_run():
            self._note_ports({}, failed=bool(self.job.exitcode))

    def hold_to_ports(self, text: str) -> None:
        """Evaluate the ports after the analysis, and compare their traffic with the bytes that the program
        moved.

        :param text: the output of the job.
        :raises SanityError: if another network than the named one carried the traffic.
        """
        moved = {}
        for layout, output in self.outputs(text).items():
            with self.launched_in(layout):
                moved[layout] = self.moved_B(output) if self.has_ports else None
        disproof = self._note_ports(moved)
        if disproof:
            raise SanityError(self.of_image(disproof))

    def _note_ports(
        self, moved: Mapping[Layout, int | None], *, failed: bool = False
    ) -> str | None:
        from fabric_checks.analysis import placement
        from fabric_checks.ports import evaluation, events

        disproof: str | None = None
        for layout in self.launches if self._is_recorded else ():
            with self.launched_in(layout):
                nodes, unknown = self._nodes()
                if not self.has_ports:
                    self._add_findings(*events.of_nodes(nodes, failed=failed))
                    continue
                judged = evaluation.evaluate(
                    nodes,
                    unknown,
                    fabric=self.extras.fabric,
                    link_MBps=self.extras.link_MBps,
                    moved_B=moved.get(layout),
                    bindings=placement.bindings(self.ranks),
                    ranks=self.ranks,
                    failed=failed,
                )
            self.facts.ports = judged.record
            self._add_findings(*judged.findings)
            disproof = disproof or judged.disproof
        return disproof

    def _add_findings(self, *found: Finding) -> None:
        """Add findings to those of the record, of several with the same key the last."""
        if found:
            new = {each.key: each.as_dict() for each in found}
            known = [
                each for each in self.facts.findings or [] if each.get("key") not in new
            ]
            self.facts.findings = [*known, *new.values()]

    def _nodes(self):
        """Return the changes of each node during a launch, and the reason by name for nodes without any."""
        from fabric_checks.ports import counter_growth
        from fabric_checks.ports import snapshots as ports_parser

        nodes, unknown = [], {}
        for path in sorted((Path(self.stagedir) / self.ports_folder).glob("*.txt")):
            with path.open(errors="replace", newline="") as file:
                text = file.read(ports_parser.MOST_BYTES + 1)
            try:
                change = counter_growth.of_node(ports_parser.parse(text))
            except OutputError as error:
                change = str(error)
            if isinstance(change, str):
                unknown[path.stem] = change
            else:
                nodes.append(change)
        seen = {_short(name) for name in (*unknown, *(node.node for node in nodes))}
        probed = {_short(rank.node) for rank in self.ranks}
        why = "no output file was written"
        if elsewhere := sorted(seen - probed):
            why += (
                f"; {', '.join(elsewhere)} left one: the program ran on other nodes than the "
                f"probe before it"
            )
        for rank in self.ranks:
            if _short(rank.node) not in seen:
                unknown[rank.node] = why
        return nodes, unknown


def _short(name: str) -> str:
    """Return a node's name without its domain, as a file name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name.partition(".")[0])

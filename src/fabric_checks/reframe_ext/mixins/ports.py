# SPDX-License-Identifier: BSD-3-Clause
"""Ports: our program `ports` is started in place of the benchmark, and starts it; what it recorded is judged after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reframe.core.builtins import run_before
from reframe.core.exceptions import ConfigError, SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.analysis import placement
from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import Metric
from fabric_checks.core.text import value_text
from fabric_checks.ports import changes, transport
from fabric_checks.ports import snapshots as parser
from fabric_checks.records.record import SIMULATED
from fabric_checks.software import packages


class PortsMixin(RegressionTestPlugin):
    """Record what every node says before and after a launch on several nodes, and hold the traffic to what was meant.

    A partition may name the ports that have to carry it in ``extras['fabric']``: patterns such as ``['mlx5_*']``,
    ``['hsn*']``, ``['eth0']``. If others did, the case fails. Without it the record says what did.

    Nothing is recorded on a single node, where nothing crosses a port, and of a simulation, whose ports say nothing.

    Needs: ``facts`` (:class:`ResultsMixin`), ``ranks`` (:class:`PlacementMixin`), ``launches``
    (:class:`LayoutMixin`); before the phase ``run``, ``ports_program``, the path of the program.
    """

    #: Whether the program may be started by another one: not where its start is what is measured.
    records_ports = True
    #: What the rails carried, by metric, once that is known; nothing of launches that are compared.
    rail_values: Mapping[str, float] = MappingProxyType({})

    @property
    def ports_folder(self) -> str:
        """The name of the folder with a file for each node, in the stage folder."""
        return "ports"

    @property
    def has_ports(self) -> bool:
        """Whether the launch that the check speaks of is recorded."""
        return self.records_ports and self.current_layout.nodes > 1 and SIMULATED not in self.current_partition.features

    @property
    def fabric(self) -> list[str]:
        """The patterns of ports that have to carry the traffic; none if the partition names none.

        :raises ConfigError: if they are no list of texts.
        """
        patterns = self.current_partition.extras.get("fabric", [])
        if not isinstance(patterns, list) or not all(isinstance(each, str) and each for each in patterns):
            raise ConfigError(
                f"{self.current_partition.fullname}: extras: fabric is {patterns!r}; give a list of patterns of ports, "
                "such as ['mlx5_*'] or ['eth0']"
            )
        return patterns

    def recorded(self, words: list[str]) -> list[str]:
        """Return a command line in which our program starts that of the check.

        :param words: an executable and its options.
        """
        if not self.has_ports:
            return words
        assert self.fabric is not None  # a mistake in it is an error before anything runs
        return [str(self.ports_program), "--output", self.ports_folder, "--", *words]

    def rail_metrics(self) -> list[Metric]:
        """Return the metrics that only a case has whose nodes have several rails."""
        return [metric for metric in transport.OF_RAILS if metric.name in self.rail_values]

    def moved_B(self, text: str) -> int | None:
        """Return how many bytes the nodes of a launch sent to each other, by its output; None where it does not tell.

        :param text: an output that was measured.
        """
        return None

    @run_before("sanity")
    def note_ports(self):
        """Note what the ports say even of a program that failed: they may know why."""
        if not self.is_dry_run():
            self._note_ports({})

    def hold_to_ports(self, text: str) -> None:
        """Note what the ports say, after what the analysis has found, and compare the traffic with what was moved.

        :param text: the output of the job, which was measured.
        :raises SanityError: if another network than the named one carried it.
        """
        moved = {}
        for layout, output in self.outputs(text).items():
            with self.launched_in(layout):
                moved[layout] = self.moved_B(output) if self.has_ports else None
        disproof = self._note_ports(moved)
        if disproof:
            raise SanityError(disproof)

    def _note_ports(self, moved: Mapping[Layout, int | None]) -> str | None:
        try:
            packages.require(["scipy"], "they judge what the ports say")
        except packages.MissingPackageError as error:
            return self._note_not_judged(f"what the ports say was not judged: {error}")
        from fabric_checks.ports import evaluation  # noqa: PLC0415  (SciPy, which may be missing)

        disproof: str | None = None
        findings: dict[str, Any] = {}
        for layout in self.launches:
            with self.launched_in(layout):
                if not self.has_ports:
                    continue
                nodes, unknown = self._nodes()
                said = evaluation.evaluate(
                    nodes,
                    unknown,
                    fabric=self.fabric,
                    link_MBps=self.current_partition.extras.get("link_MBps"),
                    moved_B=moved.get(layout),
                    bindings=placement.bindings(self.ranks),
                    measured=self._fastest(),
                )
            self.facts.ports = said.record
            if len(self.launches) == 1:
                self.rail_values = said.values
            findings |= {each["text"]: each for each in said.findings}
            disproof = disproof or said.disproof
        if findings:
            known = [each for each in self.facts.findings or [] if each.get("text") not in findings]
            self.facts.findings = [*known, *findings.values()]
        return disproof

    def _note_not_judged(self, why: str) -> str | None:
        """Note that nothing is said of the ports; where a network is to be held to, that is a failure."""
        if not any(self._on_several_nodes(layout) for layout in self.launches):
            return None
        known = [each for each in self.facts.findings or [] if each.get("text") != why]
        self.facts.findings = [*known, {"kind": "wire", "hosts": [], "fault": False, "text": why}]
        return why if self.fabric else None

    def _on_several_nodes(self, layout: Layout) -> bool:
        with self.launched_in(layout):
            return self.has_ports

    def _nodes(self):
        """Return what the nodes of a launch did, and why it is not known of others, by their names."""
        nodes, unknown = [], {}
        for name, text in self._files():
            try:
                did = changes.of_node(parser.parse(text))
            except OutputError as error:
                did = str(error)
            if isinstance(did, str):
                unknown[name] = did
            else:
                nodes.append(did)
        told = {_short(name) for name in (*unknown, *(node.node for node in nodes))}
        probed = {_short(rank.node) for rank in self.ranks}
        why = "no file was left"
        if elsewhere := sorted(told - probed):
            why += f"; {', '.join(elsewhere)} left one: the program ran on other nodes than the probe before it"
        for rank in self.ranks:
            if _short(rank.node) not in told:
                unknown[rank.node] = why
        return nodes, unknown

    def _files(self) -> Iterator[tuple[str, str]]:
        for path in sorted((Path(self.stagedir) / self.ports_folder).glob("*.txt")):
            with path.open(errors="replace", newline="") as file:
                yield path.stem, file.read(parser.MOST_BYTES + 1)

    def _fastest(self) -> str:
        """Return the largest bandwidth that was measured, in words, for a message."""
        values = getattr(self, "values", None) or {}
        rates = {m.name: values[m.name] for m in self.metrics() if m.unit == "MB/s" and m.name in values}
        name = max(rates, key=lambda each: rates[each], default=None)
        return f"{name.rsplit('_', 1)[0].replace('_', ' ')} {value_text(rates[name])} MB/s" if name else ""


def _short(name: str) -> str:
    """Return a node's name without its domain, as a file can be called."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name.split(".", 1)[0])

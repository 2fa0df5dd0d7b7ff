# SPDX-License-Identifier: BSD-3-Clause
"""Collect the evidence around a launch: the placement of its ranks, the traffic of its ports, and the topology."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import FabricError, OutputError, PlacementError
from fabric_checks.core.extras import Extras
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import ROOT
from fabric_checks.core.routing import ADAPTIVE, HASHED, STATIC, UNKNOWN_ROUTING
from fabric_checks.core.text import value_text
from fabric_checks.records.record import SIMULATED

# Modules that read and judge a job's files are imported after the job: a listing needs none of them.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from fabric_checks.diagnosis.fabric_map.model import FabricMap
    from fabric_checks.parsers.placement import RankPlace

#: Schedulers whose jobs can query Slurm's topology.
SLURM = ("fabric-slurm", "slurm", "squeue")
#: The file with Slurm's answer, in the stage folder; the longest time that it may take.
ANSWER, ANSWER_S = "topology.txt", 20
#: The file with the switch of each host, in the stage folder.
GROUPS = "groups.txt"
#: The routing of fabrics by the names of their ports: Slingshot's is adaptive, Ethernet's hashed. InfiniBand and RoCE
#: (``mlx5_*``) may be static or adaptive.
ROUTING_OF_PORTS = {"hsn": ADAPTIVE, "cxi": ADAPTIVE, "eth": HASHED, "en": HASHED}
#: The most nodes that a message names.
MOST_NAMES = 4


class EvidenceMixin(RegressionTestPlugin):
    """Verify the placement of the ranks and the network of their traffic, and find the topology of the fabric.

    *Placement.* Before the program, the same launcher starts a small probe that reports the node and CPUs of each rank;
    the case fails unless they match the layout, with a core for each rank. A partition whose nodes have fewer cores
    than ``extras['cores']``, as on a test machine, has ``extras['oversubscribed']``: there ranks may share cores.

    *Ports.* Our program ``ports`` starts the benchmark on every node of several, and reads the counters of all ports
    before and after. A partition may name the ports that have to carry the traffic in ``extras['fabric']``: patterns
    such as ``['mlx5_*']``, ``['hsn*']``, ``['eth0']``. If others did, the case fails; without it the record names
    them. Nothing is recorded on a single node, where no traffic crosses a port, nor of a simulation, which has none.

    *Topology*, of checks with ``uses_topology``. A partition names files under ``extras['topology']``, a list: the
    output of ``ibnetdiscover`` and of ``dump_lfts``, or Slurm's topology; a relative name is below
    ``config/systems``. Without it, a job on Slurm runs ``scontrol show topology``. A file that is malformed, or has no
    node of the job, is not used, and a finding of the record explains it, as for nodes that it lacks.
    ``extras['routing']`` is ``static``, ``adaptive`` or ``hashed``; without it the log of OpenSM among the files
    counts, then the names of ``extras['fabric']``. Cables are named where routing is known to be static.

    Needs: ``facts``, ``with_cause()`` (:class:`RecordMixin`), ``current_layout`` and ``launches``
    (:class:`LayoutMixin`); before the phase ``run``, ``placement_probe`` and ``ports_program``, the paths of the two
    programs; ``inside()``, ``of_image()`` (:class:`ContainerMixin`).
    """

    #: The nodes that the launches ran on, that of the first rank first; known when the placement is verified.
    hosts = ()
    _ranks_of: Mapping[str, Sequence[RankPlace]] = MappingProxyType({})
    #: Whether the program may be started by another one: not where its start-up is measured.
    records_ports = True
    #: The traffic of the rails by metric, once it is known; empty for launches that are compared.
    rail_values: Mapping[str, float] = MappingProxyType({})
    #: Whether the analysis uses the topology.
    uses_topology = False

    @property
    def ranks(self) -> Sequence[RankPlace]:
        """Node and CPUs of each rank of the current launch; none before its placement is verified."""
        return self._ranks_of.get(str(self.current_layout), ())

    @property
    def probe_output(self):
        """The file with the output of the placement probe, in the stage folder."""
        return "placement.txt"

    @run_before("run")
    def probe_placement(self):
        """Start the probe by the same launcher as the program; without a placement the program is not started."""
        # ReFrame passes these to the job only after this hook.
        self.job.num_tasks = self.num_tasks
        self.job.num_tasks_per_node = self.num_tasks_per_node
        launch = self.job.launcher.run_command(self.job)
        self.prerun_cmds = [*self.prerun_cmds, f"{launch} {self.placement_probe} > {self.probe_output} || exit $?"]

    def verify_placement(self):
        """Record the output of the placement probe, and compare it with the layout.

        :raises SanityError: if the two differ.
        """
        from fabric_checks.analysis import placement
        from fabric_checks.parsers import placement as placement_parser

        path = Path(self.stagedir) / self.probe_output
        try:
            found = placement_parser.parse(path.read_text(errors="replace"))
        except OSError as error:
            raise SanityError(self.with_cause(f"placement probe: {path}: {error.strerror}")) from None
        except OutputError as error:
            raise SanityError(self.with_cause(f"placement probe: {path}: {error}")) from None
        facts = self.facts
        facts.mpi, facts.compiler = found.mpi, found.compiler
        facts.nodelist = list(dict.fromkeys(rank.node for rank in found.ranks))
        facts.placement = [f"{rank.node}:{rank.cpus}" for rank in found.ranks]
        facts.binding = placement.binding(found.ranks)
        self._ranks_of = {**self._ranks_of, str(self.current_layout): found.ranks}
        self.hosts = tuple(dict.fromkeys((*self.hosts, *facts.nodelist)))
        oversubscribed = Extras.of(self.current_partition).oversubscribed
        try:
            placement.verify(found.ranks, self.current_layout, oversubscribed)
        except PlacementError as error:
            raise SanityError(self.of_image(f"placement: {error}")) from None

    @property
    def ports_folder(self) -> str:
        """The folder with a file of port counters for each node, in the stage folder."""
        return "ports"

    @property
    def has_ports(self) -> bool:
        """Whether the ports of the current launch are recorded."""
        return self._has_ports_in(self.current_layout)

    def _has_ports_in(self, layout: Layout) -> bool:
        return self.records_ports and layout.nodes > 1 and SIMULATED not in self.current_partition.features

    def recorded(self, words: list[str]) -> list[str]:
        """Return a command line in which the program `ports`, outside of any container, starts that of the check.

        :param words: an executable and its options.
        """
        words = self.inside(words)
        if not self.has_ports:
            return words
        return [str(self.ports_program), "--output", self.ports_folder, "--", *words]

    def rail_metrics(self) -> list[Metric]:
        """Return the metrics that only a case has whose nodes have several rails."""
        if not self.rail_values:
            return []
        from fabric_checks.ports import transport

        return [metric for metric in transport.OF_RAILS if metric.name in self.rail_values]

    def moved_B(self, text: str) -> int | None:
        """Return the bytes that the nodes of a launch sent to each other, by its output; None if unknown.

        :param text: the output of a successful launch.
        """
        return None

    @run_before("sanity")
    def note_ports(self):
        """Evaluate the ports, also of a program that failed: they may show the cause."""
        if not self.is_dry_run():
            self._note_ports({})

    def hold_to_ports(self, text: str) -> None:
        """Evaluate the ports after the analysis, and compare their traffic with the bytes that the program moved.

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

    def _note_ports(self, moved: Mapping[Layout, int | None]) -> str | None:
        from fabric_checks.software import packages

        try:
            packages.require(["scipy"], "they evaluate the port counters")
        except packages.MissingPackageError as error:
            return self._note_not_evaluated(f"the port counters were not evaluated: {error}")
        from fabric_checks.analysis import placement
        from fabric_checks.ports import evaluation  # SciPy, which may be missing

        disproof: str | None = None
        findings: list[Finding] = []
        for layout in self.launches:
            with self.launched_in(layout):
                if not self.has_ports:
                    continue
                nodes, unknown = self._nodes()
                judged = evaluation.evaluate(
                    nodes,
                    unknown,
                    fabric=Extras.of(self.current_partition).fabric,
                    link_MBps=Extras.of(self.current_partition).link_MBps,
                    moved_B=moved.get(layout),
                    bindings=placement.bindings(self.ranks),
                    ranks=self.ranks,
                    measured=self._fastest(),
                )
            self.facts.ports = judged.record
            if len(self.launches) == 1:
                self.rail_values = judged.values
            findings += judged.findings
            disproof = disproof or judged.disproof
        self._add_findings(*findings)
        return disproof

    def _add_findings(self, *found: Finding) -> None:
        """Add findings to those of the record, of several with the same key the last."""
        if found:
            new = {each.key: each.as_dict() for each in found}
            known = [each for each in self.facts.findings or [] if each.get("key") not in new]
            self.facts.findings = [*known, *new.values()]

    def _note_not_evaluated(self, why: str) -> str | None:
        """Record that the ports are not evaluated; where a network is required, that is a failure."""
        if not any(map(self._has_ports_in, self.launches)):
            return None
        self._add_findings(Finding(kind="wire", severity=Severity.NOTE, text=why))
        return why if Extras.of(self.current_partition).fabric else None

    def _nodes(self):
        """Return the changes of each node during a launch, and the reason by name for nodes without any."""
        from fabric_checks.ports import changes
        from fabric_checks.ports import snapshots as ports_parser

        nodes, unknown = [], {}
        for path in sorted((Path(self.stagedir) / self.ports_folder).glob("*.txt")):
            with path.open(errors="replace", newline="") as file:
                text = file.read(ports_parser.MOST_BYTES + 1)
            try:
                change = changes.of_node(ports_parser.parse(text))
            except OutputError as error:
                change = str(error)
            if isinstance(change, str):
                unknown[path.stem] = change
            else:
                nodes.append(change)
        seen = {_short(name) for name in (*unknown, *(node.node for node in nodes))}
        probed = {_short(rank.node) for rank in self.ranks}
        why = "no file was left"
        if elsewhere := sorted(seen - probed):
            why += f"; {', '.join(elsewhere)} left one: the program ran on other nodes than the probe before it"
        for rank in self.ranks:
            if _short(rank.node) not in seen:
                unknown[rank.node] = why
        return nodes, unknown

    def _fastest(self) -> str:
        """Return the largest measured bandwidth as text for a message."""
        values = getattr(self, "values", None) or {}
        rates = {m.name: values[m.name] for m in self.metrics() if m.unit == "MB/s" and m.name in values}
        name = max(rates, key=lambda each: rates[each], default=None)
        return f"{name.rsplit('_', 1)[0].replace('_', ' ')} {value_text(rates[name])} MB/s" if name else ""

    @run_before("run")
    def ask_for_topology(self):
        """Let the job query Slurm if no file is named; a job without an answer continues."""
        if not self.uses_topology:
            return
        if self._asks_slurm:
            ask = f"timeout {ANSWER_S} scontrol show topology > {ANSWER} 2> /dev/null || :"
            self.prerun_cmds = [*self.prerun_cmds, ask]

    @property
    def _asks_slurm(self) -> bool:
        scheduler = self.current_partition.scheduler.registered_name
        return not Extras.of(self.current_partition).topology and self.current_layout.nodes > 1 and scheduler in SLURM

    def _routing(self, of_source: str = UNKNOWN_ROUTING) -> str:
        """Return the routing of the fabric: as given, as the source of the map has it, or as the ports suggest."""
        given = Extras.of(self.current_partition).routing
        if given or of_source != UNKNOWN_ROUTING:
            return str(given or of_source)
        kinds = {
            next((ROUTING_OF_PORTS[key] for key in ROUTING_OF_PORTS if name.startswith(key)), UNKNOWN_ROUTING)
            for name in Extras.of(self.current_partition).fabric
        }
        return kinds.pop() if len(kinds) == 1 else UNKNOWN_ROUTING

    def group_options(self) -> list[str]:
        """Return the option that names the switch of each node, where routing is not known to be static."""
        if self._asks_slurm and self._routing() != STATIC:
            return ["--groups", "slurm"]
        try:
            known = self._read_topology() if Extras.of(self.current_partition).topology else None
        except (FabricError, OSError):
            return []  # known_fabric notes it
        if known is None or self._routing(known.routing) == STATIC:
            return []
        from fabric_checks.diagnosis.fabric_map import names

        lines = [f"{names.plain(host)} {at}\n" for host, at in zip(known.hosts, known.at, strict=True) if at >= 0]
        (Path(self.stagedir) / GROUPS).write_text("".join(lines))
        return ["--groups", GROUPS]

    def known_fabric(self, hosts: Sequence[str]) -> tuple[FabricMap | None, list[dict[str, Any]]]:
        """Return the map of the fabric, as far as it is known, and findings about it.

        :param hosts: the host of each rank, by the name that the program prints.
        """
        from fabric_checks.diagnosis.fabric_map import names, topology_files

        if self.current_layout.nodes < 2:
            return None, []
        try:
            known = self._read_topology()
        except (FabricError, OSError) as error:
            return None, [_note(f"the topology is not used: {error}")]
        if known is None:
            return None, []
        _, missing = names.positions(hosts, known.hosts)
        known = replace(known, routing=self._routing(known.routing))
        notes = [_note(f"of the topology: {warning}") for warning in known.warnings]
        if files := self._topology_files():
            notes.append(_note(topology_files.age_text(files, time.time())))
        if not missing:
            return known, notes
        some = ", ".join(missing[:MOST_NAMES]) + (", ..." if len(missing) > MOST_NAMES else "")
        lacks = f"{known.source} lacks {len(missing)} of the job's {len(set(hosts))} nodes: {some}; update it"
        if len(missing) == len(set(hosts)):
            return None, [_note(f"the topology is not used: {lacks}")]
        return known, [_note(f"the topology is used for the other nodes: {lacks}"), *notes]

    def _topology_files(self) -> list[Path]:
        return [ROOT / "config" / "systems" / name for name in Extras.of(self.current_partition).topology]

    def _read_topology(self) -> FabricMap | None:
        from fabric_checks.core import files
        from fabric_checks.diagnosis.fabric_map import slurm_topology, topology_files

        if paths := self._topology_files():
            return topology_files.read(paths)
        answer = Path(self.stagedir) / ANSWER if self._asks_slurm else None
        if answer is None or not answer.exists():
            return None
        # Without a topology plugin Slurm answers with a sentence.
        return topology_files.read([answer]) if slurm_topology.is_topology(files.read_text(answer)) else None


def _short(name: str) -> str:
    """Return a node's name without its domain, as a file name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name.split(".", 1)[0])


def _note(text: str) -> dict[str, Any]:
    return Finding(kind="topology", severity=Severity.NOTE, text=text, key=f"topology {text}").as_dict()

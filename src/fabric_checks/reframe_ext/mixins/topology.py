# SPDX-License-Identifier: BSD-3-Clause
"""Find the topology of the fabric, for the checks that use it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import run_before
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import FabricError
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.paths import ROOT
from fabric_checks.core.routing import ADAPTIVE, HASHED, STATIC, UNKNOWN_ROUTING
from fabric_checks.core.text import names_text

# Modules that read and judge a job's files are imported after the job: a listing needs none of them.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from fabric_checks.fabric_map.model import FabricMap

#: Schedulers whose jobs can query Slurm's topology.
SLURM = ("fabric-slurm", "slurm", "squeue")
#: The file with Slurm's answer, in the stage folder; the longest time that it may take.
ANSWER, ANSWER_S = "topology.txt", 20
#: Asks Slurm for the topology of the job's partition, where that may be another than the default.
_NAME = (
    f'timeout {ANSWER_S} scontrol --oneliner show partition "$SLURM_JOB_PARTITION" 2> /dev/null'
    r" | sed -n 's/.* Topology=\([^ (][^ ]*\).*/\1/p'"
)
ASK = (
    f"timeout {ANSWER_S} scontrol show topology $({_NAME}) > {ANSWER} 2> /dev/null || :"
)
#: The file with the switch of each host, in the stage folder.
GROUPS = "groups.txt"
#: The routing of fabrics by the names of their ports: Slingshot's is adaptive, Ethernet's hashed. InfiniBand
#: and RoCE (``mlx5_*``) may be static or adaptive.
ROUTING_OF_PORTS = {"hsn": ADAPTIVE, "cxi": ADAPTIVE, "eth": HASHED, "en": HASHED}
#: The most nodes that a message names.
MOST_NAMES = 4


class TopologyMixin(RegressionTestPlugin):
    """Find the topology of the fabric, of checks with ``uses_topology``.

    A partition names files under ``extras['topology']``, a list: the
    output of ``ibnetdiscover`` and of ``dump_lfts``, or Slurm's topology; a relative name is below
    ``config/systems``. Without it, a job on Slurm runs ``scontrol show topology``. A file that is malformed,
    or has no node of the job, is not used, and a finding of the record explains it, as for nodes that it
    lacks. ``extras['routing']`` is ``static``, ``adaptive`` or ``hashed``; without it the log of OpenSM among
    the files counts, then the names of ``extras['fabric']``. Cables are named where routing is known to be
    static.

    Needs: ``current_layout`` (:class:`LayoutMixin`).
    """

    #: Whether the analysis uses the topology.
    uses_topology = False

    @run_before("run")
    def ask_for_topology(self):
        """Let the job query Slurm if no file is named; a job without an answer continues."""
        if not self.uses_topology:
            return
        if self._asks_slurm:
            self.prerun_cmds = [*self.prerun_cmds, ASK]

    @property
    def _asks_slurm(self) -> bool:
        scheduler = self.current_partition.scheduler.registered_name
        return (
            not self.extras.topology
            and self.current_layout.nodes > 1
            and scheduler in SLURM
        )

    def _routing(self, of_source: str = UNKNOWN_ROUTING) -> str:
        """Return the routing of the fabric: as given, as the source of the map has it, or as the ports
        suggest."""
        given = self.extras.routing
        if given or of_source != UNKNOWN_ROUTING:
            return str(given or of_source)
        kinds = set(map(_routing_of, self.extras.fabric))
        return kinds.pop() if len(kinds) == 1 else UNKNOWN_ROUTING

    def group_options(self) -> list[str]:
        """Return the option that names the switch of each node, where routing is not known to be static."""
        if self._asks_slurm and self._routing() != STATIC:
            return ["--groups", "slurm"]
        if not self.extras.topology:
            return []
        try:
            known = self._read_topology()
        except (FabricError, OSError):
            return []  # known_fabric notes it
        if known is None or self._routing(known.routing) == STATIC:
            return []
        from fabric_checks.fabric_map import names

        hosts = list(dict.fromkeys(map(names.plain, known.hosts)))
        positions, _ = names.positions(hosts, known.hosts)
        lines = [
            f"{host} {known.at[position]}\n"
            for host, position in zip(hosts, positions, strict=True)
            if position >= 0 and known.at[position] >= 0
        ]
        (Path(self.stagedir) / GROUPS).write_text("".join(lines))
        return ["--groups", GROUPS]

    def known_fabric(
        self, hosts: Sequence[str]
    ) -> tuple[FabricMap | None, list[dict[str, Any]]]:
        """Return the map of the fabric, as far as it is known, and findings about it.

        :param hosts: the host of each rank, by the name that the program prints.
        """
        from fabric_checks.fabric_map import names, topology_files

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
        notes += [_slow_link(link, text) for link, text in known.slow_links.items()]
        if files := self._topology_files():
            notes.append(_note(topology_files.age_text(files, time.time())))
        if not missing:
            return known, notes
        some = names_text(missing, MOST_NAMES)
        lacks = f"{known.source} lacks {len(missing)} of the job's {len(set(hosts))} nodes: {some}; update it"
        if len(missing) == len(set(hosts)):
            return None, [_note(f"the topology is not used: {lacks}")]
        return known, [
            _note(f"the topology is used for the other nodes: {lacks}"),
            *notes,
        ]

    def _topology_files(self) -> list[Path]:
        return [ROOT / "config" / "systems" / name for name in self.extras.topology]

    def _read_topology(self) -> FabricMap | None:
        from fabric_checks.core import files
        from fabric_checks.fabric_map import names, slurm_topology
        from fabric_checks.records import fabric_maps

        if paths := self._topology_files():
            return names.on_adapters(
                fabric_maps.of_files(paths),
                patterns=self.extras.fabric,
            )
        answer = Path(self.stagedir) / ANSWER if self._asks_slurm else None
        if answer is None or not answer.exists():
            return None
        # Without a topology plugin Slurm answers with a sentence.
        return (
            fabric_maps.of_files([answer])
            if slurm_topology.is_topology(files.read_text(answer))
            else None
        )


def _routing_of(port: str) -> str:
    for prefix, routing in ROUTING_OF_PORTS.items():
        if port.startswith(prefix):
            return routing
    return UNKNOWN_ROUTING


def _slow_link(link: str, text: str) -> dict[str, Any]:
    """Return the finding that a link runs slower than its fellows, which needs no measurement."""
    return Finding(
        kind="link",
        severity=Severity.SUSPECT,
        part=link,
        text=text,
        advice="reseat or replace the cable, and look at both ports",
        key=f"link {link}",
    ).as_dict()


def _note(text: str) -> dict[str, Any]:
    return Finding(
        kind="topology", severity=Severity.NOTE, text=text, key=f"topology {text}"
    ).as_dict()

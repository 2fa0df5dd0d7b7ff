# SPDX-License-Identifier: BSD-3-Clause
"""What is known of the fabric between the nodes: files that the system's file names, or Slurm's own topology."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reframe.core.builtins import run_before
from reframe.core.exceptions import ConfigError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core import files
from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT

if TYPE_CHECKING:
    from fabric_checks.diagnosis.fabric_map.model import FabricMap

#: Schedulers whose jobs can ask for Slurm's topology.
SLURM = ("fabric-slurm", "slurm", "squeue")
#: What it said, in the stage folder; how long it may take.
ANSWER, ANSWER_S = "topology.txt", 20
#: How many nodes a message names.
MOST_NAMES = 4


class TopologyMixin(RegressionTestPlugin):
    """Give the analysis what is known of the fabric.

    A partition names the files under ``extras['topology']``, a list: what ``ibnetdiscover`` and
    ``dump_lfts`` printed, or Slurm's topology; a relative name is below ``config/systems``. Without it, a job on Slurm
    asks ``scontrol show topology``. What is broken, or has no node of the job, is not used, and the record says so,
    as it does of nodes that it lacks.

    Needs: ``current_layout`` (:class:`LayoutMixin`).
    """

    @run_before("run")
    def ask_for_topology(self):
        """Let the job ask Slurm, where no file says more; a job without an answer goes on."""
        assert self.topology_names is not None  # a mistake in them is told before anything runs
        if self._asks_slurm:
            ask = f"timeout {ANSWER_S} scontrol show topology > {ANSWER} 2> /dev/null || :"
            self.prerun_cmds = [*self.prerun_cmds, ask]

    @property
    def topology_names(self) -> list[str]:
        """The files that the partition names; none if it names none.

        :raises ConfigError: if they are no list of texts.
        """
        names = self.current_partition.extras.get("topology", [])
        if not isinstance(names, list) or not all(isinstance(each, str) and each for each in names):
            raise ConfigError(
                f"{self.current_partition.fullname}: extras: topology is {names!r}; give a list of files, such as "
                "['yours/ibnetdiscover.txt', 'yours/lfts.txt']"
            )
        return names

    @property
    def _asks_slurm(self) -> bool:
        scheduler = self.current_partition.scheduler.registered_name
        return not self.topology_names and self.current_layout.nodes > 1 and scheduler in SLURM

    def known_fabric(self, hosts: Sequence[str]) -> tuple[FabricMap | None, list[dict[str, Any]]]:
        """Return the map of the fabric, as far as it is known, and what to note about it.

        :param hosts: the host of each rank, as the program names it.
        """
        from fabric_checks.diagnosis.fabric_map import names  # noqa: PLC0415  (numpy would slow every listing)

        if self.current_layout.nodes < 2:
            return None, []
        try:
            known = self._read_topology()
        except (FabricError, OSError) as error:
            return None, [_note(f"the topology is not used: {error}")]
        if known is None:
            return None, []
        _, missing = names.places(hosts, known.hosts)
        doubts = [_note(f"of the topology: {doubt}") for doubt in known.doubts]
        if not missing:
            return known, doubts
        some = ", ".join(missing[:MOST_NAMES]) + (", ..." if len(missing) > MOST_NAMES else "")
        lacks = f"{known.source} lacks {len(missing)} of the job's {len(set(hosts))} nodes: {some}; update it"
        if len(missing) == len(set(hosts)):
            return None, [_note(f"the topology is not used: {lacks}")]
        return known, [_note(f"the topology is used for the other nodes: {lacks}"), *doubts]

    def _read_topology(self) -> FabricMap | None:
        from fabric_checks.diagnosis.fabric_map import slurm_topology, topology_files  # noqa: PLC0415  (seldom needed)

        if self.topology_names:
            return topology_files.read([ROOT / "config" / "systems" / name for name in self.topology_names])
        answer = Path(self.stagedir) / ANSWER if self._asks_slurm else None
        if answer is None or not answer.exists():
            return None
        # Without a plugin for it Slurm has no topology, and says so in words.
        return topology_files.read([answer]) if slurm_topology.is_topology(files.read_text(answer)) else None


def _note(text: str) -> dict[str, Any]:
    return {"kind": "topology", "hosts": [], "fault": False, "text": text}

# SPDX-License-Identifier: BSD-3-Clause
"""The base of the LAMMPS checks: the five inputs of its own bench folder."""

import platform

from reframe.core.builtins import run_after, variable

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Headline, Metric
from fabric_checks.reframe_ext.mixins import ProgramMixin

from ..base import FabricCheck
from ..builds import built_by_spack
from ..grids import grid
from . import physics

PROBLEMS = ["lj", "chain", "eam", "chute", "rhodo"]
#: The data files that each input reads.
DATA_FILES = {
    "lj": [],
    "chain": ["data.chain"],
    "eam": ["Cu_u3.eam"],
    "chute": ["data.chute"],
    "rhodo": ["data.rhodo"],
}
STEPS, ATOMS = 100, 32000


def timesteps(rank=0):
    """Return the headlines of the five problems."""
    return tuple(
        Headline(
            f"{problem}, timesteps",
            "timestep_rate",
            "LAMMPS",
            order,
            rank,
            parameters={"problem": problem},
        )
        for order, problem in enumerate(PROBLEMS, 30)
    )


class LammpsCheck(ProgramMixin, FabricCheck):
    """One input of LAMMPS's bench folder, 100 steps.

    Subclasses declare the parameter ``problem`` and, in ``scaled``, whether it is 32,000 atoms in all, or on
    each node.
    """

    #: Time steps; the physics is compared at the reference logs' 100 only.
    #:
    #: :type: :class:`int`
    #: :default: ``100``
    steps = variable(int, value=STEPS)

    #: OpenMP threads of each process (``OMP_NUM_THREADS``); some styles use them, as with ``-sf omp``.
    #:
    #: :type: :class:`int`
    #: :default: ``1``
    threads = variable(int, value=1)

    settings = {"steps": "", "threads": ""}
    suite = "lammps"
    built = built_by_spack("lammps")
    tags = {"lammps", "applications"}
    family = families.APPLICATIONS
    levels = Levels(nightly={"problem": ["lj"]}, procurement=True)
    scaled = False

    @property
    def script(self):
        """The name of the input; lj and eam scale as they are."""
        return f"in.{self.problem}" + (
            ".scaled" if self.scaled and self.problem not in ("lj", "eam") else ""
        )

    @property
    def input(self):
        """The name of the file that is run: the input, or a copy with another number of steps."""
        return self.script if self.steps == STEPS else f"in.{self.steps}-steps"

    @run_after("setup")
    def link_inputs(self):
        """Link the input and its data into the stage folder."""
        inputs = self.program["inputs"]
        self.prerun_cmds = [
            f"ln -sf {inputs}/{name} ."
            for name in (self.script, *DATA_FILES[self.problem])
        ]
        if self.steps != STEPS:
            self.prerun_cmds += [
                f"sed 's/^run\\b.*/run {self.steps}/' {self.script} > {self.input}"
            ]

    @run_after("setup")
    def set_threads(self):
        """A batch system may set it to the cores of a job, and LAMMPS then starts so many threads in each
        process."""
        self.env_vars |= {"OMP_NUM_THREADS": str(self.threads)}

    def command(self):
        words = [
            self.program["command"].format(benchmark="lmp"),
            "-in",
            self.input,
            "-log",
            "none",
        ]
        if self.scaled:
            # chute is a layer: it grows in two dimensions.
            axes = "xy" if self.problem == "chute" else "xyz"
            for axis, factor in zip(
                axes, grid(self.current_layout.nodes, len(axes)), strict=True
            ):
                words += ["-var", axis, str(factor)]
        return [*words, *self.further_options("lammps")]

    def metrics(self):
        return [
            Metric("loop_time", "s", "smaller", about="Wall time of the time steps"),
            Metric("timestep_rate", "1/s", "larger", about="Time steps a second"),
            Metric(
                "atom_step_rate",
                "Matom-step/s",
                "larger",
                about="10^6 atoms times steps a second",
            ),
            Metric(
                "communication_share",
                "%",
                "smaller",
                about="Share of the loop time in communication",
            ),
        ]

    def read(self, text):
        """Return the parsed output.

        :raises OutputError: unless it is of as many atoms as asked for, and of the physics of the reference
            logs: see :mod:`checks.lammps.physics`.
        """
        atoms = ATOMS * (self.current_layout.nodes if self.scaled else 1)
        output = parsers.lammps.parse(text, self.num_tasks, self.steps, atoms)
        self.note_version("lammps", output.version)
        if self.steps == STEPS:
            copies = self.current_layout.nodes if self.scaled else None
            physics.require(output, self.problem, copies, platform.machine())
        return output

    def measure(self, text):
        output = self.read(text)
        self.time_s = output.loop_time_s
        return {
            "loop_time": output.loop_time_s,
            "timestep_rate": output.steps / output.loop_time_s,
            "atom_step_rate": output.Matom_steps_per_s,
            "communication_share": output.share_percent["Comm"],
        }

# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS: the five inputs of its own bench folder."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before
from reframe.utility import udeps

from fabric_checks.errors import OutputError
from fabric_checks.metrics import Metric
from fabric_checks.mixins import ProgramMixin, layouts
from fabric_checks.parsers import lammps

from ..base import FabricCheck

#: What each input reads beside itself.
DATA_FILES = {
    "lj": [],
    "chain": ["data.chain"],
    "eam": ["Cu_u3.eam"],
    "chute": ["data.chute"],
    "rhodo": ["data.rhodo"],
}
#: Last thermodynamic output (step 100, 32,000 atoms) of the reference logs that come with the inputs, on one
#: processor: bench/log.15Jul25.*.fixed.g++.1 of LAMMPS 22 Jul 2025, and the relative tolerance. The logs on four
#: processors agree with them to 1e-8, except for chain, whose thermostat draws other random numbers on other numbers
#: of processors: there these columns differ by up to 0.2 %.
REFERENCE_THERMO = {
    "lj": ({"Temp": 0.7574531, "E_pair": -5.7585055, "TotEng": -4.6223613}, 1e-5),
    "chain": ({"Temp": 0.9729966, "E_mol": 20.507698, "TotEng": 22.40326}, 2e-2),
    "eam": ({"Temp": 801.832, "E_pair": -109957.3, "TotEng": -106640.77}, 1e-5),
    "chute": ({"Atoms": 32000, "KinEng": 784292.08, "c_1": 1571.0968}, 1e-4),
    "rhodo": ({"TotEng": -25290.7364, "PotEng": -46882.6454, "Temp": 301.0906}, 1e-5),
}
ONE_RANK = "1x1"
STEPS, ATOMS = 100, 32000


@rfm.simple_test
class LammpsBench(ProgramMixin, FabricCheck):
    """Molecular dynamics: run time, rate, share of communication, and speed-up against one process.

    Source: the bench folder of LAMMPS, 100 steps of 32,000 atoms. The physics must agree with the reference logs.
    """

    descr = "LAMMPS bench"
    suite = "lammps"
    problem = parameter(["lj", "chain", "eam", "chute", "rhodo"], type=str, loggable=True)
    layout = parameter(layouts("any"), type=str, loggable=True)
    tags = {"lammps"}

    @run_after("init")
    def depend_on_one_rank(self):
        """The speed-up is against the same problem on one process, run just before in the same environment."""
        if self.problem == "lj":
            self.tags = {*self.tags, "smoke"}
        if self.place.tasks > 1:
            (variant,) = type(self).get_variant_nums(problem=self.problem, layout=ONE_RANK)
            self.depends_on(type(self).variant_name(variant), how=udeps.by_case)

    @run_after("setup")
    def set_command(self):
        """Link the input and its data into the stage folder, and run it."""
        self.executable = self.program["command"].format(benchmark="lmp")
        self.executable_opts = ["-in", f"in.{self.problem}", "-log", "none"]
        inputs = self.program["inputs"]
        self.prerun_cmds = [f"ln -sf {inputs}/{name} ." for name in (f"in.{self.problem}", *DATA_FILES[self.problem])]

    def metrics(self):
        declared = [
            Metric("loop_time", "s", "smaller"),
            Metric("timestep_rate", "1/s", "larger"),
            Metric("atom_step_rate", "Matom-step/s", "larger"),
            Metric("communication_share", "%", "smaller"),
        ]
        if self.place.tasks > 1:
            declared.append(Metric("speed_up", "1", "larger"))
        return declared

    def measure(self, text):
        output = lammps.parse(text, self.num_tasks)
        self.note_version("lammps", output.version)
        if (output.steps, output.atoms) != (STEPS, ATOMS):
            raise OutputError(f"{output.steps} steps of {output.atoms} atoms were run, not {STEPS} of {ATOMS}")
        lammps.require_thermo(output, *REFERENCE_THERMO[self.problem])
        self.loop_time_s = output.loop_time_s
        values = {
            "loop_time": output.loop_time_s,
            "timestep_rate": output.steps / output.loop_time_s,
            "atom_step_rate": output.Matom_steps_per_s,
            "communication_share": output.share_percent["Comm"],
        }
        if self.place.tasks > 1:
            values["speed_up"] = self.one_rank_loop_time_s / output.loop_time_s
        return values

    @run_before("sanity")
    def read_one_rank(self):
        """Take the loop time on one process from the case this one depends on."""
        if self.place.tasks > 1:
            (variant,) = type(self).get_variant_nums(problem=self.problem, layout=ONE_RANK)
            self.one_rank_loop_time_s = self.getdep(type(self).variant_name(variant)).loop_time_s

# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS: the five inputs of its own bench folder."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after, run_before
from reframe.utility import udeps

from fabric_checks.errors import OutputError
from fabric_checks.layouts import Layout
from fabric_checks.metrics import Metric
from fabric_checks.mixins import ProgramMixin, layouts
from fabric_checks.parsers import lammps

from ..base import FabricCheck
from ..builds import Lammps, built_by_spack

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


def grid(count, dimensions):
    """Return factors of ``count``, one for each dimension, as equal as its prime factors allow, the largest first.

    >>> grid(12, 3)
    [3, 2, 2]
    """
    factors = [1] * dimensions
    divisor = count
    while divisor > 1:
        # Largest prime factors first, each to the smallest side so far.
        largest = max(d for d in range(2, divisor + 1) if divisor % d == 0 and all(d % e for e in range(2, d)))
        factors[factors.index(min(factors))] *= largest
        divisor //= largest
    return sorted(factors, reverse=True)


#: Layouts of more than one node, for weak scaling.
SEVERAL_NODES = [layout for layout in layouts("several") if Layout.of(layout).nodes > 1]


class LammpsCheck(ProgramMixin, FabricCheck):
    """One input of LAMMPS's bench folder, 100 steps."""

    suite = "lammps"
    built = built_by_spack(Lammps)
    tags = {"lammps"}

    def link_inputs(self, script):
        """Link an input and its data into the stage folder, and run it."""
        self.executable = self.program["command"].format(benchmark="lmp")
        self.executable_opts = ["-in", script, "-log", "none"]
        inputs = self.program["inputs"]
        self.prerun_cmds = [f"ln -sf {inputs}/{name} ." for name in (script, *DATA_FILES[self.problem])]

    def metrics(self):
        return [
            Metric("loop_time", "s", "smaller"),
            Metric("timestep_rate", "1/s", "larger"),
            Metric("atom_step_rate", "Matom-step/s", "larger"),
            Metric("communication_share", "%", "smaller"),
        ]

    def read(self, text, atoms):
        """Return the parsed output; raise :class:`OutputError` unless it is of so many atoms."""
        output = lammps.parse(text, self.num_tasks)
        self.note_version("lammps", output.version)
        if (output.steps, output.atoms) != (STEPS, atoms):
            raise OutputError(f"{output.steps} steps of {output.atoms} atoms were run, not {STEPS} of {atoms}")
        return output

    def values_of(self, output):
        """Return the metrics that every input has."""
        return {
            "loop_time": output.loop_time_s,
            "timestep_rate": output.steps / output.loop_time_s,
            "atom_step_rate": output.Matom_steps_per_s,
            "communication_share": output.share_percent["Comm"],
        }


@rfm.simple_test
class LammpsBench(LammpsCheck):
    """Molecular dynamics: run time, rate, share of communication, and speed-up against one process.

    Source: the bench folder of LAMMPS, 100 steps of 32,000 atoms. The physics must agree with the reference logs.
    """

    descr = "LAMMPS bench"
    problem = parameter(["lj", "chain", "eam", "chute", "rhodo"], type=str, loggable=True)
    layout = parameter(layouts("any"), type=str, loggable=True)

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
        """Run the input as it is."""
        self.link_inputs(f"in.{self.problem}")

    def metrics(self):
        declared = super().metrics()
        if self.place.tasks > 1:
            declared.append(Metric("speed_up", "1", "larger"))
        return declared

    def measure(self, text):
        output = self.read(text, ATOMS)
        lammps.require_thermo(output, *REFERENCE_THERMO[self.problem])
        self.loop_time_s = output.loop_time_s
        values = self.values_of(output)
        if self.place.tasks > 1:
            values["speed_up"] = self.one_rank_loop_time_s / output.loop_time_s
        return values

    @run_before("sanity")
    def read_one_rank(self):
        """Take the loop time on one process from the case this one depends on."""
        if self.place.tasks > 1:
            (variant,) = type(self).get_variant_nums(problem=self.problem, layout=ONE_RANK)
            self.one_rank_loop_time_s = self.getdep(type(self).variant_name(variant)).loop_time_s


class LammpsScaled(LammpsCheck):
    """Weak scaling: 32,000 atoms a node, and the time against that of one node with as many processes.

    Source: the scaled inputs of LAMMPS's bench folder. Their physics has no reference; its number of atoms is held to
    what was asked for, and the unscaled inputs are held to their logs by :class:`LammpsBench`.
    """

    descr = "LAMMPS bench, scaled with the nodes"
    problem = parameter(["lj", "chain", "eam", "chute", "rhodo"], type=str, loggable=True)
    layout = parameter(SEVERAL_NODES, type=str, loggable=True)

    @run_after("init")
    def depend_on_one_node(self):
        """The efficiency is against the unscaled problem on one node, run just before in the same environment."""
        self.depends_on(self.one_node(), how=udeps.by_case)

    def one_node(self):
        """Return the name of the case on one node."""
        (variant,) = LammpsBench.get_variant_nums(problem=self.problem, layout=f"1x{self.place.ppn}")
        return LammpsBench.variant_name(variant)

    @run_after("setup")
    def set_command(self):
        """Run the scaled input; lj and eam scale as they are."""
        scaled = "" if self.problem in ("lj", "eam") else ".scaled"
        self.link_inputs(f"in.{self.problem}{scaled}")
        # chute is a layer: it grows in two dimensions.
        axes = "xy" if self.problem == "chute" else "xyz"
        for axis, factor in zip(axes, grid(self.place.nodes, len(axes)), strict=True):
            self.executable_opts += ["-var", axis, str(factor)]

    def metrics(self):
        return [*super().metrics(), Metric("weak_scaling_efficiency", "%", "larger")]

    @run_before("sanity")
    def read_one_node(self):
        """Take the loop time on one node from the case this one depends on."""
        self.one_node_loop_time_s = self.getdep(self.one_node()).loop_time_s

    def measure(self, text):
        output = self.read(text, ATOMS * self.place.nodes)
        efficiency = 100 * self.one_node_loop_time_s / output.loop_time_s
        return {**self.values_of(output), "weak_scaling_efficiency": efficiency}


if SEVERAL_NODES:
    rfm.simple_test(LammpsScaled)

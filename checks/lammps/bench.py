# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS on more and more processes: one problem for all of them, or one that grows with the nodes."""

from reframe.core.builtins import parameter, run_after
from reframe.utility import udeps

from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import PROBLEMS, LammpsCheck, timesteps

ONE_RANK = "1x1"


# More processes a node against one are compared by LammpsPpnSeries, over all numbers of nodes.
@check(compare=False)
class LammpsBench(LammpsCheck):
    """Molecular dynamics: run time, rate, share of communication, and speed-up against one process.

    Source: the bench folder of LAMMPS, 100 steps of 32,000 atoms. The physics must agree with the reference
    logs. Parallel efficiency is the speed-up over the number of processes.
    """

    descr = "LAMMPS bench"
    problem = parameter(PROBLEMS, type=str)
    layout = layouts("any")
    headlines = timesteps()

    @run_after("init")
    def depend_on_one_rank(self):
        """The speed-up is against the same problem on one process, run just before in the same
        environment."""
        if self.current_layout.tasks > 1:
            (variant,) = type(self).get_variant_nums(
                problem=self.problem, layout=ONE_RANK
            )
            self.depends_on(type(self).variant_name(variant), how=udeps.by_case)

    def metrics(self):
        declared = super().metrics()
        if self.current_layout.tasks > 1:
            declared += [
                Metric(
                    "speed_up",
                    "1",
                    "larger",
                    about="Loop time on one process over that here",
                ),
                Metric(
                    "parallel_efficiency",
                    "%",
                    "larger",
                    about="Speed-up over the number of processes",
                ),
            ]
        return declared

    def measure(self, text):
        output = self.read(text)
        self.loop_time_s = output.loop_time_s
        values = self.values_of(output)
        if self.current_layout.tasks > 1:
            speed_up = self.one_rank_loop_time_s / output.loop_time_s
            values |= {
                "speed_up": speed_up,
                "parallel_efficiency": 100 * speed_up / self.current_layout.tasks,
            }
        return values

    def read_dependencies(self):
        """Take the loop time on one process from the case this one depends on."""
        if self.current_layout.tasks > 1:
            (variant,) = type(self).get_variant_nums(
                problem=self.problem, layout=ONE_RANK
            )
            self.one_rank_loop_time_s = self.getdep(
                type(self).variant_name(variant)
            ).loop_time_s


@check(compare=False)
class LammpsScaled(LammpsCheck):
    """Weak scaling: 32,000 atoms a node, and the time against that of one node with as many processes.

    Source: the scaled inputs of LAMMPS's bench folder. Each atom's energy has to be that of the unscaled
    reference log, within what other velocities change, and so has its drift over the run where no thermostat
    sets it.
    """

    descr = "LAMMPS bench, scaled with the nodes"
    problem = parameter(PROBLEMS, type=str)
    layout = layouts("several", where=lambda layout: layout.nodes > 1)
    scaled = True
    levels = Levels(procurement=True)
    headlines = timesteps(rank=1)

    @run_after("init")
    def depend_on_one_node(self):
        """The efficiency is against the unscaled problem on one node, run just before in the same
        environment."""
        self.depends_on(self.one_node(), how=udeps.by_case)

    def one_node(self):
        """Return the name of the case on one node."""
        (variant,) = LammpsBench.get_variant_nums(
            problem=self.problem, layout=f"1x{self.current_layout.ppn}"
        )
        return LammpsBench.variant_name(variant)

    def metrics(self):
        return [
            *super().metrics(),
            Metric(
                "weak_scaling_efficiency",
                "%",
                "larger",
                about="Loop time on one node with as many processes over that here",
            ),
        ]

    def read_dependencies(self):
        """Take the loop time on one node from the case this one depends on."""
        self.one_node_loop_time_s = self.getdep(self.one_node()).loop_time_s

    def measure(self, text):
        output = self.read(text)
        efficiency = 100 * self.one_node_loop_time_s / output.loop_time_s
        return {**self.values_of(output), "weak_scaling_efficiency": efficiency}

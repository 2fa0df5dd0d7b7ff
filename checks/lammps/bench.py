# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS on more and more processes: one problem for all of them, or one that grows with the nodes."""

from reframe.core.builtins import parameter

from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import layouts

from ..baseline import Baseline, SpeedUp, name_of_case
from ..registration import check
from .base import PROBLEMS, LammpsCheck, timesteps


# More processes a node against one are compared by LammpsPpnSeries, over all numbers of nodes.
@check(compare=False)
class LammpsBench(SpeedUp, LammpsCheck):
    """Molecular dynamics: run time, rate, share of communication, and speed-up against one process.

    Source: the bench folder of LAMMPS, 100 steps of 32,000 atoms. The physics must agree with the reference
    logs. Parallel efficiency is the speed-up over the number of processes.
    """

    descr = "LAMMPS bench"
    problem = parameter(PROBLEMS, type=str)
    layout = layouts("any")
    headlines = timesteps()
    timed = "Loop time"


@check(compare=False)
class LammpsScaled(Baseline, LammpsCheck):
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

    @property
    def baseline(self):
        """The unscaled problem on one node."""
        layout = f"1x{self.current_layout.ppn}"
        return name_of_case(LammpsBench, problem=self.problem, layout=layout)

    def metrics(self):
        about = "Loop time on one node with as many processes over that here"
        return [
            *super().metrics(),
            Metric("weak_scaling_efficiency", "%", "larger", about=about),
        ]

    def measure(self, text):
        values = super().measure(text)
        efficiency = 100 * self.baseline_s / self.time_s
        return values | {"weak_scaling_efficiency": efficiency}

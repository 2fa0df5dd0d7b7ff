# SPDX-License-Identifier: BSD-3-Clause
"""Checks whose values are compared with those of another case, run just before in the same environment."""

from reframe.core.builtins import run_after
from reframe.core.pipeline import RegressionTestPlugin
from reframe.utility import udeps

from fabric_checks.core.metrics import Metric

ONE_RANK = "1x1"


def name_of_case(cls, **parameters):
    """Return the name of the one case of a check with these values of its parameters."""
    (variant,) = cls.get_variant_nums(**parameters)
    return cls.variant_name(variant)


class Baseline(RegressionTestPlugin):
    """Depend on another case, and know its time.

    Subclasses declare ``baseline``, the name of that case or None, and set ``time_s`` when they measure.
    """

    @run_after("init")
    def depend_on_baseline(self):
        """Let the baseline run before."""
        if self.baseline:
            self.depends_on(self.baseline, how=udeps.by_case)

    def read_dependencies(self):
        """Take the time of the case this one depends on."""
        if self.baseline:
            self.baseline_s = self.getdep(self.baseline).time_s


class SpeedUp(Baseline):
    """Add the speed-up against the same case on one process, and the parallel efficiency."""

    #: What of the run is timed.
    timed = "Elapsed time"

    @property
    def baseline(self):
        """The case on one process; None of that itself."""
        if self.num_tasks == 1:
            return None
        own = {name: getattr(self, name) for name in type(self).raw_params}
        return name_of_case(type(self), **own | {"layout": ONE_RANK})

    def metrics(self):
        if self.num_tasks == 1:
            return super().metrics()
        speed_up = f"{self.timed} on one process over that here"
        efficiency = "Speed-up over the number of processes"
        return [
            *super().metrics(),
            Metric("speed_up", "1", "larger", about=speed_up),
            Metric("parallel_efficiency", "%", "larger", about=efficiency),
        ]

    def measure(self, text):
        values = super().measure(text)
        if self.num_tasks > 1:
            values["speed_up"] = self.baseline_s / self.time_s
            values["parallel_efficiency"] = 100 * values["speed_up"] / self.num_tasks
        return values

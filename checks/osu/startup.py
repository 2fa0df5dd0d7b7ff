# SPDX-License-Identifier: BSD-3-Clause
"""OSU start-up benchmarks."""

import reframe  # noqa: F401  (ReFrame loads only files that import it)

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import OsuProgram


class OsuStartup(OsuProgram):
    """Time to start the processes of an MPI program."""

    family = families.START_UP
    folder = "startup"
    needs = ("osu_c",)
    records_ports = False  # the program `ports` would be a part of the start
    tags = {"osu", "startup"}


@check()
class OsuInit(OsuStartup):
    """Time of ``MPI_Init``: minimum, average and maximum over the processes. The program prints whole
    milliseconds."""

    descr = "OSU time of MPI_Init"
    benchmark = "init"
    layout = layouts("any")

    def metrics(self):
        return [
            Metric(
                f"{name}_init_time",
                "s",
                "smaller",
                about="Time of MPI_Init over the processes",
            )
            for name in ("min", "avg", "max")
        ]

    def measure(self, text):
        output = parsers.osu.parse_init(text, self.num_tasks)
        self.note_version("osu", output.version)
        return {
            f"{name}_init_time": seconds for name, seconds in output.times_s.items()
        }


@check()
class OsuHello(OsuStartup):
    """Time from the launch of a program that does nothing but start and end MPI until the launcher has
    ended."""

    descr = "OSU time of a launch"
    benchmark = "hello"
    layout = layouts("any")

    def around_launch(self):
        """Take the time around the launch, behind the placement probe; the program itself takes none."""
        return ["fabric_start=$(date +%s%N)"], [
            "fabric_status=$?",
            'echo "launch_to_end_ns: $(($(date +%s%N) - fabric_start))"',
            "(exit $fabric_status)",
        ]

    def metrics(self):
        return [
            Metric(
                "launch_time",
                "s",
                "smaller",
                about=(
                    "Time from the launch of a program that starts and ends MPI until the launcher has ended"
                ),
            )
        ]

    def measure(self, text):
        output = parsers.osu.parse_hello(text, self.num_tasks)
        self.note_version("osu", output.version)
        return {"launch_time": output.times_s["launch"]}

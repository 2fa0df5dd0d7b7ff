# SPDX-License-Identifier: BSD-3-Clause
"""MPP-DYNA on a deck of the site's: speed-up, and what another decomposition gains."""

import reframe  # noqa: F401  (ReFrame loads only files that import it)

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import ProgramMixin, layouts

from ..base import FabricCheck
from ..baseline import Baseline, SpeedUp, name_of_case
from ..builds import built_by_spack
from ..registration import check

#: Parts of the table of times: the work on elements, and contact, whose share grows with bad balance.
SHARES = {
    "element_processing_share": ("Element processing", "larger"),
    "contact_share": ("Contact algorithm", "smaller"),
}


class DynaDeck(ProgramMixin, FabricCheck):
    """One run of the deck.

    Behind it the messages of the first process are printed too: which of its last lines are on standard
    output depends on the release.
    """

    suite = "ls_dyna"
    built = built_by_spack("ls_dyna")
    tags = {"ls_dyna", "applications"}
    family = families.APPLICATIONS
    levels = Levels(procurement=True)
    time_limit = "4h"
    env_vars = {"OMP_NUM_THREADS": "1"}
    decomposition = ()

    def command(self):
        words = [
            *self.program["command"].split(),
            f"i={self.program['deck']}",
            *self.decomposition,
        ]
        return [*words, *self.further_options("ls_dyna")]

    def around_launch(self):
        return [], [
            f"if test -f mes0000; then echo; echo '{parsers.ls_dyna.MESSAGES}'; cat mes0000; fi"
        ]

    def metrics(self):
        return [
            Metric("elapsed_time", "s", "smaller", about="Elapsed time of the run"),
            Metric(
                "time_per_cycle", "us", "smaller", about="Elapsed time over the cycles"
            ),
            *(
                Metric(
                    name, "%", better, about="Share of the part in the table of times"
                )
                for name, (_, better) in SHARES.items()
            ),
        ]

    def measure(self, text):
        output = parsers.ls_dyna.parse(text, self.num_tasks)
        self.note_version("ls_dyna", output.version)
        self.time_s, total_s = output.elapsed_s, sum(output.clock_s.values())
        return {
            "elapsed_time": output.elapsed_s,
            "time_per_cycle": 1e6 * output.elapsed_s / output.cycles,
            # The table has a row for what took time.
            **{
                name: 100 * output.clock_s.get(part, 0.0) / total_s
                for name, (part, _) in SHARES.items()
            },
        }


@check(compare=False)
class MppDyna(SpeedUp, DynaDeck):
    """Elapsed time of a crash simulation with its own decomposition, its parts, and the speed-up against one
    process.

    Source: Jonsson and Magro, Table 1. Deck, binary and licence are the site's.
    """

    descr = "MPP-DYNA"
    layout = layouts("any")


@check(compare=False)
class MppDynaDecomposition(Baseline, DynaDeck):
    """The same deck with the decomposition of the site's pfile, and how many times as fast that is.

    Source: Jonsson and Magro, who gained 1.7 to 2.1 times on two processors by another decomposition.
    """

    descr = "MPP-DYNA, another decomposition"
    layout = layouts("any", where=lambda layout: layout.tasks > 1)
    needs = ("ls_dyna_pfile",)

    @property
    def decomposition(self):
        """The option that names the pfile."""
        return (f"p={self.program['pfile']}",)

    @property
    def baseline(self):
        """The deck's own decomposition in the same layout."""
        return name_of_case(MppDyna, layout=self.layout)

    def metrics(self):
        about = "Elapsed time with the deck's own decomposition over that here"
        return [
            *super().metrics(),
            Metric("decomposition_gain", "1", "larger", about=about),
        ]

    def measure(self, text):
        values = super().measure(text)
        return values | {"decomposition_gain": self.baseline_s / self.time_s}

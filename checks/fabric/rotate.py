# SPDX-License-Identifier: BSD-3-Clause
"""Cross-section bandwidth: the rates of all pairs while every node sends at once."""

from dataclasses import replace
from datetime import date

from reframe.core.builtins import parameter, variable

from fabric_checks.core import families
from fabric_checks.core.extras import Extras
from fabric_checks.core.layouts import MOST_OF_ALL_PAIRS
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Headline
from fabric_checks.diagnosis.cross_section.metrics import METRICS, OF_RAILS, OF_SWITCHES
from fabric_checks.parsers import fabric, rotate_patterns
from fabric_checks.ports import expected_bytes
from fabric_checks.reframe_ext.mixins import layouts, optional

from ..devices import DeviceMemory, gpu_layouts
from ..registration import check
from .base import OwnProgram

#: The program's own, where a check sets nothing else.
MESSAGE_B, MESSAGES, TESTS = 8 * 2**20, 10, 3


def _headlines(rank, pattern):
    """Return the headlines of one pattern."""
    of = {"rank": rank, "layouts": "most nodes", "parameters": {"pattern": pattern}}
    section = "All pairs at once"
    return (
        Headline("median pair", "median_bandwidth", section, 40, **of),
        Headline(
            "slowest pair", "slowest_pair_bandwidth", section, 41, least_tasks=3, **of
        ),
        Headline(
            "slowest pair to median",
            "slowest_to_median",
            section,
            42,
            least_tasks=3,
            **of,
        ),
    )


@check()
class Rotate(OwnProgram):
    """Bandwidth of every pair while all pairs of a round run, and which node or path is slow.

    Between nodes one process is one node; where nodes have several adapters (``extras['nics']``) there is a
    second layout, of one process an adapter, each paired with those of its number (``--rails``).

    ``round-robin``: a tournament, of which a night has as many rounds as ``rotate`` does: every node sends
    and receives, and every leaf's way to every other one is measured in both directions. ``rotate``: one half
    of the nodes to the other, every shift; source: Naegle, cross-sectional bandwidth testing on Feynman and
    Rogue (e-mails of June 2004). ``shift``: every node through every other, both ways at once, as in
    mpiGraph. ``bisection``: random matchings, as netgauge's effective bisection bandwidth. Slow pairs are
    measured again, with their neighbours and alone, before anything is blamed. With ``round-robin`` nodes
    also send and receive at once, in two rounds more.
    """

    descr = "Cross-section bandwidth of all pairs"
    pattern = parameter(["round-robin", "rotate", "shift", "bisection"])
    ranks_between_nodes = "adapter"
    layout = layouts("several", ranks=ranks_between_nodes, most=MOST_OF_ALL_PAIRS)
    own_program = "rotate"
    confirms_itself = True
    needs_whole_fabric = True
    packages = ("polars", "numpy", "scipy")
    packages_for = (
        "to separate slow nodes, slow paths and chance in the matrix of pairs"
    )
    tags = {"fabric", "cross-section"}
    family = families.CROSS_SECTION
    #: The pattern that measures every node both ways.
    levels = Levels(
        nightly={"pattern": ["round-robin"]},
        procurement=True,
        vet={"pattern": ["round-robin"]},
    )
    headlines = tuple(
        headline
        for rank, pattern in enumerate(("rotate", "round-robin", "shift", "bisection"))
        for headline in _headlines(rank, pattern)
    )
    #: The message size, in bytes (``--size``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    message_B = optional(int)

    #: Messages in a row in a test, and tests of a round, of which the best counts (``--messages``,
    #: ``--tests``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    messages = optional(int)
    tests = optional(int)

    #: Rounds that are measured (``--shifts``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: all; of ``round-robin`` those that measure every node and every leaf's ways both
    #: ways
    rounds = optional(int)

    #: Of runs of ``round-robin`` that measure a part of the rounds, the number of this one: each measures
    #: others, until all pairs were measured (``--turn``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the number of the day, so that nights that follow each other measure others
    turn = optional(int)

    #: Minutes that the rounds take at most, at the rate of a link (``extras['link_MBps']``, without it there
    #: is no bound) and if nothing is slow; other nights measure the other rounds.
    #:
    #: :type: :class:`float`
    #: :default: ``10``
    scan_minutes = variable(float, value=10.0)

    settings = {
        "scan_minutes": "",
        "message_B": "--size",
        "messages": "--messages",
        "tests": "--tests",
        "rounds": "--shifts",
        "turn": "--turn",
    }
    uses_topology = True
    #: The medians within and between switches, once they are known.
    of_switches = {}
    #: On links of 1 Gbit/s the rounds that confirm a node at half rate take nine minutes.
    time_limit = "20m"

    @property
    def rails(self):
        """The processes of a node that are paired with those of their number on other nodes."""
        return self.current_layout.ppn if self.current_layout.nodes > 1 else 1

    def sharing(self, extras):
        """Return how many processes of a node take turns on an adapter, a round each."""
        return 1

    def round_s(self, extras):
        """Return how long the tests of a round take at the rate of a link."""
        message_B, messages = self.message_B or MESSAGE_B, self.messages or MESSAGES
        test_s = message_B * messages / (1e6 * extras.link_MBps)
        return (self.tests or TESTS) * self.sharing(extras) * test_s

    def scan_rounds(self, extras):
        """Return how many rounds are measured: those of a night, or all, as far as rows and time allow."""
        if self.rounds is not None:
            return self.rounds
        ends = self.num_tasks // self.rails
        wanted = rotate_patterns.wanted_rounds(self.pattern, ends, self.rails)
        if extras.link_MBps is None:
            return wanted
        in_time = int(60 * self.scan_minutes / self.round_s(extras))
        return min(wanted, max(in_time, rotate_patterns.FEWEST_ROUNDS))

    def expected(self, partition):
        """Return the time and the output of the scan on a partition."""
        extras, ranks = Extras.of(partition), self.num_tasks
        rounds = self.scan_rounds(extras)
        row = f"{rounds} {ranks} {ranks} 12345.6 12345.6 scan 12345.6\n"
        rows = rounds * rotate_patterns.pairs_of_round(self.pattern, ranks)
        scan_s = rounds * self.round_s(extras) if extras.link_MBps else 0.0
        from fabric_checks.records.cost import Expected  # noqa: PLC0415  (packages that may be missing)

        return Expected(scan_s, rows * len(row))

    def arguments(self):
        words, ends = ["--pattern", self.pattern], self.num_tasks // self.rails
        rounds = self.scan_rounds(self.extras)
        is_part = rounds < rotate_patterns.all_rounds(self.pattern, ends)
        if self.rounds is None and (is_part or self.pattern == "round-robin"):
            words += ["--shifts", str(rounds)]
            if self.pattern == "round-robin":
                nights = rotate_patterns.runs_until_all(ends, rounds)
                words += ["--turn", str(date.today().toordinal() % nights)]
        words += ["--confirm"]
        if self.pattern == "round-robin":
            words += ["--both-ways"]
        if self.rails > 1:
            return [*words, "--rails", str(self.rails)]
        return [*words, *self.group_options()]

    def metrics(self):
        """Declare the metrics of every run, then those of a run whose switches are known. A pair's rate is
        one way."""
        declared = [
            *METRICS,
            *(metric for metric in OF_SWITCHES if metric.name in self.of_switches),
            *(OF_RAILS if self.rails > 1 else ()),
        ]
        return [replace(metric, one_way=metric.unit == "MB/s") for metric in declared]

    def measure(self, text):
        # Only in a run: a site's own ReFrame may lack NumPy, and has to list this check and run the others.
        from fabric_checks.diagnosis.cross_section import evaluation  # noqa: PLC0415  (NumPy, which may be missing)

        output = evaluation.read(text, self.pattern)
        known, notes = None, []
        if self.uses_topology and self.rails == 1:
            known, notes = self.known_fabric(output.hosts)
        self.report = evaluation.of_run(output, self.link_MBps, known)
        self.facts.findings = [
            *(each.as_dict() for each in self.report.all_findings()),
            *notes,
        ]
        for found in self.facts.findings if output.nodes else ():
            if ranks := found.get("data", {}).get("ranks"):
                nodes = [output.nodes[rank] for rank in ranks]
                found["hosts"] = list(dict.fromkeys(nodes))
        self.facts.limits = self._limits(self.facts.findings)
        # Of launches that are compared, one may know of switches and the other not.
        self.of_switches = self.report.of_switches if len(self.launches) == 1 else {}
        declared = {metric.name for metric in self.metrics()}
        return {
            name: value
            for name, value in self.report.metrics().items()
            if name in declared
        }

    def _limits(self, found):
        """Return the limits of the run, that of pairs by the name of those that it measured.

        Other turns measure other pairs: each finding of one has the name of the limit that it is held
        against, so that a night on which nobody looked at the pair does not close it.
        """
        limits, output = dict(self.report.limits), self.report.output
        measured, all_pairs = output.ordered_pairs
        if (
            self.pattern != "round-robin"
            or measured == all_pairs
            or "pair" not in limits
        ):
            return limits
        # Outputs of earlier releases have no such option, and are of the first turn.
        given = {"turn": "0"} | fabric.options(output.header)
        turn = fabric.number_of(given, "turn")
        name = f"pair of turn {turn}"
        for each in found:
            if each["kind"] == "pair":
                each["data"] = each.get("data", {}) | {"limit": name}
        return {name if part == "pair" else part: loss for part, loss in limits.items()}

    def moved_B(self, text):
        output = self.report.output
        pairs = [
            pair
            for name, phase in output.phases.items()
            if name != "leaf"  # of smaller messages
            for pair in zip(phase.sender, phase.receiver, strict=True)
        ]
        return expected_bytes.rotate_B(
            output.header.get("options", ""), output.nodes or output.hosts, pairs
        )

    @property
    def link_MBps(self):
        """The rate of a link as the partition's extras give it, or None: then as the fastest pairs show
        it."""
        return self.extras.link_MBps


@check(compare=False)
class RotateOnDevice(DeviceMemory, Rotate):
    """Bandwidth of every pair of GPUs of the same number, rail by rail, and which GPU, adapter, rail or node
    is slow.

    Buffers are in the memory of the GPUs, so that the MPI library has to accept those: its environment has
    the feature ``mpi_cuda`` or ``mpi_rocm``. One process is one GPU, and all GPUs of a node run at once,
    those of one adapter (``extras['nics']`` for the GPUs of a node) in turns. On one node all its GPUs are
    paired.
    """

    descr = "Cross-section bandwidth of GPUs"
    device = parameter(["cuda", "rocm"], type=str)
    needs_of = {"device": {"cuda": ("mpi_cuda",), "rocm": ("mpi_rocm",)}}
    pattern = parameter(["round-robin"])
    ranks_between_nodes = "any"  # one a GPU
    layout = gpu_layouts(
        {"cuda": "mpi_cuda", "rocm": "mpi_rocm"}, most=MOST_OF_ALL_PAIRS
    )
    levels = Levels(nightly=True, procurement=True)
    headlines = ()
    #: A node has a switch for each rail, and files of the topology one for each node.
    uses_topology = False

    def sharing(self, extras):
        shared = self.rails > extras.nics and self.rails % extras.nics == 0
        return self.rails // extras.nics if shared else 1

    def arguments(self):
        words = [*super().arguments(), "--memory", self.memory]
        if self.sharing(self.extras) > 1:
            words += ["--adapters", str(self.extras.nics)]
        return words

    def measure(self, text):
        values = super().measure(text)
        self.require_memory(self.report.output.memory)
        return values

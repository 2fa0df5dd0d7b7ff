# SPDX-License-Identifier: BSD-3-Clause
"""The base of the OSU checks."""

from dataclasses import replace
from pathlib import Path

from reframe.core.builtins import variable
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks import parsers
from fabric_checks.core.errors import OutputError
from fabric_checks.reframe_ext.mixins import ProgramMixin, SizesMixin, optional
from fabric_checks.software.suites.osu import can_verify

from ..base import FabricCheck
from ..builds import built_by_spack
from ..devices import HOST, DeviceMemory
from ..tables import Curve, Tables

MiB = 1024**2
#: The arguments of mpi4py's ports for each setting: they have two of some, for small and for large messages.
PORT_ARGUMENTS = {
    "largest_B": ("MAX_MSG_SIZE",),
    "iterations": ("loop{small}", "loop_large"),
    "warmup": ("skip{small}", "skip_large"),
    "window": ("window_size", "window_size_large"),
}
#: The file with the output of the launch that verifies the data, in the stage folder.
VALIDATION = "validation.txt"


LATENCY = Curve(
    "latency",
    "us",
    "smaller",
    "latency_us",
    about="Half the round trip; of collectives and one-sided operations the time of a call",
)
BANDWIDTH = Curve(
    "bandwidth",
    "MB/s",
    "larger",
    "bandwidth_MBps",
    about="Bandwidth of windows of messages, summed over pairs and directions",
)
ONE_WAY = replace(BANDWIDTH, one_way=True)


class OsuProgram(ProgramMixin, FabricCheck):
    """One OSU benchmark in one launch.

    Source: the OSU Micro-Benchmarks of the Ohio State University. Where an environment offers the Python
    ports that come with mpi4py, results are of ``osu-py``: their values include the interpreter.

    Subclasses declare ``benchmark``, its ``folder`` in OSU's own installation, and in ``needs`` the features
    that the environment has to have in addition to ``osu``.
    """

    suite = "osu"
    built = built_by_spack("osu")
    tags = {"osu"}

    def command(self):
        """Call the benchmark, in the folder that OSU installs it in if the environment's command wants to
        know."""
        program = self.program["command"].format(
            benchmark=f"osu_{self.benchmark}", folder=self.folder
        )
        if self.is_port and self.changed.keys() & PORT_ARGUMENTS.keys():
            return [self.call_of_port(program)]
        return [
            program,
            *self.arguments(),
            *self.setting_options,
            *self.further_options("osu"),
        ]

    def arguments(self):
        """Return the check's own options of the benchmark."""
        return []

    @property
    def is_port(self):
        """Whether the program is one of mpi4py's ports, which take no options."""
        return self.program["program"] == "osu-py"

    def call_of_port(self, program):
        """Return the command line that calls a port's function with the changed settings as its arguments."""
        python, _, path = program.rpartition(" ")
        small = "_small" if self.benchmark == "multi_lat" else ""
        given = [
            f"{argument.format(small=small)}={value}"
            for name, value in self.changed.items()
            for argument in PORT_ARGUMENTS.get(name, ())
        ]
        name, folder = Path(path).stem, Path(path).parent
        code = f"import sys; sys.path.insert(0, '{folder}'); import {name}; {name}.{name}({', '.join(given)})"
        return f'{python} -c "{code}"'


class Window(RegressionTestPlugin):
    """A benchmark with a window of messages in flight."""

    #: The messages in flight (``-W``).
    #:
    #: :type: :class:`int`
    #: :default: ``64``
    window = variable(int, value=64)

    settings = {"window": "-W"}


class OsuCheck(DeviceMemory, Tables, SizesMixin, OsuProgram):
    """A benchmark that goes through message sizes, all in one launch.

    Subclasses declare ``most_B``, the largest message without ``-S``, and ``curves``, and in ``has_zero``
    whether a message of zero bytes makes sense.
    With buffers in the memory of a device the partition needs the feature ``cuda`` or ``rocm`` and the
    environment ``osu_cuda`` or ``osu_rocm``; the variant of the check with such buffers has a parameter
    ``device``.
    """

    #: Timed iterations at each message size (``-i``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: OSU's own, fewer for large messages
    iterations = optional(int)

    #: Iterations before them (``-x``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: OSU's own, fewer for large messages
    warmup = optional(int)

    #: Where the buffers of the two ranks are, with ``device``: ``D`` on the device, ``H`` on the host, ``M``
    #: managed. Collectives take none.
    #:
    #: :type: :class:`str`
    #: :default: ``D D`` of point-to-point and one-sided benchmarks
    device_buffers = variable(str, value="")

    settings = {"iterations": "-i", "warmup": "-x", "device_buffers": None}
    curves = (LATENCY,)
    has_zero = True
    most_B = 4 * MiB
    #: Whether the program has `-c`, with which it verifies the data that it received.
    validates = True
    needs_of = {"device": {"cuda": ("osu_cuda",), "rocm": ("osu_rocm",)}}

    @property
    def least_B(self):
        """0 where the environment's program measures that (OSU 7 does not) and it makes sense, else 1.

        Releases before 7 reduce floats, so there the sizes of a reduction begin with one of those, 4 bytes.
        """
        least_B = self.program["smallest_message_B"]
        if self.benchmark.removesuffix("_persistent") in parsers.osu.REDUCTIONS:
            return 4 if least_B == 0 else 1
        return least_B if self.has_zero else 1

    @property
    def range_B(self):
        """The smallest and the largest message without ``-S``."""
        return self.least_B, self.most_B

    def unfit(self):
        """Yield what mpi4py's ports do not take, and buffers that are nowhere."""
        yield from super().unfit()
        if self.is_port:
            for name in self.changed.keys() - PORT_ARGUMENTS.keys():
                yield (
                    name,
                    "mpi4py's ports do not take it; OSU's own programs do (`--stack spack`)",
                )
        if "device_buffers" in self.changed and set(self.device_buffers.split()) - {
            "D",
            "H",
            "M",
        }:
            yield "device_buffers", "give two of D, H and M, such as 'D H'"

    def arguments(self):
        """Pass the message sizes to programs that take them, the benchmark's own options, and the memory of
        buffers."""
        words = []
        if self.program["takes_sizes"] and self.takes("largest_B"):
            words = ["-m", f"{self.sizes_B[0]}:{self.sizes_B[-1]}"]
        words += self.own_options()
        if self.memory != HOST:
            words += ["-d", self.memory, *self.device_buffers.split()]
        return words

    def own_options(self):
        """Return further options of the benchmark."""
        return []

    @property
    def validated(self):
        """Whether a launch before the timed one verifies the data; releases before 7.4 find faults that are
        not."""
        if not (
            self.verify_data
            and self.validates
            and self.validated_B
            and len(self.launches) == 1
        ):
            return False
        return "osu_7_4" in self.current_environ.features and can_verify(
            self.program["version"], self.benchmark
        )

    @property
    def reduces(self):
        """Whether data are summed: those are verified as integers, because some MPIs sum bytes with
        saturation."""
        return (
            self.benchmark.removesuffix("_persistent").removeprefix("i")
            in parsers.osu.REDUCTIONS
        )

    @property
    def validated_B(self):
        """The message sizes of the launch that verifies the data."""
        return (
            [size for size in self.sizes_B if size >= 4]
            if self.reduces
            else self.sizes_B
        )

    def around_launch(self):
        """Verify the data in a launch of its own: filling and comparing buffers would change the times."""
        before, behind = super().around_launch()
        if self.validated:
            launch = self.job.launcher.run_command(self.job)
            words = [*self.command(), "-c", "-x", "0", "-i", "2"]
            if self.reduces:
                words += [
                    "-T",
                    "mpi_int",
                    "-m",
                    f"{self.validated_B[0]}:{self.validated_B[-1]}",
                ]
            before = [
                *before,
                f"{launch} {' '.join(self.inside(words))} > {VALIDATION} || :",
            ]  # the output is judged
        return before, behind

    def read(self, text):
        """Return the parsed output.

        :raises OutputError: if its buffers were in other memory.
        :raises SanityError: if OSU found wrong data, or did not verify them.
        """
        if self.validated:
            path = Path(self.stagedir) / VALIDATION
            try:
                parsers.osu.require_validated(
                    path.read_text(errors="replace"), self.benchmark, self.validated_B
                )
            except parsers.osu.WrongDataError as error:
                raise SanityError(
                    f"{error}; see {path}, and compare with another MPI or release"
                ) from None
            except (OSError, OutputError) as error:
                raise SanityError(
                    self.with_cause(
                        f"OSU did not verify the data (-c): {error}; see {path}"
                    )
                ) from None
        output = parsers.osu.parse(text, self.benchmark, self.sizes_B)
        self.note_version(output.program, output.version)
        self.require_memory(output.memory)
        return output

    def measure(self, text):
        return self.values_of(self.read(text).rows)

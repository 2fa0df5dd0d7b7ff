# SPDX-License-Identifier: BSD-3-Clause
"""OSU one-sided benchmarks, with every synchronisation of the window that they take."""

from reframe.core.builtins import parameter, variable

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.errors import OutputError
from fabric_checks.reframe_ext.mixins import NO_SIZES, layouts

from ..registration import check
from .base import BANDWIDTH, HOST, ONE_WAY, OsuCheck, Window

#: The values of `-s`.
SYNCHRONISATIONS = ["lock", "flush", "flush_local", "lock_all", "pscw", "fence"]
ACTIVE = ["pscw", "fence"]


class OsuOneSided(OsuCheck):
    """Two processes, one of which reads or writes the other's window.

    Subclasses declare the parameter ``synchronisation``. MPI allocates the window, as is OSU's own choice;
    memory of a device can only be made one by ``MPI_Win_create``.
    """

    #: How the window is made (``-w``): ``allocate``, ``create`` or ``dynamic``.
    #:
    #: :type: :class:`str`
    #: :default: ``""``: ``allocate``, of device memory ``create``
    window_memory = variable(str, value="")

    settings = {"window_memory": ""}
    family = families.ONE_SIDED
    folder = "one-sided"
    needs = ("osu_c",)
    tags = {"osu", "one-sided"}
    has_zero = False
    #: With `-c` the atomic programs print a form of their own (`passed`, a table of operations), which is not
    #: read.
    validates = False
    device_buffers = "D D"

    def own_options(self):
        return [
            "-w",
            self.window_memory or ("allocate" if self.memory == HOST else "create"),
            "-s",
            self.synchronisation,
        ]

    def unfit(self):
        """Yield a window that OSU cannot make, too."""
        yield from super().unfit()
        if self.window_memory not in ("", "allocate", "create", "dynamic"):
            yield "window_memory", "give allocate, create or dynamic"

    def read(self, text):
        output = super().read(text)
        asked = parsers.osu.SYNCHRONISATIONS[self.synchronisation]
        found = output.header.get("Synchronization")
        if found != asked:
            raise OutputError(
                f"the synchronisation {asked} was asked for, but the output names {found}"
            )
        return output


@check()
class OsuOneSidedLatency(OsuOneSided):
    """Time of a put, get, accumulate or get-and-accumulate, with its synchronisation."""

    descr = "OSU one-sided latency"
    benchmark = parameter(
        ["put_latency", "get_latency", "acc_latency", "get_acc_latency"], type=str
    )
    synchronisation = parameter(SYNCHRONISATIONS, type=str)
    layout = layouts("pair")


@check()
class OsuOneSidedAtomic(OsuOneSided):
    """Time of an atomic operation on one number: compare-and-swap, fetch-and-op."""

    descr = "OSU one-sided atomic operation"
    benchmark = parameter(["cas_latency", "fop_latency"], type=str)
    synchronisation = parameter(SYNCHRONISATIONS, type=str)
    layout = layouts("pair")
    settings = NO_SIZES

    @property
    def sizes_B(self):
        """One number: 8 bytes, but a char in the releases that know data types; those have no empty messages
        either."""
        return [8 if self.program["smallest_message_B"] == 0 else 1]


@check()
class OsuOneSidedBandwidth(Window, OsuOneSided):
    """Bandwidth of puts and gets with a window of them in flight."""

    descr = "OSU one-sided bandwidth"
    benchmark = parameter(["put_bw", "get_bw"], type=str)
    synchronisation = parameter(SYNCHRONISATIONS, type=str)
    layout = layouts("pair")
    curves = (ONE_WAY,)


@check()
class OsuOneSidedBothWays(Window, OsuOneSided):
    """Bandwidth of puts both ways at once; both sides take part in its synchronisation."""

    descr = "OSU one-sided bandwidth, both ways at once"
    benchmark = "put_bibw"
    synchronisation = parameter(ACTIVE, type=str)
    layout = layouts("pair")
    curves = (BANDWIDTH,)

# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-P2P: point-to-point communication of all processes."""

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.reframe_ext.mixins import layouts

from ..grids import prime_factors
from ..registration import check
from ..tables import MESSAGE_RATE
from .base import BANDWIDTH, TIME, ImbProgram


class ImbP2P(ImbProgram):
    """A benchmark of IMB-P2P: time, bandwidth and message rate."""

    family = families.PAIRS
    imb_program = "IMB-P2P"
    needs = ("imb_p2p",)
    tags = {"imb", "pt2pt"}
    repetitions = (1000, 20)
    has_zero = False
    curves = (TIME, BANDWIDTH, MESSAGE_RATE)

    def command(self):
        """Let it not rest for a tenth of a second before each sample."""
        return [*super().command(), "-pause", "0"]


@check()
class ImbAllPairs(ImbP2P):
    """All processes in pairs: fixed ones (PingPong, PingPing, SendRecv_Replace), or random ones for each
    message."""

    descr = "IMB-P2P between pairs"
    benchmark = parameter(
        [
            "PingPong",
            "PingPing",
            "SendRecv_Replace",
            "Unirandom",
            "Birandom",
            "Corandom",
        ],
        type=str,
    )
    layout = layouts("pairs", scan=False)


@check()
class ImbStencil2D(ImbP2P):
    """Exchange with the neighbours in a grid of two dimensions."""

    descr = "IMB-P2P stencil of two dimensions"
    benchmark = "Stencil2D"
    # IMB refuses a grid that is flat.
    layout = layouts(
        "several", where=lambda layout: len(prime_factors(layout.tasks)) > 1
    )


@check()
class ImbStencil3D(ImbP2P):
    """Exchange with the neighbours in a grid of three dimensions."""

    descr = "IMB-P2P stencil of three dimensions"
    benchmark = "Stencil3D"
    layout = layouts(
        "several", where=lambda layout: len(prime_factors(layout.tasks)) > 2
    )

# SPDX-License-Identifier: BSD-3-Clause
"""Read the processors of a host (``lscpu``) and its links (files below ``/sys/class``)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted

#: InfiniBand up to QDR sends 10 bits for 8, FDR and later 66 for 64 (IBTA, volume 2); later rates exclude it.
_CODED = {"SDR": 0.8, "DDR": 0.8, "QDR": 0.8, "FDR10": 64 / 66, "FDR": 64 / 66}
#: The names of devices that are of neither InfiniBand nor Ethernet: of rdma-core, and of the kernel.
_DEVICES = {"EFA": r"efa_?\d|rdmap\d", "Omni-Path": r"hfi1_\d|opap\d"}


@dataclass(frozen=True)
class Link:
    """A network interface of a host.

    :param device: its name, such as ``mlx5_0`` or ``hsn0``.
    :param kind: one of those of :func:`fastest`, or ``RDMA`` with the link layer, if that is not known.
    :param MBps: of one direction, in 10^6 bytes a second.
    """

    device: str
    kind: str
    MBps: float


def cores(lscpu: str) -> int:
    """Return the physical cores of a host, from ``lscpu`` in English.

    :raises OutputError: if the text lacks them.
    """
    counts = dict(
        re.findall(r"^([^:\n]+):[ \t]+(\d+)[ \t]*$", lscpu, flags=re.MULTILINE)
    )
    try:
        return int(counts["Core(s) per socket"]) * int(counts["Socket(s)"])
    except KeyError as key:
        raise OutputError(f"lscpu states no {key}: {quoted(lscpu)}") from None


def infiniband(device: str, rate: str, state: str, layer: str) -> Link | None:
    """Return the link of a port that is up, from the files ``rate``, ``state`` and ``link_layer`` of it; or
    None.

    :raises OutputError: if it is not a rate.
    """
    if "ACTIVE" not in state:
        return None
    match = re.match(r"(\d+(?:\.\d+)?) Gb/sec(?: \(\d+X ?([A-Z0-9]+)?)?", rate)
    if match is None:
        raise OutputError(f"{device}: not a link rate: {quoted(rate)}")
    kind = {"Ethernet": "RoCE", "InfiniBand": "InfiniBand"}.get(
        layer.strip(), f"RDMA of link layer {quoted(layer.strip())}"
    )
    # Linux calls an EFA's layer Unknown, libibverbs Unspecified; an Omni-Path's InfiniBand.
    kind = next(
        (
            name
            for name, of in _DEVICES.items()
            if re.match(of, device) and kind != "RoCE"
        ),
        kind,
    )
    coding = _CODED.get(match[2] or "", 1.0) if kind == "InfiniBand" else 1.0
    return Link(device, kind, round(float(match[1]) * 125 * coding, 1))


def ethernet(device: str, speed: str) -> Link | None:
    """Return the link of an interface that is up, from its file ``speed``, in Mbit/s; Slingshot's are called
    hsn0, ...

    None if it is down, where the speed is -1 or cannot be read.
    """
    if not re.fullmatch(r"[1-9]\d{0,6}", speed.strip()):
        return None
    kind = "Slingshot" if re.fullmatch(r"hsn\d+", device) else "Ethernet"
    return Link(device, kind, int(speed) / 8)


def fastest(links: list[Link]) -> list[Link]:
    """Return the links that MPI will use, if it uses the best there is: those of the highest rate, of one
    kind."""
    if not links:
        return []
    best = max(links, key=lambda link: (link.kind != "Ethernet", link.MBps))
    return [link for link in links if (link.kind, link.MBps) == (best.kind, best.MBps)]

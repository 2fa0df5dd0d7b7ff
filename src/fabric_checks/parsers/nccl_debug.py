# SPDX-License-Identifier: BSD-3-Clause
"""What NCCL and RCCL log with NCCL_DEBUG=INFO: the network, and the adapter that each rank sends through.

The lines are those of NCCL 2.4 to 2.30 (src/init.cc, src/transport/net.cc) and of the plugin aws-ofi-nccl.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.parsers import plain

#: The network that NCCL names where it found no other: TCP.
SOCKET = "Socket"

_INFO = re.compile(r"([\w.-]+):\d+:\d+ \[(\d+)\] NCCL (?:INFO|WARN) (.*)")
_NETWORK = re.compile(r"Using network (\S.*?)\s*$")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is ([\w;:-]+)")
_ADAPTERS = re.compile(r"NET/(?:IB|OFI|Socket) *: Using (.*)")
_ADAPTER = re.compile(r"\[(\d+)\]\s*=?\{?([\w.-]+)(?::\d+)?(?:/\w+)?")
_CHANNEL = re.compile(
    r"Channel \d+(?:/\d+)? : (\d+)\[\w+\] -> (\d+)\[\w+\] \[(send|receive)\] via "
    r"NET/([^/(]+)/(\d+)(?:\(\d+\))?(\S*)"
)
_RANK = re.compile(r"comm \w+ rank (\d+) nranks \d+ cudaDev (\d+)(?: nvmlDev \d+)? busId (\w+)")
_CHANNELS = re.compile(r"(\d+) coll channels")


@dataclass(frozen=True)
class RankNetwork:
    """How a rank reaches other nodes.

    :param host: its host; :param device: the number of its GPU there; :param bus: that one's address, in hexadecimal.
    :param network: as NCCL names it: ``IB``, ``Socket``, ``AWS Libfabric``; :param provider: of libfabric, if used.
    :param adapters: the names of the adapters that it sends or receives through, or their numbers as ``#0`` where the
        log has no names.
    :param direct: whether all of its channels to other nodes go from the GPU's memory to the adapter (GPUDirect RDMA);
        None without such a channel.
    :param channels: the number of channels of collectives; None where the log lacks it.
    """

    host: str
    device: int
    bus: str
    network: str
    provider: str
    adapters: tuple[str, ...]
    direct: bool | None
    channels: int | None


def parse(text: str) -> dict[int, RankNetwork]:
    """Return the network of each rank of a log; ranks whose initialization is not in the log are left out.

    Lines of several ranks and hosts may be mixed; what is not NCCL's is passed over.
    """
    by_gpu: dict[tuple[str, int], dict[str, object]] = {}
    for host, device, line in _INFO.findall(plain.cleaned(text)):
        of = by_gpu.setdefault((host, int(device)), {"used": {}, "names": {}})
        if found := _RANK.search(line):
            # A communicator that is split off later has ranks of its own.
            of.setdefault("rank", int(found[1]))
            of.setdefault("bus", found[3])
        elif found := _CHANNEL.search(line):
            of["used"].setdefault(int(found[5]), []).append("GDRDMA" in found[6])  # type: ignore[attr-defined]
            of["network"] = found[4]
        elif found := _NETWORK.search(line):
            of.setdefault("network", found[1])
        elif found := _PROVIDER.search(line):
            of["provider"] = found[1]
        elif found := _ADAPTERS.search(line):
            of["names"] = {int(at): name for at, name in _ADAPTER.findall(found[1])}
        elif found := _CHANNELS.search(line):
            of["channels"] = int(found[1])
    return {
        of["rank"]: _of_rank(host, device, of)  # type: ignore[misc]
        for (host, device), of in by_gpu.items()
        if "rank" in of
    }


def _of_rank(host: str, device: int, of: Mapping[str, object]) -> RankNetwork:
    used: dict[int, list[bool]] = of["used"]  # type: ignore[assignment]
    names: dict[int, str] = of["names"]  # type: ignore[assignment]
    direct = [each for channels in used.values() for each in channels]
    return RankNetwork(
        host, device, str(of.get("bus", "")), str(of.get("network", "")), str(of.get("provider", "")),
        tuple(names.get(at, f"#{at}") for at in sorted(used)),
        all(direct) if direct else None,
        of.get("channels"),  # type: ignore[arg-type]
    )  # fmt: skip

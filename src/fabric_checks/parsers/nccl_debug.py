# SPDX-License-Identifier: BSD-3-Clause
"""What NCCL and RCCL log with NCCL_DEBUG=INFO: the network, and the adapter that each rank sends through.

The lines are those of NCCL 2.4 to 2.30 (src/init.cc, src/transport/net.cc) and of the plugin aws-ofi-nccl.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from fabric_checks.parsers import plain

#: The network that NCCL names where it found no other: TCP.
SOCKET = "Socket"

_INFO = re.compile(r"([\w.-]+):(\d+):\d+ \[(\d+)\] NCCL (?:INFO|WARN) (.*)")
_NETWORK = re.compile(r"Using network (\S.*?)\s*$")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is ([\w;:-]+)")
_ADAPTERS = re.compile(r"NET/(?:IB|OFI|Socket) *: Using (.*)")
_ADAPTER = re.compile(r"\[(\d+)\]\s*=?\{?([\w.-]+)(?::\d+)?(?:/\w+)?")
_CHANNEL = re.compile(
    r"Channel \d+(?:/\d+)? : (\d+)\[\w+\] -> (\d+)\[\w+\] \[(send|receive)\] via "
    r"NET/([^/(]+)/(\d+)(?:\(\d+\))?(\S*)"
)
_RANK = re.compile(r"comm \w+ rank (\d+) nranks \d+ cudaDev (\d+)(?: nvmlDev \d+)? busId ([0-9a-f]{1,16})\b")
_CHANNELS = re.compile(r"(\d+) coll channels")


@dataclass(frozen=True)
class RankNetwork:
    """How a rank reaches other nodes.

    :param host: its host; :param device: the number of its GPU there, where each rank sees a single one that of the
        addresses in order; :param bus: that one's address, in hexadecimal.
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

    @property
    def address(self) -> str:
        """The address of its GPU as Linux has it: domain, bus, device, function, as in ``0000:1b:00.0``."""
        bus = f"{int(self.bus, 16):09x}"
        return f"{bus[:-5]}:{bus[-5:-3]}:{bus[-3:-1]}.{bus[-1]}"


def parse(text: str) -> dict[int, RankNetwork]:
    """Return the network of each rank of a log; ranks whose initialization is not in the log are left out.

    Lines of several ranks and hosts may be mixed; what is not NCCL's is passed over.
    """
    by_gpu: dict[tuple[str, str, int], _Seen] = {}
    for host, process, device, line in _INFO.findall(plain.cleaned(text)):
        seen = by_gpu.setdefault((host, process, int(device)), _Seen())
        if found := _RANK.search(line):
            # A communicator that is split off later has ranks of its own.
            if seen.rank is None:
                seen.rank, seen.bus = int(found[1]), found[3]
        elif found := _CHANNEL.search(line):
            seen.used.setdefault(int(found[5]), []).append("GDRDMA" in found[6])
            seen.network = found[4]
        elif found := _NETWORK.search(line):
            seen.network = seen.network or found[1]
        elif found := _PROVIDER.search(line):
            seen.provider = found[1]
        elif found := _ADAPTERS.search(line):
            seen.names = {int(at): name for at, name in _ADAPTER.findall(found[1])}
        elif found := _CHANNELS.search(line):
            seen.channels = int(found[1])
    ranks = {
        seen.rank: _of_rank(host, device, seen) for (host, _, device), seen in by_gpu.items() if seen.rank is not None
    }
    return _numbered(ranks)


def _numbered(ranks: dict[int, RankNetwork]) -> dict[int, RankNetwork]:
    """Return the ranks, with numbers by address on hosts where several of them call their GPU by the same number."""
    hosts: dict[str, list[RankNetwork]] = {}
    for of in ranks.values():
        hosts.setdefault(of.host, []).append(of)
    alike = {host: own for host, own in hosts.items() if len({of.device for of in own}) < len(own)}
    order = {host: sorted(of.address for of in own) for host, own in alike.items()}
    return {
        rank: replace(of, device=order[of.host].index(of.address)) if of.host in order else of
        for rank, of in ranks.items()
    }


@dataclass
class _Seen:
    """Hold what the log says of one GPU so far; ``used`` has for each adapter whether each channel is direct."""

    rank: int | None = None
    bus: str = ""
    network: str = ""
    provider: str = ""
    channels: int | None = None
    names: dict[int, str] = field(default_factory=dict)
    used: dict[int, list[bool]] = field(default_factory=dict)


def _of_rank(host: str, device: int, seen: _Seen) -> RankNetwork:
    direct = [each for channels in seen.used.values() for each in channels]
    adapters = tuple(seen.names.get(at, f"#{at}") for at in sorted(seen.used))
    is_direct = all(direct) if direct else None
    return RankNetwork(host, device, seen.bus, seen.network, seen.provider, adapters, is_direct, seen.channels)

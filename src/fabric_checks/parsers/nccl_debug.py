# SPDX-License-Identifier: BSD-3-Clause
"""What NCCL and RCCL log with NCCL_DEBUG=INFO: the network, and the adapter that each rank sends through.

The lines are those of NCCL 2.4 to 2.30 (src/init.cc, src/transport/net.cc) and of the plugin aws-ofi-nccl.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain

#: The network that NCCL names where it found no other: TCP.
SOCKET = "Socket"

_N = r"\d{1,9}"
_INFO = re.compile(rf"([\w.-]+):({_N}):{_N} \[({_N})\] NCCL (?:INFO|WARN) (.*)")
_NETWORK = re.compile(r"Using network (\S.*?)\s*$")
_PROVIDER = re.compile(r"NET/OFI Selected [Pp]rovider is ([\w;:-]+)")
_ADAPTERS = re.compile(r"NET/(?:IB|OFI|Socket) *: Using (.*)")
_ADAPTER = re.compile(rf"\[({_N})\]\s*=?\{{?([\w.-]+)(?::\d+)?(?:/\w+)?")
_CHANNEL = re.compile(
    rf"Channel {_N}(?:/{_N})? : {_N}\[\w+\] -> {_N}\[\w+\] \[(?:send|receive)\] via "
    rf"NET/([^/(]+)/({_N})(?:\({_N}\))?(\S*)"
)
_RANK = re.compile(
    rf"comm \w+ rank ({_N}) nranks ({_N}) cudaDev {_N}(?: nvmlDev {_N})? busId ([0-9a-f]{{1,16}})\b"
)
_CHANNELS = re.compile(rf"({_N}) coll channels")


@dataclass(frozen=True)
class RankNetwork:
    """How a rank reaches other nodes.

    :param host: its host; :param device: the number of its GPU there, where each rank sees a single one that
        of the addresses in order; :param bus: that one's address, in hexadecimal.
    :param network: as NCCL names it: ``IB``, ``Socket``, ``AWS Libfabric``; :param provider: of libfabric, if
        used.
    :param adapters: the names of the adapters that it sends or receives through, or their numbers as ``#0``
        where the log has no names.
    :param direct: whether all of its channels to other nodes go from the GPU's memory to the adapter
        (GPUDirect RDMA); None without such a channel.
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

    :raises OutputError: if two GPUs have one rank, or a rank, network or adapter is none of those that the
        log names.
    """
    by_gpu: dict[tuple[str, str, int], _Seen] = {}
    for host, process, device, line in _INFO.findall(plain.cleaned(text)):
        by_gpu.setdefault((host, process, int(device)), _Seen()).note(line)
    ranks: dict[int, RankNetwork] = {}
    for (host, _, device), seen in by_gpu.items():
        if seen.rank is not None:
            seen.require_consistency(host)
            if seen.rank in ranks:
                raise OutputError(f"NCCL's log has rank {seen.rank} on {ranks[seen.rank].host} and on {host}")
            ranks[seen.rank] = _of_rank(host, device, seen)
    sizes = {seen.ranks for seen in by_gpu.values() if seen.rank is not None}
    if len(sizes) > 1:
        raise OutputError(f"NCCL's log is of communicators of {' and '.join(map(str, sorted(sizes)))} ranks")
    return _numbered(ranks)


def _numbered(ranks: dict[int, RankNetwork]) -> dict[int, RankNetwork]:
    """Return the ranks, with numbers by address on hosts where several of them call their GPU by the same
    number."""
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
    """Hold what the log says of one GPU so far; ``used`` has for each adapter whether each channel is
    direct."""

    rank: int | None = None
    ranks: int = 0
    bus: str = ""
    network: str = ""
    provider: str = ""
    channels: int | None = None
    networks: set[str] = field(default_factory=set)
    names: dict[int, str] = field(default_factory=dict)
    used: dict[int, list[bool]] = field(default_factory=dict)

    def note(self, line: str) -> None:
        """Read a line of its process."""
        if found := _RANK.search(line):
            # A communicator that is split off later has ranks of its own.
            if self.rank is None:
                self.rank, self.ranks, self.bus = int(found[1]), int(found[2]), found[3]
        elif found := _CHANNEL.search(line):
            self.used.setdefault(int(found[2]), []).append("GDRDMA" in found[3])
            self.network = found[1]
        elif found := _NETWORK.search(line):
            self.network = self.network or found[1]
            self.networks.add(found[1])
        elif found := _PROVIDER.search(line):
            self.provider = found[1]
        elif found := _ADAPTERS.search(line):
            self.names = {int(at): name for at, name in _ADAPTER.findall(found[1])}
        elif found := _CHANNELS.search(line):
            self.channels = int(found[1])

    def require_consistency(self, host: str) -> None:
        """Raise :class:`OutputError` unless the rank, its network and its adapters are among those that are
        named."""
        where = f"NCCL's log of rank {self.rank} on {host}"
        if self.rank is not None and self.rank >= self.ranks:
            raise OutputError(f"{where} is of {self.ranks} ranks: the log is damaged")
        if self.networks and self.network not in self.networks:
            named = quoted(", ".join(sorted(self.networks)))
            raise OutputError(f"{where} has channels of {quoted(self.network)}, but uses the network {named}")
        if self.names and (unknown := self.used.keys() - self.names.keys()):
            raise OutputError(
                f"{where} has channels of adapter {min(unknown)}, which is none of {len(self.names)}"
            )


def _of_rank(host: str, device: int, seen: _Seen) -> RankNetwork:
    direct = [each for channels in seen.used.values() for each in channels]
    adapters = tuple(seen.names.get(at, f"#{at}") for at in sorted(seen.used))
    is_direct = all(direct) if direct else None
    return RankNetwork(
        host, device, seen.bus, seen.network, seen.provider, adapters, is_direct, seen.channels
    )

# SPDX-License-Identifier: BSD-3-Clause
"""What NCCL and RCCL log with NCCL_DEBUG=INFO: the network, and the adapter that each rank sends through.

The lines are those of NCCL 2.4 to 2.30 (src/init.cc, src/transport/net.cc) and of the plugin aws-ofi-nccl.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace

from fabric_checks.core.errors import quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import require

#: The network that NCCL names where it found no other: TCP.
SOCKET = "Socket"

_N = r"\d{1,9}"
_INFO = re.compile(rf"([\w.-]+):({_N}):{_N} \[({_N})\] NCCL (?:INFO|WARN) (.*)")
_NETWORK = re.compile(r"(?m)Using network (\S.*?)\s*$")
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
    """

    host: str
    device: int
    bus: str
    network: str = ""
    provider: str = ""
    adapters: tuple[str, ...] = ()
    direct: bool | None = None

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
    lines = defaultdict[tuple[str, str, int], list[str]](list)
    for host, process, device, line in _INFO.findall(plain.cleaned(text)):
        lines[host, process, int(device)].append(line)
    ranks: dict[int, RankNetwork] = {}
    sizes: set[int] = set()
    for (host, _, device), of in lines.items():
        log = "\n".join(of)
        # A communicator that is split off later has ranks of its own.
        if found := _RANK.search(log):
            rank, size = int(found[1]), int(found[2])
            where = f"NCCL's log of rank {rank} on {host}"
            own = RankNetwork(host, device, found[3])
            other = ranks.get(rank, own)
            require(
                other is own,
                f"NCCL's log has rank {rank} on {other.host} and on {host}",
            )
            require(rank < size, f"{where} is of {size} ranks: the log is damaged")
            ranks[rank] = _of_rank(own, log, where)
            sizes.add(size)
    require(
        len(sizes) <= 1,
        f"NCCL's log is of communicators of {' and '.join(map(str, sorted(sizes)))} ranks",
    )
    return _numbered(ranks)


def _of_rank(rank: RankNetwork, log: str, where: str) -> RankNetwork:
    """Return a rank with its network, from all lines of its process.

    :raises OutputError: if its channels are of another network than it uses, or of adapters that it has not.
    """
    channels, networks = _CHANNEL.findall(log), _NETWORK.findall(log)
    network = channels[-1][0] if channels else "".join(networks[:1])
    require(
        not networks or network in networks,
        f"{where} has channels of {quoted(network)}, but uses the network {quoted(''.join(networks[:1]))}",
    )
    listed = _ADAPTERS.findall(log)
    names: dict[str, str] = dict(_ADAPTER.findall(listed[-1] if listed else ""))
    used = sorted({at for _, at, _ in channels}, key=int)
    require(
        not names or names.keys() >= set(used),
        f"{where} has channels of adapters {used}, and one is none of its {len(names)}",
    )
    flags = ["GDRDMA" in flags for *_, flags in channels]
    return replace(
        rank,
        network=network,
        provider="".join(_PROVIDER.findall(log)[-1:]),
        adapters=tuple(names.get(at, f"#{at}") for at in used),
        direct=all(flags) if flags else None,
    )


def _numbered(ranks: dict[int, RankNetwork]) -> dict[int, RankNetwork]:
    """Return the ranks, with numbers by address on hosts where several of them call their GPU by the same
    number."""
    hosts = defaultdict[str, list[RankNetwork]](list)
    for of in ranks.values():
        hosts[of.host].append(of)
    order = {
        host: sorted(of.address for of in own)
        for host, own in hosts.items()
        if len({of.device for of in own}) < len(own)
    }
    return {
        rank: replace(of, device=order[of.host].index(of.address))
        if of.host in order
        else of
        for rank, of in ranks.items()
    }

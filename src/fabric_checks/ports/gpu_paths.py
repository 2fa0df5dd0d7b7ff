# SPDX-License-Identifier: BSD-3-Clause
"""The ways of GPUs to other nodes, as NCCL logs them: another network, and hosts unlike the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import names_text
from fabric_checks.parsers.nccl_debug import SOCKET, RankNetwork
from fabric_checks.ports.outliers import (
    finding,
    grouped,
    nodes_text,
    usual,
)

#: Providers of libfabric that go through TCP or UDP, also below another one, as in ``tcp;ofi_rxm``.
TCP_PROVIDERS = frozenset({"tcp", "sockets", "udp"})
#: Names of ports through which sockets are what a site wants.
_INTERFACES = ("eth", "en", "bond")


def disproof(ranks: Mapping[int, RankNetwork], fabric: Sequence[str]) -> str | None:
    """Return why NCCL did not use the network that the system's file names; None if it did, or none is named.

    :param ranks: by rank. :param fabric: patterns of ports, as in ``extras['fabric']``.
    """
    if not fabric or all(name.startswith(_INTERFACES) for name in fabric):
        return None
    over = [of for of in ranks.values() if _is_tcp(of)]
    if not over:
        return None
    what = ", ".join(sorted(set(map(_network, over))))
    hosts = sorted({of.host for of in over})
    return (
        f"NCCL went over TCP ({what}) on {nodes_text(hosts)}, not over {names_text(fabric)}: look whether the"
        " plugin libnccl-net.so, or the library of the adapters, is found there; the log of NCCL_DEBUG=INFO"
        " says why not"
    )


def findings(ranks: Mapping[int, RankNetwork]) -> list[Finding]:
    """Return what stands out: hosts unlike the others, and that no GPU reaches its adapter directly.

    :param ranks: by rank; those that send to no other node tell nothing about adapters.
    """
    hosts: dict[str, dict[int, RankNetwork]] = {}
    for of in ranks.values():
        hosts.setdefault(of.host, {})[of.device] = of
    compared: list[tuple[Callable[[RankNetwork], str], str, str]] = [
        (_network, "uses {}", "of NCCL's networks"),
        (lambda of: " and ".join(of.adapters), "sends through {}", "of its adapters"),
        (lambda of: _WAYS[of.direct], "{}", "of GPUDirect RDMA"),
        (lambda of: of.bus, "is at bus {}", "of the numbers of its GPUs"),
    ]
    found: list[Finding] = []
    for value_of, verb, about in compared:
        values = {
            host: {device: value_of(way) for device, way in of.items()}
            for host, of in hosts.items()
        }
        found += _unlike(values, verb, about)
    return [*found, *_not_direct(hosts)]


def _unlike(
    values: Mapping[str, Mapping[int, str]], verb: str, about: str
) -> Iterator[Finding]:
    """Yield a finding for each host some of whose GPUs differ from the GPUs of most hosts with the same
    number.

    :param values: in words, by host and number of the GPU; empty ones are unknown.
    :param verb: as in ``sends through {}``. :param about: what distinguishes the finding from others.
    """
    known = (
        (number, (host, value))
        for host, of in values.items()
        for number, value in of.items()
        if value
    )
    differing: list[tuple[str, str]] = []
    for number, pairs in sorted(grouped(known).items()):
        most = usual(dict(pairs))
        differing += [
            (
                host,
                f"GPU {number} {verb.format(value)}, on most nodes it {verb.format(most)}",
            )
            for host, value in pairs
            if most not in (None, value)
        ]
    for host, texts in sorted(grouped(differing).items()):
        count = len(texts)
        more = f" ({count} GPUs of {len(values[host])} differ)" if count > 1 else ""
        yield finding("gpu", [host], f"node {host}: {texts[0]}{more}", about)


def _is_tcp(of: RankNetwork) -> bool:
    return of.network == SOCKET or not TCP_PROVIDERS.isdisjoint(of.provider.split(";"))


def _network(of: RankNetwork) -> str:
    return f"{of.network} by {of.provider}" if of.provider else of.network


_WAYS = {
    None: "",
    True: "goes by GPUDirect RDMA",
    False: "goes through the host's memory",
}


def _not_direct(hosts: Mapping[str, Mapping[int, RankNetwork]]) -> list[Finding]:
    """Return an observation if no GPU of any node reaches its adapter directly."""
    ways = {of.direct for each in hosts.values() for of in each.values()}
    if True in ways or False not in ways:
        return []
    text = "no GPU goes by GPUDirect RDMA: all bytes between nodes go through the host's memory"
    return [finding("gpu", sorted(hosts), text, "GPUDirect", severity=Severity.SUSPECT)]

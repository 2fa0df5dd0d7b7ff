# SPDX-License-Identifier: BSD-3-Clause
"""Files of our program ``ports``: the state of a node and of its ports before and after a program.

A file has ``# fabric-checks ports 1``, the node, and two snapshots: lines ``path<TAB>value`` as they are in
``/sys`` and ``/proc``, or where a link of a device leads, and a line that counts them. A value that the
driver does not have is missing; one that could not be read has ``!`` and the name of the error. They become
ports and a host with units; nothing that is missing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fabric_checks.core.errors import OutputError, quoted

#: The largest file of the program: two snapshots of 1 MiB, and their heads.
MOST_BYTES = 3 * 1024 * 1024
#: The unit of ``port_xmit_data`` and ``port_rcv_data`` (Linux,
#: Documentation/ABI/stable/sysfs-class-infiniband).
VERBS_UNIT_B = 4
#: The link type of IP over InfiniBand: ARPHRD_INFINIBAND of the kernel's if_arp.h.
IP_OVER_INFINIBAND = "32"

#: Paths by what they describe: the groups are its name, of a port that of the device and its number, and the
#: file.
_PATHS = {
    "port": re.compile(r"/sys/class/infiniband/([\w.-]{1,64})/ports/(\d+)/(.+)"),
    "device": re.compile(r"/sys/class/infiniband/([\w.-]{1,64})/(?!ports/)(.+)"),
    "cxi": re.compile(r"/sys/class/cxi/([\w.-]{1,64})/device/?(.*)"),
    "net": re.compile(r"/sys/class/net/([^/]+)/(.+)"),
    "ioctl": re.compile(r"ioctl/([^/]+)/(.+)"),
    "module": re.compile(r"/sys/module/([\w-]+)/(version)"),
}
#: ``eth0: 1 2 ...``: eight counters of what was received, eight of what was sent (Linux,
#: net/core/net-procfs.c).
_INTERFACE = re.compile(r"\s*([!-~]{1,15}?):\s*((?:\d{1,20}\s+){15}\d{1,20})\s*")
_IN_DEV = ("packets", "errs", "drop", "fifo", "frame", "compressed", "multicast")
_OUT_DEV = ("packets", "errs", "drop", "fifo", "colls", "carrier", "compressed")

#: A GPU that a driver has, and its NUMA node; the lanes of a device or bridge; the CPUs of a NUMA node.
_GPU = re.compile(r"/sys/bus/pci/drivers/(?:nvidia|amdgpu)/([^/]+)(/numa_node)?")
_LANES = re.compile(r"/sys/devices/(?:.*/)?([^/]+)/current_link_width")
_CPUS = re.compile(r"/sys/devices/system/node/node(\d{1,4})/cpulist")
_CPU_LIST = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?){0,255}")
#: A root of PCIe, or the address of a bridge or a device: domain, bus, device and function.
_PCIE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}|[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: The widths of PCIe; virtual devices have 0, 63 or 255.
_WIDTH = re.compile("1|2|4|8|12|16|32")

Kind = Literal["verbs", "cxi", "interface"]


@dataclass
class Port:
    """A port at one moment; None is unknown.

    :param name: as in ``mlx5_0:1``, ``cxi0``, ``eth0``.
    :param up: the link state.
    :param rate_MBps: of one direction, in 10^6 bytes a second; :param width: the lanes, as in ``4X``.
    :param pcie: the current speed and width of its slot, as in ``8.0 GT/s x8``.
    :param path: the root of PCIe, the bridges above it, and its own address, as in ``("pci0000:17",
        "0000:17:01.0", "0000:18:00.0")``; empty if unknown.
    :param sent_B: bytes on the wire since its counters began; :param received_B: likewise.
    :param counters: its other counters, by name.
    :param aliases: names of the interfaces that are the same port.
    :param hardware: whether an interface is known to be a device, as a bond is not.
    :param over_infiniband: whether an interface is IP over InfiniBand.
    :param stacked: whether its bytes are in another port's counters, too, or stay on the node.
    """

    name: str
    kind: Kind
    up: bool | None = None
    rate_MBps: float | None = None
    width: str | None = None
    mtu: int | None = None
    driver: str | None = None
    driver_version: str | None = None
    firmware: str | None = None
    numa: int | None = None
    pcie: str | None = None
    path: tuple[str, ...] = ()
    sent_B: int | None = None
    received_B: int | None = None
    counters: dict[str, int] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    hardware: bool = False
    over_infiniband: bool = False
    stacked: bool = False


@dataclass(frozen=True)
class Gpu:
    """A GPU that its driver has: its NUMA node, if known, and its path as :attr:`Port.path`."""

    path: tuple[str, ...]
    numa: int | None = None


@dataclass(frozen=True)
class Host:
    """The node itself at one moment.

    :param tcp: the counters of TCP by the kernel's names, with those of ``TcpExt``.
    :param settings: of the node: ``governor``, ``huge_pages``, ``max_frequency_kHz``.
    :param load: the load average of the last minute.
    :param gpus: by address, in the order of addresses.
    :param lanes: of the PCIe link of a device, or of a bridge above one, by address.
    :param numa_cpus: the CPUs of each NUMA node, as a CPU list such as ``0-3,8``.
    """

    tcp: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    load: float | None = None
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    lanes: Mapping[str, int] = field(default_factory=dict)
    numa_cpus: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """The state of a node at one moment.

    :param uptime_s: seconds since the node started, by a monotonic clock; None if the snapshot was cut.
    :param took_ms: the time of the snapshot itself; :param cut: why it is not complete, or None.
    """

    uptime_s: float | None
    took_ms: float | None
    ports: Mapping[str, Port]
    host: Host
    cut: str | None = None


@dataclass(frozen=True)
class NodeFile:
    """A file of the program: a node, and its two snapshots.

    :param after: None if the program, or the node, did not finish.
    """

    node: str
    before: Snapshot
    after: Snapshot | None


def parse(text: str) -> NodeFile:
    """Read a file of the program.

    :raises OutputError: if it is another program's, longer than can be, damaged or cut.
    """
    if len(text) > MOST_BYTES:
        raise OutputError(f"{len(text)} characters are more than the program `ports` writes")
    lines = text.split("\n")
    if lines[0] != "# fabric-checks ports 1":
        raise OutputError(f"'# fabric-checks ports 1' was expected, found {quoted(lines[0])}", 1)
    node = re.fullmatch(r"# node: ([\w.-]{1,255})", lines[1]) if len(lines) > 1 else None
    if node is None:
        raise OutputError("the line '# node: NAME' is missing", 2)
    if lines[-1] != "" or len(lines) < 4:
        raise OutputError("the end is missing: the program did not get to write it", len(lines))
    before, at = _snapshot(lines, 2, "before")
    after = None
    if lines[at]:
        after, at = _snapshot(lines, at, "after")
        if not re.fullmatch(r"# ended: (exit|signal) \d{1,3}", lines[at]):
            raise OutputError(f"'# ended: ...' was expected, found {quoted(lines[at])}", at + 1)
        at += 1
    if at != len(lines) - 1:
        raise OutputError(f"nothing was expected after the last line, found {quoted(lines[at])}", at + 1)
    return NodeFile(node[1], before, after)


def _snapshot(lines: list[str], at: int, moment: str) -> tuple[Snapshot, int]:
    """Return the snapshot that begins at a line, and where the next thing begins."""
    if lines[at] != f"# {moment}":
        raise OutputError(f"'# {moment}' was expected, found {quoted(lines[at])}", at + 1)
    begin, head = at, {}
    while found := re.fullmatch(r"# (uptime_s|took_ms|cut): (.{1,80})", lines[at + 1]):
        head[found[1]] = found[2]
        at += 1
    rows: list[tuple[str, str]] = []
    at += 1
    while lines[at] and not lines[at].startswith("# "):
        path, tab, value = lines[at].partition("\t")
        if not tab or not path:
            raise OutputError(f"'path<TAB>value' was expected, found {quoted(lines[at])}", at + 1)
        rows.append((path, value))
        at += 1
    if "cut" in head:  # by the clock: there are no rows
        return Snapshot(None, None, {}, Host(), head["cut"]), at
    if cut := re.fullmatch(r"# cut: (.{1,80})", lines[at]):
        head["cut"] = cut[1]
        at += 1
    if lines[at] != f"# rows: {len(rows)}":
        raise OutputError(f"'# rows: {len(rows)}' was expected, found {quoted(lines[at])}", at + 1)
    times = [_real(head.get(key, "")) for key in ("uptime_s", "took_ms")]
    if None in times:
        raise OutputError("the time of the snapshot is missing", begin + 1)
    return Snapshot(times[0], times[1], _ports(rows), _host(rows), head.get("cut")), at + 1


def _real(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d{1,12}\.\d{1,9}", text) else None


def _whole(text: str) -> int | None:
    """Return a count that fits a counter of 64 bits."""
    return int(text) if re.fullmatch(r"\d{1,20}", text) and int(text) < 2**64 else None


def _first(text: str) -> str | None:
    return text if text and not text.startswith("!") and text not in ("N/A", "Unknown") else None


def _ports(rows: Iterable[tuple[str, str]]) -> dict[str, Port]:
    values: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in _PATHS}
    interfaces = {}
    for path, value in rows:
        if path == "/proc/self/net/dev" and (found := _INTERFACE.fullmatch(value)):
            interfaces[found[1]] = tuple(map(int, found[2].split()))
        kind, names, key = _place(path)
        if kind:
            values[kind].setdefault(names, {})[key] = value
    ports = []
    for name, files in values["port"].items():
        ports.append(_verbs_port(name, files, values["device"].get(name.rpartition(":")[0], {})))
    ports += [_cxi_port(name, files) for name, files in values["cxi"].items()]
    for port in ports:
        port.driver_version = values["module"].get(port.driver or "", {}).get("version")
    others = []
    for name, counts in interfaces.items():
        others.append(_interface(name, counts, values["net"].get(name, {}), values["ioctl"].get(name)))
    _note_stacked(ports, others)
    return {port.name: port for port in (*ports, *others)}


def _place(path: str) -> tuple[str, str, str]:
    """Return the kind of thing that a file is of, the names of it, and what the file says; nothing of another
    file."""
    for kind, pattern in _PATHS.items():
        if found := pattern.fullmatch(path):
            *names, key = found.groups()
            return kind, ":".join(names), key
    return "", "", ""


def _add_counter(port: Port, name: str, text: str) -> None:
    """Add a counter, if its file has a number: it may not be readable, or the driver may not count."""
    value = _whole(text.partition("@")[0])  # cxi's telemetry is count@time
    if value is not None:
        port.counters[name] = value


def _path(target: str) -> tuple[str, ...]:
    """Return the parts of PCIe of the path that a device's link leads to; none for a device of another
    bus."""
    parts = tuple(part for part in target.split("/") if _PCIE.fullmatch(part))
    return parts if parts and not parts[-1].startswith("pci") else ()


def _numa(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,4}", text) else None


def _add_slot(port: Port, files: Mapping[str, str], prefix: str) -> None:
    """Add the PCIe speed and width, as in ``8.0 GT/s x8``, the NUMA node, and the bridges above."""
    speed, width = (_first(files.get(f"{prefix}current_link_{what}", "")) for what in ("speed", "width"))
    number = re.match(r"\d+(\.\d+)? GT/s", speed or "")
    port.pcie = f"{number[0]} x{width}" if number and width and width.isdecimal() else None
    port.numa = _numa(files.get(f"{prefix}numa_node", ""))
    port.path = _path(files.get(prefix.rstrip("/"), ""))


#: Names of devices by what drives them, for the version of the module.
_DRIVERS = {
    "mlx5": "mlx5_core",
    "mlx4": "mlx4_core",
    "hfi1": "hfi1",
    "bnxt": "bnxt_re",
    "efa": "efa",
    "irdma": "irdma",
}


def _verbs_port(name: str, files: Mapping[str, str], device: Mapping[str, str]) -> Port:
    port = Port(name, "verbs", firmware=_first(device.get("fw_ver", "")))
    port.driver = next((driver for prefix, driver in _DRIVERS.items() if name.startswith(prefix)), None)
    _add_slot(port, device, "device/")
    if state := _first(files.get("state", "")):
        port.up = state.endswith("ACTIVE")
    # "100 Gb/sec (4X EDR)"
    if rate := re.fullmatch(r"(\d+(?:\.\d+)?) Gb/sec(?: \((\d+X)(?: \S+)?\))?", files.get("rate", "")):
        port.rate_MBps, port.width = float(rate[1]) * 125, rate[2]
    if alias := _first(files.get("gid_attrs/ndevs/0", "")):
        port.aliases.append(alias)
    for path, value in files.items():
        folder, _, counter = path.rpartition("/")
        if folder in ("counters", "hw_counters") and counter != "lifespan":
            _add_counter(port, counter, value)
    port.sent_B, port.received_B = (_verbs_bytes(port, *names) for names in (("xmit", "tx"), ("rcv", "rx")))
    return port


def _verbs_bytes(port: Port, in_units: str, in_bytes: str) -> int | None:
    """Return the bytes that a port counts; EFA counts bytes, among its own counters."""
    units = port.counters.pop(f"port_{in_units}_data", None)
    own = port.counters.pop(f"{in_bytes}_bytes", None)
    return own if units is None else units * VERBS_UNIT_B


def _cxi_port(name: str, files: Mapping[str, str]) -> Port:
    port = Port(name, "cxi", driver="cxi_ss1", firmware=_first(files.get("fw_version", "")))
    _add_slot(port, files, "")
    for path, value in files.items():
        folder, _, counter = path.rpartition("/")
        if folder == "telemetry":
            _add_counter(port, counter, value)
        elif found := re.fullmatch(r"net/([^/]+)/operstate", path):
            port.aliases.append(found[1])
            port.up = value == "up"
        elif path == "properties/speed" and (rate := re.match(r"(?:BS_|BJ_|CK_)?(\d{2,4})G?", value)):
            port.rate_MBps = float(rate[1]) * 125
    port.sent_B = port.counters.pop("hni_sts_tx_ok_octets", None)
    port.received_B = port.counters.pop("hni_sts_rx_ok_octets", None)
    return port


def _interface(
    name: str, counts: tuple[int, ...], sysfs: Mapping[str, str], asked: Mapping[str, str] | None
) -> Port:
    """Return an interface of the process's own network namespace.

    ``/proc/self/net/dev`` and ioctl are always of that one; ``/sys`` is of the namespace that it was mounted
    in, and may have another interface of the same name: it is used where index and address are the same.
    """
    port = Port(name, "interface", received_B=counts[0], sent_B=counts[8])
    counters = (*(f"rx_{what}" for what in _IN_DEV), *(f"tx_{what}" for what in _OUT_DEV))
    port.counters = dict(zip(counters, (*counts[1:8], *counts[9:]), strict=True))
    known = asked or {}
    if known and not _are_same(known, sysfs):
        sysfs = {}
    speed, port.mtu = (_whole(known.get(key, "")) or _whole(sysfs.get(key, "")) for key in ("speed", "mtu"))
    port.rate_MBps = speed / 8 if speed else None
    state = {"1": "up", "0": "down"}.get(known["running"]) if "running" in known else sysfs.get("operstate")
    port.up = {"up": True, "down": False}.get(state or "")
    port.driver, port.driver_version = (
        _first(known.get("driver", "")),
        _first(known.get("driver_version", "")),
    )
    port.firmware = _first(known.get("fw_version", ""))
    _add_slot(port, sysfs, "device/")
    _add_statistics(port, sysfs)
    _add_statistics(port, known)
    port.hardware = any(path.startswith("device/") for path in sysfs)
    port.over_infiniband = sysfs.get("type") == IP_OVER_INFINIBAND
    port.stacked = name == "lo"
    return port


def _are_same(known: Mapping[str, str], sysfs: Mapping[str, str]) -> bool:
    return all(sysfs.get(key) == known.get(key) for key in ("ifindex", "address"))


def _add_statistics(port: Port, files: Mapping[str, str]) -> None:
    for path, value in files.items():
        folder, _, counter = path.rpartition("/")
        if folder == "statistics" or path == "carrier_changes":
            _add_counter(port, counter, value)


def _note_stacked(ports: list[Port], interfaces: list[Port]) -> None:
    """Mark the interfaces whose bytes other ports count as well: a bond, a bridge, a VLAN, IP over
    InfiniBand, hsn0.

    Where no interface is known to be hardware, as in a container, all count. What RDMA moves over Ethernet is
    not among the bytes of the interface (mlx5 counts ``transmitted_ib`` for the port), so these two are not
    the same.
    """
    of_cxi = {
        alias for port in ports if port.kind == "cxi" and port.sent_B is not None for alias in port.aliases
    }
    some_have = any(port.hardware for port in interfaces)
    for port in interfaces:
        counted_there = port.name in of_cxi or (bool(ports) and port.over_infiniband)
        port.stacked |= counted_there or (some_have and not port.hardware)


def _host(rows: Iterable[tuple[str, str]]) -> Host:
    lines: dict[str, list[str]] = {}
    for path, value in rows:
        if path.startswith(("/proc/", "/sys/kernel/", "/sys/devices/")):
            lines.setdefault(path, []).append(value)

    def one(path: str) -> str:
        return lines.get(path, [""])[0]

    load = re.match(r"\d{1,6}\.\d{2}(?= )", one("/proc/loadavg"))
    pages = re.search(r"\[(\w+)\]", one("/sys/kernel/mm/transparent_hugepage/enabled"))
    cpu = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_"
    settings = {
        "governor": _first(one(cpu + "governor")),
        "huge_pages": pages[1] if pages else None,
        "max_frequency_kHz": _first(one(cpu + "max_freq")),
    }
    tcp: dict[str, int] = {}
    for path in ("/proc/self/net/snmp", "/proc/self/net/netstat"):
        names, values = [*lines.get(path, ()), "", ""][:2]
        pairs = zip(names.split()[1:], values.split()[1:], strict=False)
        tcp |= {name: count for name, text in pairs if (count := _whole(text)) is not None}
    known = {key: value for key, value in settings.items() if value is not None}
    return Host(tcp, known, float(load[0]) if load else None, *_pcie(rows))


def _pcie(rows: Iterable[tuple[str, str]]) -> tuple[dict[str, Gpu], dict[str, int], dict[int, str]]:
    """Return the GPUs by address, the lanes of devices and bridges by address, and the CPUs of the NUMA
    nodes."""
    paths: dict[str, tuple[str, ...]] = {}
    numa: dict[str, int | None] = {}
    lanes: dict[str, int] = {}
    cpus: dict[int, str] = {}
    for path, value in rows:
        if found := _GPU.fullmatch(path):
            if found[2]:
                numa[found[1]] = _numa(value)
            elif at := _path(value):
                paths[at[-1]] = at
        elif (found := _LANES.fullmatch(path)) and _WIDTH.fullmatch(value):
            lanes[found[1]] = int(value)
        elif (found := _CPUS.fullmatch(path)) and _CPU_LIST.fullmatch(value):
            cpus[int(found[1])] = value
    ordered = sorted(paths, key=lambda address: (len(address), address))
    return {address: Gpu(paths[address], numa.get(address)) for address in ordered}, lanes, cpus

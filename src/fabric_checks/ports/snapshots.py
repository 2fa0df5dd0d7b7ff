# SPDX-License-Identifier: BSD-3-Clause
"""Files of our program ``ports``: the state of a node and of its ports before and after a program.

A file has ``# fabric-checks ports 1``, the node, and two snapshots: lines ``path<TAB>value`` as they are in
``/sys`` and ``/proc``, or where a link of a device leads, and a line that counts them. A value that the
driver does not have is missing; one that could not be read has ``!`` and the name of the error. They become
ports and a host with units; nothing that is missing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
_HEAD = re.compile(r"# fabric-checks ports 1\n# node: ([\w.-]{1,255})\n")
#: A snapshot; one that was cut by the clock has no rows.
_SNAPSHOT = re.compile(
    r"# (?P<moment>before|after)\n"
    r"(?:# cut: (?P<late>.{1,80})\n"
    r"|# uptime_s: (?P<uptime_s>\d{1,12}\.\d{1,9})\n# took_ms: (?P<took_ms>\d{1,12}\.\d{1,9})\n"
    r"(?P<rows>(?:[^#\t\n][^\t\n]*\t.*\n)*)(?:# cut: (?P<cut>.{1,80})\n)?# rows: (?P<count>\d{1,9})\n)"
)
_END = re.compile(r"# ended: (?:exit|signal) \d{1,3}\n")
#: ``eth0: 1 2 ...``: eight counters of what was received, eight of what was sent (Linux,
#: net/core/net-procfs.c).
_INTERFACE = re.compile(r"\s*([!-~]{1,15}?):\s*((?:\d{1,20}\s+){15}\d{1,20})\s*")
_COUNTERS = (
    *("rx_bytes", "rx_packets", "rx_errs", "rx_drop", "rx_fifo", "rx_frame", "rx_compressed", "rx_multicast"),
    *("tx_bytes", "tx_packets", "tx_errs", "tx_drop", "tx_fifo", "tx_colls", "tx_carrier", "tx_compressed"),
)
#: The counters of bytes, sent and received, with what they count: words of 4 bytes, or bytes. The first that
#: a port has counts (``rx_bytes`` of a verbs port is EFA's).
_BYTES = (
    ("port_xmit_data", "port_rcv_data", VERBS_UNIT_B),
    ("hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets", 1),
    ("tx_bytes", "rx_bytes", 1),
)
#: Folders, and single files, whose files are counters.
_OF_COUNTERS = ("counters", "hw_counters", "telemetry", "statistics")
_SINGLE = ("carrier_changes",)

#: A GPU that a driver has, and its NUMA node; the lanes of a device or bridge; the CPUs of a NUMA node.
_GPU = re.compile(r"/sys/bus/pci/drivers/(?:nvidia|amdgpu)/([^/]+)(/numa_node)?")
_LANES = re.compile(r"/sys/devices/(?:.*/)?([^/]+)/current_link_width")
_CPUS = re.compile(r"/sys/devices/system/node/node(\d{1,4})/cpulist")
_CPU_LIST = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?){0,255}")
#: A root of PCIe, or the address of a bridge or a device: domain, bus, device and function.
_PCIE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}|[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: The widths of PCIe; virtual devices have 0, 63 or 255.
_WIDTH = re.compile("1|2|4|8|12|16|32")

#: Path and value of each row of a snapshot.
Rows = Sequence[Sequence[str]]
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
    took_ms: float
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
    head = _HEAD.match(text)
    if head is None:
        raise OutputError(f"the first lines of `ports` were expected, found {quoted(text[:80])}", 1)
    before, at = _snapshot(text, head.end(), "before")
    if at == len(text):
        return NodeFile(head[1], before, None)
    after, at = _snapshot(text, at, "after")
    if not _END.fullmatch(text, at):
        raise OutputError(f"'# ended: ...' was expected last, found {quoted(text[at : at + 80])}")
    return NodeFile(head[1], before, after)


def _snapshot(text: str, at: int, moment: str) -> tuple[Snapshot, int]:
    """Return the snapshot that begins at a place, and where it ends."""
    found = _SNAPSHOT.match(text, at)
    rows = [] if found is None else [row.split("\t", 1) for row in (found["rows"] or "").split("\n")[:-1]]
    if found is None or found["moment"] != moment or len(rows) != int(found["count"] or 0):
        line = text.count("\n", 0, at) + 1
        raise OutputError(f"the snapshot '# {moment}' that begins here is damaged or cut", line)
    if found["late"]:
        return Snapshot(None, 0.0, {}, Host(), found["late"]), found.end()
    ports, host = _ports(rows), _host(rows)
    return Snapshot(float(found["uptime_s"]), float(found["took_ms"]), ports, host, found["cut"]), found.end()


def _matched(pattern: str, text: str) -> str | None:
    """Return a value if it has a form, or its first group; None otherwise, as of one that was not
    readable."""
    found = re.fullmatch(pattern, text)
    return found[len(found.groups())] if found else None


def _word(text: str) -> str | None:
    return None if text in ("N/A", "Unknown") else _matched("[^!].*", text)


def _whole(text: str) -> int | None:
    """Return a count that fits a counter of 64 bits."""
    number = int(_matched(r"\d{1,20}", text) or 2**64)
    return number if number < 2**64 else None


def _ports(rows: Rows) -> dict[str, Port]:
    values: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in _PATHS}
    interfaces = {}
    for path, value in rows:
        if path == "/proc/self/net/dev" and (found := _INTERFACE.fullmatch(value)):
            interfaces[found[1]] = dict(zip(_COUNTERS, map(int, found[2].split()), strict=True))
        for kind, pattern in _PATHS.items():
            if found := pattern.fullmatch(path):
                *names, key = found.groups()
                values[kind].setdefault(":".join(names), {})[key] = value
    ports = []
    for name, files in values["port"].items():
        ports.append(_verbs_port(name, files, values["device"].get(name.rpartition(":")[0], {})))
    ports += [_cxi_port(name, files) for name, files in values["cxi"].items()]
    for port in ports:
        port.driver_version = values["module"].get(port.driver or "", {}).get("version")
    others = []
    for name, counters in interfaces.items():
        others.append(_interface(name, counters, values["net"].get(name, {}), values["ioctl"].get(name, {})))
    _note_stacked(ports, others)
    return {port.name: port for port in (*ports, *others)}


def _add_counters(port: Port, files: Mapping[str, str]) -> None:
    """Add the counters that have a number: a file may not be readable, or the driver may not count."""
    for path, text in files.items():
        folder, _, counter = path.rpartition("/")
        value = _whole(text.partition("@")[0])  # cxi's telemetry is count@time
        if value is not None and (folder in _OF_COUNTERS or path in _SINGLE) and counter != "lifespan":
            port.counters[counter] = value


def _move_bytes(port: Port) -> None:
    """Move the counters of bytes to the fields of the port."""
    for sent, received, unit_B in _BYTES:
        counts = [port.counters.pop(name, None) for name in (sent, received)]
        if port.sent_B is None and port.received_B is None:
            port.sent_B, port.received_B = (None if count is None else count * unit_B for count in counts)


def _path(target: str) -> tuple[str, ...]:
    """Return the parts of PCIe of the path that a device's link leads to; none for a device of another
    bus."""
    parts = tuple(part for part in target.split("/") if _PCIE.fullmatch(part))
    return parts if parts and not parts[-1].startswith("pci") else ()


def _numa(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,4}", text) else None


def _add_slot(port: Port, files: Mapping[str, str], prefix: str) -> None:
    """Add the PCIe speed and width, as in ``8.0 GT/s x8``, the NUMA node, and the bridges above."""
    speed = _matched(r"(\d+(?:\.\d+)? GT/s).*", files.get(f"{prefix}current_link_speed", ""))
    width = _whole(files.get(f"{prefix}current_link_width", ""))
    port.pcie = f"{speed} x{width}" if speed and width else None
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
    port = Port(name, "verbs", firmware=_word(device.get("fw_ver", "")))
    port.driver = next((driver for prefix, driver in _DRIVERS.items() if name.startswith(prefix)), None)
    _add_slot(port, device, "device/")
    if state := _word(files.get("state", "")):
        port.up = state.endswith("ACTIVE")
    # "100 Gb/sec (4X EDR)"
    if rate := re.fullmatch(r"(\d+(?:\.\d+)?) Gb/sec(?: \((\d+X)(?: \S+)?\))?", files.get("rate", "")):
        port.rate_MBps, port.width = float(rate[1]) * 125, rate[2]
    port.aliases += filter(None, [_word(files.get("gid_attrs/ndevs/0", ""))])
    _add_counters(port, files)
    _move_bytes(port)
    return port


def _cxi_port(name: str, files: Mapping[str, str]) -> Port:
    port = Port(name, "cxi", driver="cxi_ss1", firmware=_word(files.get("fw_version", "")))
    _add_slot(port, files, "")
    for path, value in files.items():
        if alias := _matched(r"net/([^/]+)/operstate", path):
            port.aliases.append(alias)
            port.up = value == "up"
    if rate := re.match(r"(?:BS_|BJ_|CK_)?(\d{2,4})G?", files.get("properties/speed", "")):
        port.rate_MBps = float(rate[1]) * 125
    _add_counters(port, files)
    _move_bytes(port)
    return port


def _interface(
    name: str, counters: dict[str, int], sysfs: Mapping[str, str], asked: Mapping[str, str]
) -> Port:
    """Return an interface of the process's own network namespace.

    ``/proc/self/net/dev`` and ioctl are always of that one; ``/sys`` is of the namespace that it was mounted
    in, and may have another interface of the same name: it is used where index and address are the same.
    """
    if asked and any(sysfs.get(key) != asked.get(key) for key in ("ifindex", "address")):
        sysfs = {}
    port = Port(name, "interface", counters=counters, stacked=name == "lo")
    speed, port.mtu = (_whole(asked.get(key, "")) or _whole(sysfs.get(key, "")) for key in ("speed", "mtu"))
    port.rate_MBps = speed / 8 if speed else None
    state = asked.get("running", sysfs.get("operstate", ""))
    port.up = {"1": True, "0": False, "up": True, "down": False}.get(state)
    port.driver, port.driver_version, port.firmware = (
        _word(asked.get(key, "")) for key in ("driver", "driver_version", "fw_version")
    )
    _add_slot(port, sysfs, "device/")
    _move_bytes(port)
    _add_counters(port, {**sysfs, **asked})
    port.hardware = any(path.startswith("device/") for path in sysfs)
    port.over_infiniband = sysfs.get("type") == IP_OVER_INFINIBAND
    return port


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


#: Settings of a node: the file, and the form of the value.
_SETTINGS = {
    "governor": ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r"[^!].*"),
    "huge_pages": ("/sys/kernel/mm/transparent_hugepage/enabled", r".*\[(\w+)\].*"),
    "max_frequency_kHz": ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", r"[^!].*"),
}


def _host(rows: Rows) -> Host:
    """Return the node itself; each counter of TCP has a line of names, and one of values below it."""
    first: dict[str, str] = {}
    tcp: dict[str, int] = {}
    for path, value in rows:
        if path in first and path in ("/proc/self/net/snmp", "/proc/self/net/netstat"):
            pairs = zip(first[path].split()[1:], value.split()[1:], strict=False)
            tcp |= {name: count for name, text in pairs if (count := _whole(text)) is not None}
        first.setdefault(path, value)
    settings = {name: _matched(form, first.get(path, "")) for name, (path, form) in _SETTINGS.items()}
    known = {name: value for name, value in settings.items() if value is not None}
    load = _matched(r"(\d{1,6}\.\d{2}) .*", first.get("/proc/loadavg", ""))
    return Host(tcp, known, float(load) if load else None, *_pcie(rows))


def _pcie(rows: Rows) -> tuple[dict[str, Gpu], dict[str, int], dict[int, str]]:
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

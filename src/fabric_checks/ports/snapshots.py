# SPDX-License-Identifier: BSD-3-Clause
"""Files of our program ``ports``: the state of a node and of its ports before and after a program.

A file has ``# fabric-checks ports 1``, the node, and two snapshots: lines ``path<TAB>value`` as they are in
``/sys`` and ``/proc``, or where a link of a device leads, and a line that counts them. A value that the
driver does not have is missing; one that could not be read has ``!`` and the name of the error. They become
ports and a host with units; nothing that is missing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fabric_checks.core.errors import OutputError, quoted

#: The largest file of the program: two snapshots of 1 MiB, and their heads.
MOST_BYTES = 3 * 1024 * 1024
#: The unit of ``port_xmit_data`` and ``port_rcv_data`` (Linux,
#: Documentation/ABI/stable/sysfs-class-infiniband).
VERBS_UNIT_B = 4
#: The link type of IP over InfiniBand: ARPHRD_INFINIBAND of the kernel's if_arp.h.
IP_OVER_INFINIBAND = "32"

Kind = Literal["verbs", "cxi", "interface"]
#: Paths by what they describe: the groups are its name, of a port that of the device and its number, and the
#: file.
_PATHS = {
    "verbs": re.compile(r"/sys/class/infiniband/([\w.-]{1,64})/ports/(\d+)/(.+)"),
    "device": re.compile(r"/sys/class/infiniband/([\w.-]{1,64})/(?!ports/)(.+)"),
    "cxi": re.compile(r"/sys/class/cxi/([\w.-]{1,64})/(.+)"),
    "net": re.compile(r"/sys/class/net/([^/]+)/(.+)"),
    "ioctl": re.compile(r"ioctl/([^/]+)/(.+)"),
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
_COUNTERS = re.findall(
    r"\w+",
    "rx_bytes rx_packets rx_errs rx_drop rx_fifo rx_frame rx_compressed rx_multicast "
    "tx_bytes tx_packets tx_errs tx_drop tx_fifo tx_colls tx_carrier tx_compressed",
)
#: The counters of bytes, sent and received, with what they count: words of 4 bytes, or bytes. The first that
#: a port has counts (``rx_bytes`` of a verbs port is EFA's).
_BYTES = (
    ("port_xmit_data", "port_rcv_data", VERBS_UNIT_B),
    ("hni_sts_tx_ok_octets", "hni_sts_rx_ok_octets", 1),
    ("tx_bytes", "rx_bytes", 1),
)
#: Folders, and single files, whose files are counters.
_OF_COUNTERS = ("counters", "hw_counters", "device/telemetry", "statistics")
_SINGLE = ("carrier_changes",)

#: The address of a bridge or a device on PCIe: domain, bus, device and function.
_ADDRESS = r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
#: A GPU that a driver has; the lanes of a device or bridge; a module of the kernel.
_GPU = re.compile(rf"/sys/bus/pci/drivers/(?:nvidia|amdgpu)/{_ADDRESS}")
_LANES = re.compile(rf"/sys/devices/(?:.*/)?{_ADDRESS}/current_link_width")
_MODULE = re.compile(r"/sys/module/([\w-]+)/version")
#: The state of an interface of Slingshot, and the name of the interface of a port of verbs.
_OF_CXI = re.compile(r"device/net/([^/]+)/operstate")
_ANY, _NAME = re.compile(r".*"), re.compile(r"[^!].*")
#: The widths of PCIe; virtual devices have 0, 63 or 255.
_WIDTH = re.compile("1|2|4|8|12|16|32")

#: The kernel's log, and the error of a file that cannot be read.
_MESSAGES, _ERROR = "/dev/kmsg", re.compile(r"!E\w{1,15}")
#: A link of a GPU, or its registration in the fabric.
_NVLINK = re.compile(r"nvlink/(\d{1,3})/(\d{1,3}|fabric)")

#: Path and value of each row of a snapshot.
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Port:
    """A port at one moment; None is unknown.

    :param name: as in ``mlx5_0:1``, ``cxi0``, ``eth0``.
    :param up: the link state.
    :param rate_MBps: of one direction, in 10^6 bytes a second.
    :param driver: of an interface, and its version.
    :param pcie: the current speed and width of its slot, as in ``8.0 GT/s x8``.
    :param sent_B: bytes on the wire since its counters began; :param received_B: likewise.
    :param counters: its other counters, by name.
    :param aliases: names of the interfaces that are the same port.
    :param stacked: whether its bytes are in another port's counters, too, or stay on the node.
    """

    name: str
    kind: Kind
    up: bool | None = None
    rate_MBps: float | None = None
    mtu: int | None = None
    driver: str | None = None
    firmware: str | None = None
    numa: str | None = None
    pcie: str | None = None
    sent_B: int | None = None
    received_B: int | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    aliases: Sequence[str] = ()
    stacked: bool = False


@dataclass(frozen=True)
class Host:
    """The node itself at one moment.

    :param tcp: the counters of TCP by the kernel's names, with those of ``TcpExt``.
    :param settings: of the node, in words: ``governor``, ``huge pages``, ``largest frequency``, and the
        versions of modules.
    :param load: the load average of the last minute.
    :param gpus: the addresses of those that their driver has, in their order.
    :param lanes: of the PCIe link of a GPU, or of a bridge above a GPU or an adapter, by address.
    :param nvlink: the state of each NVLink by GPU and link, as in ``{("3", "5"): "25.781 GB/s"}``, and each
        registration of a GPU in the fabric by GPU and ``fabric``.
    :param messages: of the kernel while the program ran; :param unread: why they could not be read.
    """

    tcp: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    load: float | None = None
    gpus: tuple[str, ...] = ()
    lanes: Mapping[str, int] = field(default_factory=dict)
    nvlink: Mapping[tuple[str, str], str] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    unread: str = ""


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
        raise OutputError(
            f"{len(text)} characters are more than the program `ports` writes"
        )
    head = _HEAD.match(text)
    if head is None:
        raise OutputError(
            f"the first lines of `ports` were expected, found {quoted(text[:80])}", 1
        )
    before, at = _snapshot(text, head.end(), "before")
    if at == len(text):
        return NodeFile(head[1], before, None)
    after, at = _snapshot(text, at, "after")
    if not _END.fullmatch(text, at):
        raise OutputError(
            f"'# ended: ...' was expected last, found {quoted(text[at : at + 80])}"
        )
    return NodeFile(head[1], before, after)


def _snapshot(text: str, at: int, moment: str) -> tuple[Snapshot, int]:
    """Return the snapshot that begins at a place, and where it ends."""
    found = _SNAPSHOT.match(text, at)
    lines = (found["rows"] or "").split("\n")[:-1] if found else []
    if (
        found is None
        or found["moment"] != moment
        or len(lines) != int(found["count"] or 0)
    ):
        line = text.count("\n", 0, at) + 1
        raise OutputError(
            f"the snapshot '# {moment}' that begins here is damaged or cut", line
        )
    if found["late"]:
        return Snapshot(None, 0.0, {}, Host(), found["late"]), found.end()
    rows = [line.split("\t", 1) for line in lines]
    snapshot = Snapshot(
        float(found["uptime_s"]),
        float(found["took_ms"]),
        _ports(rows),
        _host(rows),
        found["cut"],
    )
    return snapshot, found.end()


def _whole(text: str) -> int | None:
    """Return a count that fits a counter of 64 bits."""
    number = int(text) if re.fullmatch(r"\d{1,20}", text) else 2**64
    return number if number < 2**64 else None


def _of_Gbps(rate: str) -> float:
    return 125 * float(rate)


_WORD = r"(?!!|(?:N/A|Unknown)$)(.+)"
#: The values of a port: the field, the file, its form with the value as a group, and the value in the field's
#: unit.
_FIELDS: tuple[tuple[str, str, str, Callable[[str], Any]], ...] = (
    ("firmware", "fw_ver", _WORD, str),
    ("firmware", "device/fw_version", _WORD, str),
    ("firmware", "fw_version", _WORD, str),
    ("driver", "driver", _WORD, str),
    ("up", "state", _WORD, lambda state: state.endswith("ACTIVE")),
    ("up", "operstate", "(up|down)", "up".__eq__),
    ("up", "running", "([01])", "1".__eq__),
    # "100 Gb/sec (4X EDR)"
    ("rate_MBps", "rate", r"(\d+(?:\.\d+)?) Gb/sec\b.*", _of_Gbps),
    ("rate_MBps", "device/properties/speed", r"(?:BS_|BJ_|CK_)?(\d{2,4}).*", _of_Gbps),
    ("rate_MBps", "speed", r"([1-9]\d{0,8})", lambda Mbps: float(Mbps) / 8),
    ("mtu", "mtu", r"([1-9]\d{0,8})", int),
    ("numa", "device/numa_node", r"(\d{1,4})", str),
    ("pcie", "slot", r"(\d+(?:\.\d+)? GT/s x[1-9]\d{0,2})", str),
)


def _port(kind: Kind, name: str, files: dict[str, str], **more: Any) -> Port:
    speed = files.get("device/current_link_speed", "").removesuffix(" PCIe")
    files["slot"] = f"{speed} x{files.get('device/current_link_width', '')}"
    for field_name, file, form, value_of in _FIELDS:
        if found := re.fullmatch(form, files.get(file, "")):
            more[field_name] = value_of(found[1])
    counters = _counters(files)
    more["sent_B"], more["received_B"] = _bytes(counters)
    return Port(name, kind, counters=counters, **more)


def _counters(files: Mapping[str, str]) -> dict[str, int]:
    """Return the counters that have a number: a file may not be readable, or the driver may not count."""
    counters = {}
    for path, text in files.items():
        folder, _, counter = path.rpartition("/")
        value = _whole(text.partition("@")[0])  # cxi's telemetry is count@time
        if (
            value is not None
            and (folder in _OF_COUNTERS or path in _SINGLE)
            and counter != "lifespan"
        ):
            counters[counter] = value
    return counters


def _bytes(counters: dict[str, int]) -> tuple[int | None, int | None]:
    """Remove the counters of bytes, and return what was sent and received."""
    for sent, received, unit_B in _BYTES:
        if sent in counters and received in counters:
            return counters.pop(sent) * unit_B, counters.pop(received) * unit_B
    return None, None


def _ports(rows: Rows) -> dict[str, Port]:
    values: dict[str, dict[str, dict[str, str]]] = {kind: {} for kind in _PATHS}
    for path, value in rows:
        for kind, pattern in _PATHS.items():
            if found := pattern.fullmatch(path):
                *names, key = found.groups()
                values[kind].setdefault(":".join(names), {})[key] = value
    ports = []
    for name, files in values["verbs"].items():
        of_device = values["device"].get(name.rpartition(":")[0], {})
        aliases = [files.get("gid_attrs/ndevs/0", "")]
        ports.append(_port("verbs", name, of_device | files, aliases=aliases))
    for name, files in values["cxi"].items():
        states = _values(files, _OF_CXI, _ANY)
        files["operstate"] = "".join(states.values())
        ports.append(_port("cxi", name, files, aliases=[*states]))
    net, ioctl = values["net"], values["ioctl"]
    interfaces = {
        name: _interface(counters, net.get(name, {}), ioctl.get(name, {}))
        for name, counters in _counted(rows).items()
    }
    stacked = _stacked(ports, interfaces)
    ports += [
        _port("interface", name, files, stacked=name in stacked)
        for name, files in interfaces.items()
    ]
    return {port.name: port for port in ports}


def _values(
    files: Mapping[str, str], path: re.Pattern[str], form: re.Pattern[str]
) -> dict[str, str]:
    """Return the values of some files that have a form, by the name in their paths."""
    return {
        found[1]: value
        for file, value in files.items()
        if (found := path.fullmatch(file)) and form.fullmatch(value)
    }


def _counted(rows: Rows) -> dict[str, dict[str, str]]:
    """Return the counters of each interface of the process's own network namespace, as those in files."""
    names = [f"statistics/{name}" for name in _COUNTERS]
    found = {}
    for path, value in rows:
        if path == "/proc/self/net/dev" and (line := _INTERFACE.fullmatch(value)):
            found[line[1]] = dict(zip(names, line[2].split(), strict=True))
    return found


def _interface(
    counters: Mapping[str, str], sysfs: Mapping[str, str], asked: Mapping[str, str]
) -> dict[str, str]:
    """Return the files of an interface.

    ``/proc/self/net/dev`` and ioctl are always of the process's network namespace; ``/sys`` is of the one
    that it was mounted in, and may have another interface of the same name: it is used where index and
    address are the same.
    """
    if asked and any(
        sysfs.get(key) != asked.get(key) for key in ("ifindex", "address")
    ):
        sysfs = {}
    driver = f"{asked.get('driver', '')} {asked.get('driver_version', '')}"
    return {**sysfs, **asked, "driver": driver.strip(), **counters}


def _stacked(
    ports: Sequence[Port], interfaces: Mapping[str, Mapping[str, str]]
) -> set[str]:
    """Return the interfaces whose bytes other ports count as well: a bond, a bridge, a VLAN, IP over
    InfiniBand, hsn0.

    Where no interface is known to be hardware, as in a container, all count. What RDMA moves over Ethernet is
    not among the bytes of the interface (mlx5 counts ``transmitted_ib`` for the port), so these two are not
    the same.
    """
    found = {"lo"}
    for port in ports:
        if port.kind == "cxi" and port.sent_B is not None:
            found.update(port.aliases)
    virtual = [
        name for name, files in interfaces.items() if "device/" not in " ".join(files)
    ]
    if len(virtual) < len(interfaces):
        found.update(virtual)
    if ports:
        found.update(
            name
            for name, files in interfaces.items()
            if files.get("type") == IP_OVER_INFINIBAND
        )
    return found


#: Files with counters of TCP.
_TCP = ("/proc/self/net/snmp", "/proc/self/net/netstat")
#: Settings of a node: the file, and the form of the value.
_SETTINGS = {
    "governor": ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r"([^!].*)"),
    "huge pages": ("/sys/kernel/mm/transparent_hugepage/enabled", r".*\[(\w+)\].*"),
    "largest frequency": (
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
        r"([^!].*)",
    ),
}


def _host(rows: Rows) -> Host:
    first = dict(reversed([(path, value) for path, value in rows]))
    load = re.match(r"\d{1,6}\.\d{2} ", first.get("/proc/loadavg", ""))
    messages = [value for path, value in rows if path == _MESSAGES]
    error = next((value for value in messages if _ERROR.fullmatch(value)), "")
    return Host(
        _tcp(rows, first),
        _settings(first),
        float(load[0]) if load else None,
        tuple(sorted(_values(first, _GPU, _ANY))),
        _lanes(first),
        _nvlinks(first),
        () if error else tuple(messages),
        error.removeprefix("!"),
    )


def _settings(first: Mapping[str, str]) -> dict[str, str]:
    settings = {
        f"version of {name}": version
        for name, version in _values(first, _MODULE, _NAME).items()
    }
    for name, (path, form) in _SETTINGS.items():
        if found := re.fullmatch(form, first.get(path, "")):
            settings[name] = found[1]
    return settings


def _lanes(first: Mapping[str, str]) -> dict[str, int]:
    """Return the lanes of links of PCIe but for those of adapters, which are states of their ports."""
    links = [target for path, target in first.items() if path.endswith("/device")]
    adapters = {target.rpartition("/")[2] for target in links}
    lanes = _values(first, _LANES, _WIDTH)
    return {at: int(width) for at, width in lanes.items() if at not in adapters}


def _nvlinks(first: Mapping[str, str]) -> dict[tuple[str, str], str]:
    found = ((_NVLINK.fullmatch(path), state) for path, state in first.items())
    return {(link[1], link[2]): state for link, state in found if link}


def _tcp(rows: Rows, first: Mapping[str, str]) -> dict[str, int]:
    """Return the counters of TCP, which have a line of names, and one of values below it."""
    found: dict[str, int] = {}
    for path, value in rows:
        names = first[path]
        if path in _TCP and value != names:
            for name, text in zip(names.split()[1:], value.split()[1:], strict=False):
                if (count := _whole(text)) is not None:
                    found[name] = count
    return found

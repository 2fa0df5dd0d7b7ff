# SPDX-License-Identifier: BSD-3-Clause
"""Trees of sysfs and procfs as public documents and threads show them, and what a program changes in them.

- ``infiniband``: two ports of ConnectX-6 (kernel: Documentation/ABI/stable/sysfs-class-infiniband;
  node_exporter's and Telegraf's issues on its counters), one with symbol errors and a slot at half its speed.
- ``omni_path``: the counters of prometheus/node_exporter and netdata#9091.
- ``iwarp``: ``N/A (no PMA)``, prometheus/node_exporter#966.
- ``slingshot``: ``count@time`` in telemetry (HPE's guide to troubleshooting: ``90049@...``).
- ``efa``: its own names in hw_counters.
- ``old``: counters of 32 bits that have stopped, and one that was reset.
- ``unread``: files that are directories, empty, or far too long, and names that are hostile.
"""

IB = "sys/class/infiniband"
DEV = (
    "Inter-|   Receive                         |  Transmit\n face |bytes    packets errs drop |bytes    packets errs\n"
)
SNMP = (
    "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
    "Tcp: RtoAlgorithm InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\nTcp: 1 {} {} {} 0 3 {}\n"
)
NETSTAT = "TcpExt: SyncookiesSent TCPOFOQueue TCPDSACKRecv\nTcpExt: 0 {} {}\nIpExt: InNoRoutes\nIpExt: 0\n"


def interface(name, received, sent):
    """Return a line of /proc/net/dev."""
    return f"{name}: {received} {received // 1000} 0 0 0 0 0 0 {sent} {sent // 1000} 0 0 0 0 0 0\n"


def verbs(device, *, rate="200 Gb/sec (4X HDR)", layer="InfiniBand", slot="16.0 GT/s PCIe", width=16, **counters):
    """Return a device with one port."""
    base, port = f"{IB}/{device}", f"{IB}/{device}/ports/1"
    return {
        f"{base}/fw_ver": "20.31.1014",
        f"{base}/board_id": "MT_0000000223",
        f"{base}/device/numa_node": "1",
        f"{base}/device/current_link_speed": slot,
        f"{base}/device/current_link_width": str(width),
        f"{base}/device/max_link_speed": "16.0 GT/s PCIe",
        f"{base}/device/max_link_width": "16",
        f"{port}/state": "4: ACTIVE",
        f"{port}/phys_state": "5: LinkUp",
        f"{port}/rate": rate,
        f"{port}/link_layer": layer,
        **{f"{port}/counters/{name}": str(value) for name, value in counters.items()},
    }


def grown(device, **counters):
    """Return what a program changes in the counters of a device."""
    return {f"{IB}/{device}/ports/1/counters/{name}": str(value) for name, value in counters.items()}


HEALTHY = {"symbol_error": 0, "link_downed": 0, "link_error_recovery": 0, "port_rcv_errors": 0, "port_xmit_discards": 0}
HOST = {
    "proc/loadavg": "0.12 0.20 0.18 2/1500 4242",
    "proc/meminfo": "MemTotal:       527846404 kB\nMemFree: 1 kB\nMemAvailable:   500000000 kB\nBuffers: 2 kB",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3100000",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq": "3500000",
    "sys/module/mlx5_core/version": "24.01-0.3.3",
    "sys/module/another/version": "1",
}
#: By name: the files, and those that a program changes.
TREES = {
    "infiniband": (
        HOST
        | verbs("mlx5_0", port_xmit_data=1000, port_rcv_data=2000, port_xmit_wait=7, **HEALTHY)
        | verbs(
            "mlx5_1", port_xmit_data=50, port_rcv_data=60, port_xmit_wait=0, slot="8.0 GT/s PCIe", width=16, **HEALTHY
        )
        | {
            f"{IB}/mlx5_0/ports/1/hw_counters/lifespan": "12",
            f"{IB}/mlx5_0/ports/1/hw_counters/rnr_nak_retry_err": "0",
            "proc/self/net/dev": DEV + interface("lo", 5, 5) + interface("ib0", 900, 800) + interface("eno1", 100, 90),
            "sys/class/net/ib0/type": "32",
            "sys/class/net/ib0/device/vendor": "0x15b3",
            "sys/class/net/eno1/type": "1",
            "sys/class/net/eno1/device/vendor": "0x8086",
            "sys/class/net/eno1/speed": "1000",
            "sys/class/net/eno1/mtu": "1500",
            "sys/class/net/eno1/operstate": "up",
            "proc/self/net/snmp": SNMP.format(100, 100, 1, 0),
            "proc/self/net/netstat": NETSTAT.format(0, 0),
        },
        grown("mlx5_0", port_xmit_data=251000, port_rcv_data=252000)
        | grown("mlx5_1", symbol_error=4000)
        | {
            "proc/self/net/dev": DEV + interface("lo", 5, 5) + interface("ib0", 950, 850) + interface("eno1", 190, 270),
            "proc/self/net/snmp": SNMP.format(200, 300, 3, 0),
            "proc/self/net/netstat": NETSTAT.format(4, 1),
        },
    ),
    "omni_path": (
        verbs("hfi1_0", rate="100 Gb/sec (4X EDR)", port_xmit_data=10, port_rcv_data=10, **HEALTHY)
        | {f"{IB}/hfi1_0/ports/1/hw_counters/RcResend": "2079", f"{IB}/hfi1_0/ports/1/hw_counters/PktDrop": "134"},
        grown("hfi1_0", port_xmit_data=1010) | {f"{IB}/hfi1_0/ports/1/hw_counters/RcResend": "2080"},
    ),
    "iwarp": (
        verbs("i40iw0", rate="10 Gb/sec (4X SDR)", layer="Ethernet")
        | grown("i40iw0", port_xmit_data="N/A (no PMA)", port_rcv_data="N/A (no PMA)", symbol_error="N/A (no PMA)"),
        {},
    ),
    "slingshot": (
        {
            "sys/class/cxi/cxi0/device/fw_version": "1.5.49",
            "sys/class/cxi/cxi0/device/numa_node": "3",
            "sys/class/cxi/cxi0/device/net/hsn0/operstate": "up",
            "sys/class/cxi/cxi0/device/properties/speed": "BS_200G",
            "sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets": "1000@1675489372.701036980",
            "sys/class/cxi/cxi0/device/telemetry/hni_sts_rx_ok_octets": "2000@1675489372.701036980",
            "sys/class/cxi/cxi0/device/telemetry/hni_pcs_uncorrected_cw": "90049@1675489372.701036980",
            "proc/self/net/dev": DEV + interface("hsn0", 10, 10),
        },
        {"sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets": "501000@1675489379.1"},
    ),
    "efa": (
        {
            f"{IB}/rdmap0/ports/1/state": "4: ACTIVE",
            f"{IB}/rdmap0/ports/1/rate": "100 Gb/sec (4X EDR)",
            f"{IB}/rdmap0/ports/1/link_layer": "Unknown",
            f"{IB}/rdmap0/ports/1/hw_counters/tx_bytes": "5000",
            f"{IB}/rdmap0/ports/1/hw_counters/rx_bytes": "6000",
            f"{IB}/rdmap0/ports/1/hw_counters/rx_drops": "0",
        },
        {f"{IB}/rdmap0/ports/1/hw_counters/tx_bytes": "9000"},
    ),
    "old": (
        verbs(
            "mthca0",
            rate="10 Gb/sec (4X)",
            port_xmit_data=2**32 - 1,
            port_rcv_data=4000,
            symbol_error=65535,
            link_downed=3,
        ),
        grown("mthca0", port_rcv_data=10, link_downed=1),
    ),
    "unread": (
        {
            f"{IB}/mlx5_0/fw_ver/inside": "a folder where a file should be",
            f"{IB}/mlx5_0/ports/1/state": "",
            f"{IB}/mlx5_0/ports/1/rate": "x" * 100_000,
            f"{IB}/mlx5_0/ports/1/counters/\x1b[31m\nsymbol_error": "1\x1b]0;title\x07\ttwo\x00three",
            "sys/class/net/\t# rows: 1/mtu": "9",
        },
        {},
    ),
}

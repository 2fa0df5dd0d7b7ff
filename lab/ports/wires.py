# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the links of a cluster, by what every kernel with eBPF has, and a second link for each host.

Packets are lost, or a byte of them is overwritten, by a filter at the end of a link that is on the bridge:
towards the host or from it. Loss is of packets as the kernel hands them on, up to 64 KiB in one piece. Where
bytes are overwritten, check sums are not left to the hardware that is not there, so packets are of the MTU.
"""

import ctypes
import os
import struct
import subprocess
import sys
import tempfile

from ci.minicluster.network import bridge_side

#: The first byte to overwrite: behind the headers of Ethernet, IP and TCP with options.
AT = 200
#: The ancillary load of a random number in classic BPF: SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h.
RANDOM = 2**32 - 0x1000 + 56
SHOT, GO_ON = 2, 2**32 - 1
WAYS = {"to": ["egress"], "from": ["ingress"], "both": ["egress", "ingress"]}


def lose(cluster, host, way="both", share=0.01):
    """Lose a share of the packets on the link of a host."""
    limit = int(share * 2**32)
    code = f"4,32 0 0 {RANDOM},53 1 0 {limit},6 0 0 {SHOT},6 0 0 {GO_ON}"
    lines = [
        f"tc filter add dev {bridge_side(host)} {hook} bpf da bytecode '{code}'"
        for hook in WAYS[way]
    ]
    cluster.sh(
        "\n".join(["set -e", f"tc qdisc add dev {bridge_side(host)} clsact", *lines])
    )


def corrupt(cluster, host, way="both", share=0.01):
    """Overwrite a byte in a share of the packets on the link of a host."""
    for each in cluster.entry.spec.hosts:
        cluster.on(each, sys.executable, __file__, "checksums", "eth0")
    cluster.on(
        "head",
        sys.executable,
        __file__,
        "checksums",
        *map(bridge_side, cluster.entry.spec.hosts),
    )
    cluster.on(
        "head",
        sys.executable,
        __file__,
        "corrupt",
        bridge_side(host),
        str(share),
        *WAYS[way],
    )


def heal(cluster, host):
    """Take the faults of a host's link away."""
    cluster.sh(f"tc qdisc del dev {bridge_side(host)} clsact")


def second_links(cluster, rate="1gbit"):
    """Give every host a second interface, eth1, on a bridge and in a network of its own."""
    hosts = cluster.entry.spec.hosts
    lines = ["set -e", "ip link add br1 type bridge", "ip link set br1 up"]
    for host in hosts:
        lines += [
            f"pid=$(pgrep -f 'slurmd -D -N {host}$' | head -1)",
            f"ip link add two-{host} type veth peer name eth1 netns $pid",
            f"ip link set two-{host} master br1 up",
            f"tc qdisc add dev two-{host} root tbf rate {rate} burst 125000 latency 50ms",
        ]
    cluster.sh("\n".join(lines))
    for number, host in enumerate(hosts, 1):
        cluster.on(host, "ip", "address", "add", f"10.214.0.{number}/24", "dev", "eth1")
        cluster.on(host, "ip", "link", "set", "eth1", "up")
        cluster.on(
            host,
            *f"tc qdisc add dev eth1 root tbf rate {rate} burst 125000 latency 50ms".split(),
        )


# ------------------------------------------------------------- what runs on a host, as a program


def without_checksum_offload(devices):
    """Have the kernel compute and verify check sums: ETHTOOL_SRXCSUM and ETHTOOL_STXCSUM of
    linux/ethtool.h."""
    import fcntl
    import socket

    with socket.socket() as asked:
        for device in devices:
            for command in (0x15, 0x17):
                value = ctypes.create_string_buffer(struct.pack("II", command, 0))
                request = struct.pack(
                    "16sP16x", device.encode(), ctypes.addressof(value)
                )
                fcntl.ioctl(asked, 0x8946, request)  # SIOCETHTOOL


def attach_corruption(device, share, hooks):
    """Load the filter, and put it on a device."""

    def instruction(code, dst=0, src=0, off=0, imm=0):
        return struct.pack("<BBhi", code, src << 4 | dst, off, imm)

    program = b"".join(
        [
            instruction(0xBF, 6, 1),  # r6 = the packet
            instruction(0x85, imm=7),  # r0 = bpf_get_prandom_u32()
            instruction(
                0x25, 0, off=8, imm=int(float(share) * 2**32)
            ),  # if above: done
            instruction(0x72, 10, off=-8, imm=0x5A),  # the byte, on the stack
            instruction(0xBF, 1, 6),
            instruction(0xB7, 2, imm=AT),
            instruction(0xBF, 3, 10),
            instruction(0x07, 3, imm=-8),
            instruction(0xB7, 4, imm=1),
            instruction(0xB7, 5, imm=0),
            instruction(0x85, imm=9),  # bpf_skb_store_bytes(packet, AT, the byte, 1, 0)
            instruction(0xB7, 0, imm=-1),  # TC_ACT_UNSPEC
            instruction(0x95),
        ]
    )
    libc = ctypes.CDLL(None, use_errno=True)
    code, licence, log = (
        ctypes.create_string_buffer(data) for data in (program, b"GPL", b"\0" * 65536)
    )

    def bpf(command, attributes):
        buffer = ctypes.create_string_buffer(attributes, 128)
        result = libc.syscall(321, command, buffer, 128)  # x86_64
        if result < 0:
            raise SystemExit(
                f"bpf: {os.strerror(ctypes.get_errno())} {log.value.decode()}"
            )
        return result

    at = ctypes.addressof
    # BPF_PROG_LOAD of a BPF_PROG_TYPE_SCHED_CLS
    loaded = bpf(
        5,
        struct.pack(
            "IIQQIIQ", 3, len(program) // 8, at(code), at(licence), 1, len(log), at(log)
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "bpf", "bpf", folder], check=True)
        try:
            path = ctypes.create_string_buffer(f"{folder}/corrupt".encode())
            bpf(6, struct.pack("QI", at(path), loaded))  # BPF_OBJ_PIN
            subprocess.run(["tc", "qdisc", "add", "dev", device, "clsact"], check=True)
            for hook in hooks:
                add = f"tc filter add dev {device} {hook} bpf da object-pinned {folder}/corrupt"
                subprocess.run(add.split(), check=True)
        finally:
            subprocess.run(["umount", folder], check=True)


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    if what == "checksums":
        without_checksum_offload(arguments)
    else:
        attach_corruption(arguments[0], arguments[1], arguments[2:])

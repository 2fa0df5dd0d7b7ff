# SPDX-License-Identifier: BSD-3-Clause
import pytest

from ci.minicluster import network
from ci.minicluster.errors import ClusterError


def test_what_delays_and_loses_is_above_what_limits():
    netem = "qdisc replace dev x root handle 1: netem limit 100000 "
    assert network.limit_commands("x", "none,loss=1%") == [netem + "loss 1%"]
    assert network.limit_commands("x", "10mbit,delay=1ms,loss=1%") == [
        netem + "delay 1ms loss 1%",
        "qdisc replace dev x parent 1: handle 10: tbf rate 10mbit burst 65536 latency 50ms",
    ]


def test_a_kernel_without_netem_is_said_to_have_none(monkeypatch, tmp_path):
    tc = tmp_path / "tc"
    tc.write_text(
        "#!/bin/sh\necho 'Error: Specified qdisc kind is unknown.' >&2\nexit 2\n"
    )
    tc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(
        ClusterError,
        match="can neither delay nor lose packets: it has no sch_netem .*kind is unknown",
    ):
        network.require_netem()


@pytest.mark.parametrize("rate, burst", [("10mbit", 65536), ("10gbit", 1_250_000)])
def test_the_bucket_holds_a_millisecond_and_the_largest_packet(rate, burst):
    limited = [f"qdisc replace dev x root tbf rate {rate} burst {burst} latency 50ms"]
    assert network.limit_commands("x", rate) == limited


def test_rails_are_networks_of_their_own():
    assert network.link_commands("n2", 7, rails=2) == [
        "link add name to-n2 type veth peer name eth0 netns 7",
        "link set dev to-n2 master br0 up",
        "link add name to-n2-1 type veth peer name eth1 netns 7",
        "link set dev to-n2-1 master br1 up",
    ]
    added = [
        line
        for line in network.host_commands("n2", rails=2)
        if line.startswith("address")
    ]
    assert added == [
        "address add 10.213.0.3/16 dev eth0",
        "address add 10.214.0.3/16 dev eth1",
    ]
    assert network.bridge_commands(2)[-1] == "link set dev br1 up"


def test_a_failing_command_is_one_line(monkeypatch, tmp_path):
    ip = tmp_path / "ip"
    ip.write_text(
        "#!/bin/sh\necho 'RTNETLINK answers: Operation not permitted' >&2\nexit 2\n"
    )
    ip.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(
        ClusterError,
        match="cannot be set up: ip failed: RTNETLINK answers: Operation not",
    ) as caught:
        network.run_batch("ip", network.bridge_commands())
    assert "\n" not in str(caught.value)

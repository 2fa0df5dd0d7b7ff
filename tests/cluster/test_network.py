# SPDX-License-Identifier: BSD-3-Clause
import pytest

from ci.minicluster import network
from ci.minicluster.errors import ClusterError
from ci.minicluster.spec import MOST_NODES


def test_no_limit_takes_an_older_one_away():
    assert network.limit_command("eth0", "none") == "qdisc replace dev eth0 root noqueue"


@pytest.mark.parametrize(
    ("rate", "burst"),
    [("10mbit", 65536), ("100mbit", 65536), ("1gbit", 125_000), ("10gbit", 1_250_000)],
)
def test_the_bucket_holds_a_millisecond_and_the_largest_packet(rate, burst):
    assert network.limit_command("x", rate) == f"qdisc replace dev x root tbf rate {rate} burst {burst} latency 50ms"


def test_names_of_links_fit_the_kernel():
    assert len(network.bridge_side(f"n{MOST_NODES}")) <= 15


def test_a_failing_command_is_one_line(monkeypatch, tmp_path):
    ip = tmp_path / "ip"
    ip.write_text("#!/bin/sh\necho 'RTNETLINK answers: Operation not permitted' >&2\nexit 2\n")
    ip.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(ClusterError, match="cannot be set up: ip failed: RTNETLINK answers: Operation not") as caught:
        network.run_batch("ip", network.bridge_commands())
    assert "\n" not in str(caught.value)

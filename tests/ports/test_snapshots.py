# SPDX-License-Identifier: BSD-3-Clause
"""Files of `ports`: recorded trees of several kinds of networks, and the ways such a file breaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_checks.core.errors import OutputError
from fabric_checks.ports.snapshots import MOST_BYTES, parse
from tests.breakages import refused
from tests.conftest import TESTS
from tests.ports import pcie

GOLDEN = {
    path.stem: path.read_text() for path in (TESTS / "golden/ports").glob("*.txt")
}


def both(name):
    node = parse(GOLDEN[name])
    return node.before, node.after


def test_infiniband():
    before, after = both("infiniband")
    port = before.ports["mlx5_0:1"]
    assert (port.up, port.rate_MBps, port.firmware, port.numa) == (
        True,
        25000,
        "20.31.1014",
        "1",
    )
    assert port.pcie == "16.0 GT/s x16"
    assert before.ports["mlx5_1:1"].pcie == "8.0 GT/s x16"
    # The counters are of 4-byte words.
    assert port.sent_B == 4000
    assert port.received_B == 8000
    assert after.ports["mlx5_0:1"].sent_B - port.sent_B == 1_000_000
    assert port.counters["rnr_nak_retry_err"] == 0 and "lifespan" not in port.counters
    stacked = {name: port.stacked for name, port in before.ports.items()}
    assert stacked == {
        "mlx5_0:1": False,
        "mlx5_1:1": False,
        "ib0": True,
        "eno1": False,
        "lo": True,
    }
    assert before.ports["eno1"].rate_MBps == 125
    assert before.ports["eno1"].mtu == 1500


def test_a_host():
    before, after = both("infiniband")
    assert before.host.settings == {
        "governor": "performance",
        "huge pages": "always",
        "largest frequency": "3500000",
        "version of mlx5_core": "24.01-0.3.3",
    }
    assert before.host.load == 0.12
    assert before.host.tcp["OutSegs"] == 100
    assert after.host.tcp["RetransSegs"] == 3
    assert after.host.tcp["TCPOFOQueue"] == 4
    assert before.uptime_s == 100
    assert after.uptime_s == 120
    assert before.took_ms == 1


def test_slingshot_counts_its_interface_too():
    before, after = both("slingshot")
    port = after.ports["cxi0"]
    assert (port.up, port.rate_MBps, port.aliases) == (True, 25000, ["hsn0"])
    assert port.sent_B - before.ports["cxi0"].sent_B == 500_000
    assert port.counters == {"hni_pcs_uncorrected_cw": 90049}
    assert after.ports["hsn0"].stacked


def test_efa_and_omni_path():
    port = both("efa")[1].ports["rdmap0:1"]
    assert port.sent_B == 9000
    assert port.received_B == 6000
    assert port.counters == {"rx_drops": 0}
    port = both("omni_path")[0].ports["hfi1_0:1"]
    assert port.rate_MBps == 12500
    assert port.counters["RcResend"] == 2079


def test_hostile_names_and_values_are_data():
    (port,) = both("unread")[0].ports.values()
    assert port.up is None
    assert port.rate_MBps is None
    assert port.counters == {}


def namespace(address):
    """Return a file of a node whose /sys may be another namespace's."""
    rows = [
        "/sys/class/net/eth0/ifindex\t4", f"/sys/class/net/eth0/address\t{address}",
        "/sys/class/net/eth0/speed\t100000",
        "/sys/class/net/eth0/device/vendor\t0x15b3", "/sys/class/net/eth0/mtu\t!EACCES",
        "/proc/self/net/dev\teth0: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0",
        "/proc/self/net/dev\tbond0: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0",
        "ioctl/eth0/ifindex\t4", "ioctl/eth0/address\t02:00:00:00:00:01", "ioctl/eth0/running\t1",
    ]  # fmt: skip
    body = "".join(f"{row}\n" for row in rows)
    return (
        f"# fabric-checks ports 1\n# node: n1\n# before\n# uptime_s: 1.0\n# took_ms: 1.0\n{body}# rows:"
        f" {len(rows)}\n"
    )


def test_an_interface_of_another_namespace_is_not_believed():
    own = parse(namespace("02:00:00:00:00:01")).before.ports
    assert own["eth0"].rate_MBps == 12500 and own["eth0"].mtu is None
    assert own["eth0"].received_B == 1
    assert own["eth0"].sent_B == 2
    assert own["bond0"].stacked and not own["eth0"].stacked
    other = parse(namespace("02:00:00:00:00:02")).before.ports
    assert other["eth0"].rate_MBps is None and other["eth0"].up
    assert not other["bond0"].stacked  # nobody knows


def test_a_real_gpu_is_read():
    host = parse(GOLDEN["h100"]).after.host
    assert host.gpus == ("0000:00:06.0",)
    assert host.lanes == {"0000:00:06.0": 16}


@pytest.mark.parametrize("value", ["", "x" * 9000, "0000:00:1f.0\x1b[31m", "!EACCES"])
def test_names_and_numbers_of_pcie_that_are_none_are_left_out(value):
    """What is printed of them is an address, or the name of a port."""
    hostile = pcie.rows(
        [((*pcie.gpu_path(0)[:-1], "bind\x1b[31m"), 0)],
        {name: (pcie.adapter_path(1, 1), 0) for name in ("mlx5_8\x1b[31m", "y" * 99)},
    )
    made = {
        path: value if path.endswith("width") else kept
        for path, kept in (pcie.host() | hostile).items()
    }
    node = pcie.alone(made)
    assert list(node.ports) == [f"mlx5_{rail}:1" for rail in range(8)]
    assert node.host.gpus == tuple(pcie.gpu_path(at)[-1] for at in range(8))
    assert node.host.lanes == {}


def test_a_program_that_did_not_come_to_its_end():
    assert parse(namespace("x")).after is None


def test_a_snapshot_that_was_cut():
    head = "# fabric-checks ports 1\n# node: n1\n"
    node = parse(
        head
        + "# before\n# cut: took more than 2000 ms\n# after\n# cut: took more than 2000 ms\n# ended: exit 0\n"
    )
    assert node.before.cut == node.after.cut == "took more than 2000 ms"
    assert node.before.uptime_s is None


@pytest.mark.parametrize("line", range(GOLDEN["infiniband"].count("\n")))
def test_a_line_that_is_missing_is_noticed(line):
    lines = GOLDEN["infiniband"].splitlines(keepends=True)
    # All that is left of a file that has the first moment only is a file of a program that was killed.
    with pytest.raises(OutputError):
        parse("".join(lines[:line] + lines[line + 1 :]))


@given(st.sampled_from(sorted(GOLDEN)), st.data())
def test_what_is_damaged_is_read_or_refused(name, data):
    text = GOLDEN[name]
    at = data.draw(st.integers(0, len(text) - 1))
    junk = data.draw(
        st.text(max_size=20)
        | st.sampled_from(["\t", "\n", "# after\n", "9" * 5000, "\x00", "é", "-1"])
    )
    try:
        parse(text[:at] + junk + text[at + data.draw(st.integers(0, 3)) :])
    except OutputError as error:
        assert "\n" not in str(error) and str(error).isprintable()


def test_no_file_is_longer_than_the_program_writes():
    with refused("are more than the program `ports` writes"):
        parse("#" * (MOST_BYTES + 1))

# SPDX-License-Identifier: BSD-3-Clause
"""What a job script notes of its node, run by a shell, and what is read from it."""

import shutil
import subprocess
import time

import pytest

from fabric_checks.records.cost import counters
from fabric_checks.records.cost.counters import node_traffic_B, parse
from tests.guard import GUARD_S

HEAD = "Inter-|   Receive\n face |bytes    packets errs\n"


def snapshot(uptime="100.00", host="n1", rest="", **interfaces):
    """Return what a node says; interfaces as (received, sent)."""
    rows = "".join(f"{name:>6}: {got} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n" for name, (got, sent) in interfaces.items())
    return parse(f"{host}\n{uptime} 50.00\n{HEAD}{rows}{rest}")


def grown(got, sent, **options):
    return snapshot(eth0=(1000, 2000), **options), snapshot(eth0=(1000 + got, 2000 + sent), **options)


def port(got, sent, device="mlx5_0"):
    where = f"/sys/class/infiniband/{device}/ports/1/counters/port"
    return f"{where}_rcv_data:{got}\n{where}_xmit_data:{sent}\n"


def test_the_loopback_is_no_link():
    found = snapshot(lo=(5, 5), eth0=(7, 9))
    assert (found.received_B, found.sent_B) == ({"eth0": 7}, {"eth0": 9})
    assert (found.host, found.uptime_s) == ("n1", 100.0)


def test_a_bond_is_not_counted_beside_what_is_under_it():
    devices = "/sys/class/net/eth0/device/uevent:DRIVER=x\n/sys/class/net/eth1/device/uevent:DRIVER=x\n"
    assert set(snapshot(bond0=(3, 3), eth0=(1, 1), eth1=(2, 2), rest=devices).sent_B) == {"eth0", "eth1"}
    # The interfaces of a container have no device; /sys may show that of another.
    assert set(snapshot(eth9=(1, 1), rest=devices).sent_B) == {"eth9"}


def test_infiniband_counts_four_bytes_and_not_ip_over_it_again():
    types = "/sys/class/net/ib0/type:32\n/sys/class/net/eth0/type:1\n"
    found = snapshot(ib0=(70, 70), eth0=(1, 2), rest=types + port(10, 20))
    assert found.received_B == {"eth0": 1, "mlx5_0/1": 40} and found.sent_B == {"eth0": 2, "mlx5_0/1": 80}
    # Without counters of the port, those of the interface are what there is.
    assert set(snapshot(ib0=(70, 70), rest=types).sent_B) == {"ib0"}


def test_a_counter_that_is_full_or_half_there_tells_nothing():
    assert not snapshot(rest=port(2**32 - 1, 5)).sent_B
    assert not snapshot(rest=port(1, 5).splitlines()[0]).sent_B


@pytest.mark.parametrize(
    "text", ["", "n1\n", "n1\nup for long\nnonsense: 5\n", "\x00\n\n\n", "n1\n1.0 2.0\neth0: 1 2\n"]
)
def test_what_is_not_understood_is_left_out(text):
    found = parse(text)
    assert not found.sent_B
    assert counters.elapsed_s(parse(""), found) is None and node_traffic_B(found, found, ["n1", "n2"]) is None


def test_the_time_is_that_of_the_host_and_never_negative():
    before, after = snapshot("100.00"), snapshot("107.25")
    assert counters.elapsed_s(before, after) == 7.25
    assert counters.elapsed_s(after, before) is None
    assert counters.elapsed_s(before, after, at_most_s=7) is None
    assert counters.elapsed_s(before, snapshot("107.25", host="n2")) is None
    assert counters.elapsed_s(snapshot("100.00"), snapshot("100.00")) == 0


def test_the_traffic_is_that_of_the_one_node_both_ways():
    assert node_traffic_B(*grown(300, 500), ["n1"]) == 800
    # However many others there are: nothing is said of those.
    assert node_traffic_B(*grown(300, 500, host="n2"), ["n1", "n2", "n3", "n4"]) == 800
    # Libraries give a node's name with or without its domain.
    assert node_traffic_B(*grown(1, 1, host="n1.site.example"), ["n1", "n2"]) == 2


def test_a_script_that_runs_elsewhere_and_links_that_nothing_is_known_of():
    assert node_traffic_B(*grown(300, 500, host="login"), ["n1", "n2"]) is None
    assert node_traffic_B(grown(300, 500)[0], grown(300, 500, host="n2")[1], ["n1", "n2"]) is None
    assert node_traffic_B(*grown(0, 0), ["n1", "n2"]) is None


def test_a_counter_that_was_reset_or_came_later():
    assert node_traffic_B(*grown(-300, 500), ["n1", "n2"]) is None
    assert node_traffic_B(snapshot(eth0=(1, 1)), snapshot(eth0=(2, 2), eth1=(3, 3)), ["n1", "n2"]) is None


def run(folder, *lines, **options):
    script = folder / "job.sh"
    script.write_text("#!/bin/bash\n" + "\n".join([*counters.script_lines(), *lines]) + "\n")
    return subprocess.run(
        [shutil.which("bash"), script], cwd=folder, capture_output=True, text=True, timeout=GUARD_S, **options
    )


def read(folder):
    return [parse((folder / name).read_text()) for name in (counters.BEFORE, counters.AFTER)]


def test_a_job_script_notes_how_long_it_took(tmp_path):
    begin = time.monotonic()
    assert run(tmp_path, "cd /", "sleep 0.3", "exit 7").returncode == 7
    took = time.monotonic() - begin
    assert 0.25 < counters.elapsed_s(*read(tmp_path)) < took + 0.05


def test_a_launch_that_fails_ends_the_job_with_its_status_and_is_noted(tmp_path):
    done = run(tmp_path, "(exit 3) || exit $?", "echo not reached")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
    assert counters.elapsed_s(*read(tmp_path)) is not None


def test_the_status_of_the_last_command_is_that_of_the_job(tmp_path):
    assert run(tmp_path, "false").returncode == 1 and run(tmp_path, "true").returncode == 0


def test_a_node_without_any_tool_or_file_fails_no_job(tmp_path):
    done = run(tmp_path, 'echo "done"', env={"PATH": "/nonexistent"} | {"HOME": "/"})
    assert done.returncode == 0 and done.stderr == ""
    assert counters.elapsed_s(*read(tmp_path)) is None


def test_a_folder_that_takes_no_file_fails_no_job(tmp_path):
    for name in (counters.BEFORE, counters.AFTER):
        (tmp_path / name).mkdir()
    done = run(tmp_path, "echo done", "exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, "done\n", "")

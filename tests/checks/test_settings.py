# SPDX-License-Identifier: BSD-3-Clause
"""What `-S` changes: the command line of each suite, the metrics, the record's parameters, and what is
refused."""

import re

import pytest
from reframe.core.exceptions import ConfigError

from fabric_checks.reframe_ext import internals
from tests import loading
from tests.checks import everything

#: As `-S NAME=VALUE`, all at once: a check takes those that it has.
GIVEN = {
    "largest_B": "1024",
    "iterations": "8",
    "warmup": "2",
    "window": "16",
    "overall_MiB": "3",
    "seconds_per_point": "0.01",
    "size_factor": "2",
    "steps": "20",
    "threads": "2",
    "waits": "3",
    "message_B": "4096",
    "messages": "5",
    "rounds": "1",
    "window_memory": "create",
    "device_buffers": "H D",
    "program_options": "--one,--two",
}
COMMANDS = {
    ("OsuLatency", "2x1"): "/osu/pt2pt/osu_latency -m 1:1024 -i 8 -x 2 --one --two",
    ("OsuBandwidth", "2x1"): "/osu/pt2pt/osu_bw -m 1:1024 -i 8 -x 2 -W 16 --one --two",
    ("OsuBandwidthOnDevice", "1x2"): "/osu/pt2pt/osu_bw -m 1:1024 -d cuda H D -i 8 -x 2 -W 16 --one --two",
    ("OsuBarrier", "2x1"): "/osu/collective/osu_barrier -i 8 -x 2 --one --two",
    ("OsuInit", "2x1"): "/osu/startup/osu_init --one --two",
    ("OsuOneSidedBandwidth", "2x1"): (
        "/osu/one-sided/osu_put_bw -m 1:1024 -w create -s lock -i 8 -x 2 -W 16 --one --two"
    ),
    ("OsuXcclBandwidth", "1x2"): "/osu/../xccl/pt2pt/osu_xccl_bw -m 1:1024 -d cuda H D -i 8 -x 2 --one --two",
    ("ImbPointToPoint", "2x1"): "/imb/IMB-MPI1 PingPong -npmin 2 -msglog 0:10 -iter 8,3 --one --two",
    ("ImbOneSided", "2x1"): "/imb/IMB-RMA Unidir_put -npmin 2 -msglog 3:10 -iter 8,3 --one --two",
    ("ImbBarrier", "2x1"): "/imb/IMB-MPI1 Barrier -npmin 2 -msglog 0:22 -iter 8,3 --one --two",
    ("LammpsBench", "1x2"): "/lammps/lmp -in in.20-steps -log none --one --two",
    ("NpbKernel", "2x1"): "/npb/is.A.x --one --two",
    ("NcclCollective", "1x2"): (
        "/nccl/all_reduce_perf -b 1024 -e 1024 -f 2 -g 1 -c 1 -n 8 -w 2 "
        "--one --two"
    ),
    ("Streaming", "2x1"): (
        "streaming --min-size 0 --max-size 1024 --max-seconds-per-point 0.01 --directions both "
        "--queue-depth 0 --warmup 2 --window 16 --one --two"
    ),
    ("BufferReuse", "2x1"): (
        "buffer_reuse --min-size 1024 --max-size 1024 --max-seconds-per-point 0.01 --warmup 2 "
        "--iterations 8 --one --two"
    ),
    ("HotSpot", "2x1"): (
        "hot_spot --min-size 8 --max-size 512 --max-seconds-per-point 0.01 --warmup 2 --one --two"
    ),
    ("Overlap", "2x1"): (
        "overlap --min-size 0 --max-size 1024 --max-seconds-per-point 0.01 --warmup 2 --one --two"
    ),
    ("Rotate", "2x1"): (
        "rotate --pattern round-robin --confirm --both-ways --size 4096 --messages 5 --shifts 1 --one --two"
    ),
    ("LatencyMap", "2x1"): "latency_map --size 4096 --one --two",
}  # fmt: skip


@pytest.fixture(scope="module")
def checks(of_module):
    """Return the first case of each check and layout with all of GIVEN set, by name and layout."""
    of_module.setattr(loading, "SETTINGS", everything.SETTINGS)
    found = {}
    for case in loading.cases("rich", set_up=False, variables=GIVEN):
        key = type(case.check).__name__, getattr(case.check, "layout", "")
        if case.check.is_fixture() or (key in COMMANDS and key not in found):
            internals.set_up(case)
            found[key] = case.check
    return found


@pytest.mark.parametrize(
    "key, command", COMMANDS.items(), ids=lambda each: each[0] if each else ""
)
def test_the_command_line_has_what_is_set_and_the_program_takes(checks, key, command):
    words = " ".join([checks[key].executable, *checks[key].executable_opts])
    assert (
        re.sub(r"^\S*/ports --output ports -- ", "", words).removeprefix(
            f"{checks[key].fabric_programs.stagedir}/"
        )
        == command
    )


def test_sizes_iterations_and_steps_are_in_the_record(checks):
    bandwidth = checks["OsuBandwidth", "2x1"]
    assert bandwidth.facts.sizes_B == [2**power for power in range(11)]
    numbers = {"largest_B": 1024, "iterations": 8, "warmup": 2, "window": 16}
    assert bandwidth.facts.parameters == {
        "benchmark": "bw",
        "program_options": "--one,--two",
        **numbers,
    }
    assert bandwidth.display_name.endswith(
        "%layout=2x1 %program_options=--one,--two %largest_B=1024 %iterations=8 %warmup=2 %window=16"
    )
    assert "zero_byte_latency_streaming" not in checks["Streaming", "2x1"].facts.metrics
    lammps = checks["LammpsBench", "1x2"]
    assert "sed 's/^run\\b.*/run 20/' in.lj > in.20-steps" in lammps.prerun_cmds
    assert lammps.env_vars["OMP_NUM_THREADS"] == "2"


def test_the_bytes_that_have_to_be_on_the_ports_follow(checks):
    assert checks["OsuBandwidth", "2x1"].moved_B("") == (2**11 - 1) * (8 + 2) * 16


@pytest.fixture
def unset(tmp_path_factory, monkeypatch):
    """Return a function that sets up the first case of a check with other settings."""
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
    monkeypatch.setattr(loading, "SETTINGS", everything.SETTINGS)

    def of(name, **variables):
        cases = loading.cases(
            "rich", set_up=False, variables=variables, suite=SUITES[name]
        )
        for case in cases:
            if case.check.is_fixture():
                internals.set_up(case)
        case = next(case for case in cases if type(case.check).__name__ == name)
        internals.set_up(case)
        return case.check

    return of


SUITES = {
    "OsuBandwidth": "osu",
    "OsuCollective": "osu",
    "ImbPointToPoint": "imb",
    "ImbCollective": "imb",
}
SUITES |= {"StreamingQueue": "fabric", "BufferReuse": "fabric", "LatencyMap": "fabric"}


@pytest.mark.parametrize(
    "name, given, line",
    [
        ("OsuBandwidth", {"largest_B": "0"}, "largest_B is 0: give 1 or more"),
        (
            "OsuBandwidth",
            {"largest_B": "8", "smallest_B": "16"},
            "largest_B is 8: messages go from smallest_B=16",
        ),
        ("OsuBandwidth", {"iterations": "0"}, "iterations is 0: give 1 or more"),
        (
            "OsuCollective",
            {"largest_B": "1073741824"},
            "largest_B is 1073741824: OSU leaves out what is above 268435456",
        ),
        (
            "ImbPointToPoint",
            {"largest_B": "1000"},
            "largest_B is 1000: give a power of two, such as 1024",
        ),
        (
            "StreamingQueue",
            {"window": "18"},
            "window is 18: give a multiple of 4, half of the queue",
        ),
        ("BufferReuse", {"iterations": "6"}, "iterations is 6: give a multiple of 4"),
    ],
)
def test_a_value_that_the_program_cannot_take_fails_at_set_up(unset, name, given, line):
    with pytest.raises(ConfigError, match=f"^{name}: {re.escape(line)}"):
        unset(name, **given)


def test_with_other_settings_values_are_recorded_and_not_judged(
    unset, tmp_path, monkeypatch
):
    """A reference of a size that is not measured is no fault."""
    monkeypatch.setenv("RFM_REFERENCE_PREFIX", str(tmp_path))
    held = "{bandwidth_8B: [1, -0.5, null, MB/s], bandwidth_4194304B: [1, -0.5, null, MB/s]}"
    entry = f"OsuBandwidth:\n  $index: [$system]\n  rich: {held}\n"
    (tmp_path / "rich.yaml").write_text(f"no_reference: [{{why: others}}]\n{entry}")
    assert unset("OsuBandwidth").facts.metrics["bandwidth_8B"].no_reference is None
    check = unset("OsuBandwidth", largest_B="16")
    assert check._reference_error == ""
    assert all(
        "not -S largest_B=16" in each.no_reference
        for each in check.facts.metrics.values()
    )

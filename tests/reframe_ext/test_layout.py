# SPDX-License-Identifier: BSD-3-Clause
"""The limits of a case's job, the wait for another session's job on its host, and a system without
environments."""

from types import SimpleNamespace

import pytest

from fabric_checks.analysis.pair_matrix import MOST_PAIRS
from fabric_checks.core import locks
from fabric_checks.core.extras import Extras
from fabric_checks.core.layouts import MOST_OF_ALL_PAIRS
from fabric_checks.parsers import rotate_patterns
from fabric_checks.reframe_ext.mixins import LayoutMixin, layout
from tests.core.test_locks import Holder


def case(dry_run=False, **extras):
    return SimpleNamespace(
        extras=Extras(**extras),
        display_name="a check",
        is_dry_run=lambda: dry_run,
        max_pending_time=None,
        time_limit=600.0,
    )


@pytest.mark.parametrize(
    "extras, given, expected",
    [
        ({}, None, "1d"),
        ({"max_pending_time": "12h"}, None, "12h"),
        ({"max_pending_time": "12h"}, 15.0, 15.0),
    ],
)
def test_the_command_line_then_the_partition_bounds_the_time_in_the_queue(
    extras, given, expected
):
    check = case(**extras)
    check.max_pending_time = given
    LayoutMixin.bound_pending_time(check)
    assert check.max_pending_time == expected


@pytest.mark.parametrize(
    "extras, expected", [({}, 600.0), ({"launcher_bounds_time": True}, None)]
)
def test_a_launcher_that_bounds_the_time_replaces_the_jobs_limit(extras, expected):
    check = case(**extras)
    LayoutMixin.leave_time_to_the_launcher(check)
    assert check.time_limit == expected


def test_the_holder_of_the_host_is_named_and_the_lock_is_left_to_the_job(
    tmp_path, monkeypatch
):
    holder = Holder(tmp_path / "lock")
    texts = []

    def info(text):
        texts.append(text)
        holder.release()

    monkeypatch.setattr(
        "fabric_checks.reframe_ext.mixins.layout.getlogger",
        lambda: SimpleNamespace(info=info),
    )
    LayoutMixin.wait_for_host(case(host_lock=str(tmp_path / "lock")))
    (text,) = texts
    assert text.startswith(
        f"a check waits for another session's job on this host: process {holder.process.pid} of "
    )
    with locks.exclusive(tmp_path / "lock", 0):  # raises if it is still held
        pass


def test_the_wait_for_the_host_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HOST_WAIT_S", 0)
    with (
        locks.exclusive(tmp_path / "lock", 0),
        pytest.raises(locks.LockedError, match="lock: locked by process"),
    ):
        LayoutMixin.wait_for_host(case(host_lock=str(tmp_path / "lock")))


def test_a_case_goes_on_with_a_warning_without_a_folder_for_the_lock(
    tmp_path, monkeypatch
):
    warnings = []
    logger = SimpleNamespace(warning=lambda text, cache: warnings.append((text, cache)))
    monkeypatch.setattr(
        "fabric_checks.reframe_ext.mixins.layout.getlogger", lambda: logger
    )
    (tmp_path / "taken").symlink_to("/")
    LayoutMixin.wait_for_host(case(host_lock=str(tmp_path / "taken/lock")))
    ((text, is_once),) = warnings
    assert is_once
    assert text.startswith(f"{tmp_path}/taken belongs to ")
    assert text.endswith("values: have it removed")


def test_without_a_lock_or_in_a_dry_run_there_is_no_wait(tmp_path):
    with locks.exclusive(tmp_path / "lock", 0):
        LayoutMixin.wait_for_host(case())
        LayoutMixin.wait_for_host(case(dry_run=True, host_lock=str(tmp_path / "lock")))


# ------------------------------------------------------------- layouts of checks of all pairs

SHAPES = [
    {"nodes": nodes, "cores": cores, "nics": nics}
    for nodes in (1, 2, 30, 65, 117, 1000, 1025, 4850, 10_000, 16_000)
    for cores, nics in ((1, 1), (64, 1), (128, 8), (192, 4))
]


@pytest.fixture
def machine(monkeypatch):
    """Make the current system one partition; returned are the warnings."""
    warnings = []
    logger = SimpleNamespace(warning=lambda text, cache: warnings.append(text))
    monkeypatch.setattr(layout, "getlogger", lambda: logger)

    def make(extras):
        partition = SimpleNamespace(
            fullname="big:all", extras=extras, devices=[], processor=None
        )
        monkeypatch.setattr(layout, "partitions", lambda: [partition])
        return warnings

    return make


@pytest.mark.parametrize(
    "extras", SHAPES, ids=lambda extras: "x".join(map(str, extras.values()))
)
@pytest.mark.parametrize("ranks", ["node", "adapter"])
def test_no_machine_has_a_case_of_all_pairs_that_cannot_be_analysed(
    machine, extras, ranks
):
    warnings = machine(extras)
    found = layout.layouts_of("several", ranks=ranks, most=MOST_OF_ALL_PAIRS)
    between = [each for each in found if each.nodes > 1]
    # All nodes are measured, or the most that can be, and the others are named.
    largest = max((each.nodes for each in between), default=1)
    is_whole = extras["nodes"] <= MOST_OF_ALL_PAIRS
    assert largest == (extras["nodes"] if is_whole else 8192)
    assert ("16000x1" in str(warnings)) == (extras["nodes"] == 16_000)
    per_node = {each.ppn for each in between}
    assert per_node <= {1, extras["nics"] if ranks == "adapter" else 1}
    for each in found:
        assert each.tasks**2 <= MOST_PAIRS
        rails = each.ppn if each.nodes > 1 else 1
        ends = each.tasks // rails
        for pattern in rotate_patterns.PATTERNS:
            rounds = rotate_patterns.most_rounds(pattern, ends, rails)
            pairs = rotate_patterns.pairs_of_round(pattern, ends) * rails
            assert rounds == 1 or rounds * pairs <= rotate_patterns.MOST_ROWS
        assert rotate_patterns.nightly_rounds(ends, rails) >= min(ends / 2, 100)


class Repeated:
    """A case of two partitions with two MPIs in a session that repeats misses."""

    display_name, confirms_itself, dependencies = "A %layout=2x1", False, ()
    valid_systems, valid_prog_environs = ("s:p", "s:q"), ["+mpi"]
    current_partition, current_environ = (
        SimpleNamespace(fullname="s:p"),
        SimpleNamespace(name="e"),
    )

    def __init__(self, **changes):
        vars(self).update(changes)
        self.job = SimpleNamespace(pin_nodes=[])

    def user_deps(self):
        return self.dependencies

    def run_only_on(self, is_able):
        partitions = (SimpleNamespace(fullname=name) for name in self.valid_systems)
        self.valid_systems = [each.fullname for each in partitions if is_able(each)]


@pytest.mark.parametrize(("changes", "systems", "environs", "nodes"), [
    ({}, ["s:p"], ["e"], ["n1", "n2"]),
    ({"display_name": "B %layout=2x1"}, [], [], []),
    ({"confirms_itself": True}, [], [], ["n1", "n2"]),
    ({"dependencies": [("A %layout=1x1", None)]}, [], [], ["n1", "n2"]),
])  # fmt: skip
def test_a_session_that_repeats_misses_has_these_cases_on_their_nodes(
    monkeypatch, changes, systems, environs, nodes
):
    wanted = {"A %layout=2x1 @s:p+e": ["n1", "n2"]}
    monkeypatch.setattr(layout.repeats, "asked_for", lambda: wanted)
    check = Repeated(**changes)
    LayoutMixin.keep_to_repeats(check)
    assert check.valid_systems == systems
    assert check.valid_prog_environs == environs
    LayoutMixin.take_the_same_nodes(check)
    assert check.job.pin_nodes == nodes


def test_any_other_session_has_all_cases_wherever_there_is_room(monkeypatch):
    monkeypatch.setattr(layout.repeats, "asked_for", lambda: None)
    check = Repeated()
    LayoutMixin.keep_to_repeats(check)
    LayoutMixin.take_the_same_nodes(check)
    assert check.valid_systems == ("s:p", "s:q") and check.job.pin_nodes == []

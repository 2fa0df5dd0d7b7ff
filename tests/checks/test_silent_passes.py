# SPDX-License-Identifier: BSD-3-Clause
"""No check passes on an output that is broken: every check class, every kind of damage."""

import pytest

from fabric_checks.errors import OutputError
from tests import breakages, loading
from tests.conftest import GOLDEN

#: Our own programs: the golden output of a check, and the columns of its table that hold what is measured.
OWN = {
    "BufferReuse": (lambda _: "buffer_reuse/mpich-5.0.2.txt", [2, 7]),
    "CollectiveOverlap": (lambda _: "collective_overlap/mpich-5.0.2.txt", [1, 2]),
    "HotSpot": (lambda _: "hot_spot/mpich-5.0.2.txt", [2, 7]),
    "Notification": (lambda _: "notification/mpich-5.0.2.txt", [1, 6]),
    "Overlap": (lambda _: "overlap/mpich-5.0.2.txt", [1, 2]),
    "Rotate": (lambda check: f"rotate/mpich-5.0.2{ROTATE[check.pattern]}.txt", [3]),
    "Streaming": (lambda _: "streaming/mpich-5.0.2.txt", [1, 6, 11, 16]),
    "StreamingQueue": (lambda check: f"streaming/mpich-5.0.2.queue-{check.queue_depth}.txt", [1, 6, 11, 16]),
}
ROTATE = {"rotate": "", "shift": ".shift", "bisection": ".bisection"}


def healthy_output(check):
    """Return a golden output of the program that a check runs."""
    kind = type(check).__name__
    if kind.startswith("Osu"):
        return (GOLDEN / f"osu-py/4.1.2/osu_{check.benchmark}.txt").read_text()
    if kind.startswith("Imb"):
        return (GOLDEN / f"imb/2021.11/{check.benchmark}.txt").read_text()
    if kind == "LammpsBench":
        return (GOLDEN / f"lammps/22Jul2025/{check.problem}.{check.num_tasks}.txt").read_text()
    if kind in OWN:
        return (GOLDEN / OWN[kind][0](check)).read_text()
    raise AssertionError(f"no golden output for {kind}: add one, so that its silent passes are tested")


def value_columns(check):
    """Return the columns of its table that hold what a check measures."""
    kind = type(check).__name__
    if kind in OWN:
        return OWN[kind][1]
    if kind.startswith("Imb"):
        return {"Barrier": [1, 2, 3], "PingPong": [2, 3], "PingPing": [2, 3]}.get(check.benchmark, [2, 3, 4])
    return [1]


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
        patch.setenv("FABRIC_MPI", "mpich")
        found = [case.check for case in loading.cases("local") if not case.check.is_fixture()]
        for check in found:
            check.one_rank_loop_time_s = 1.0  # what the case it depends on would have measured
        # The other inputs on one process have no golden output; their form is that of lj.
        yield [c for c in found if type(c).__name__ != "LammpsBench" or c.num_tasks == 2 or c.problem == "lj"]


def test_healthy_outputs_give_every_declared_metric(checks):
    classes = set()
    for check in checks:
        values = check.measure(healthy_output(check))
        assert set(values) == {metric.name for metric in check.metrics()}, check.display_name
        assert all(isinstance(value, float | int) for value in values.values())
        classes.add(type(check).__name__)
    assert classes == {
        "OsuLatency",
        "OsuMultiLatency",
        "OsuBandwidth",
        "OsuCollective",
        "OsuBarrier",
        "ImbPointToPoint",
        "ImbParallel",
        "ImbCollective",
        "ImbBarrier",
        "LammpsBench",
        *OWN,
    }


def test_broken_outputs_are_refused(checks):
    tried = 0
    for check in checks:
        text = healthy_output(check)
        lammps = type(check).__name__ == "LammpsBench"
        broken = breakages.of_lammps(text) if lammps else breakages.of_table(text, value_columns(check))
        for name, output in broken.items():
            assert output != text, name
            with pytest.raises(OutputError) as caught:
                check.measure(output)
                pytest.fail(f"{check.display_name} passed with {name}")
            assert "\n" not in str(caught.value)
            tried += 1
    assert tried > 300


def test_the_output_of_another_program_is_refused(checks):
    texts = {type(check).__name__: healthy_output(check) for check in checks}
    for check in checks:
        own = type(check).__name__
        for kind, text in texts.items():
            if kind != own:
                with pytest.raises(OutputError):
                    check.measure(text)
                    pytest.fail(f"{check.display_name} passed on the output of {kind}")


def test_lammps_with_wrong_physics_is_refused(checks):
    for check in checks:
        if type(check).__name__ == "LammpsBench" and check.problem == "lj":
            text = healthy_output(check).replace("0.7574531 ", "0.7575531 ")
            with pytest.raises(OutputError, match="wrong physics: Temp"):
                check.measure(text)

# SPDX-License-Identifier: BSD-3-Clause
"""Whole sessions of ReFrame on programs that the stand-in for Spack "builds": the launcher, MPI and probe are
real."""

import shutil

import pytest

from tests import programs
from tests.conftest import GOLDEN, ROOT
from tests.guard import ENDLESS_S, GUARD_S, wait_for
from tests.homes import linked
from tests.sessions import Run
from tests.software.spack.tape import Tape, fail_to_compile


def begun(tape, *arguments, results="results", mpi="mpich", suites=("osu",)):
    """Begin a session on the stack that Spack builds."""
    of_stack = {
        "FABRIC_MPI": mpi,
        "FABRIC_STACK": "spack",
        "GOLDEN": str(GOLDEN / "osu/7.2"),
    }
    return Run(
        tape.folder / results, *arguments, settings=ROOT / "config/settings.py", suites=suites,
        env=tape.variables, **of_stack,
    )  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One home for all sessions: the collection's own programs are built once."""
    return linked(tmp_path_factory.mktemp("home"), "spack")


@pytest.fixture
def tape(home, tmp_path):
    shutil.rmtree(home / "spack", ignore_errors=True)  # of other tests
    found = Tape(tmp_path, home)
    found.succeed()
    return found


def test_one_build_serves_all_checks_and_its_spec_is_recorded(tape):
    done = begun(tape, "-n", "^OsuLatency|^OsuMultiLatency|^OsuCongestion").wait()
    assert (done.status, done.gate) == (0, 0), done.output + done.shown
    assert {record["check"] for record in done.session.records} == {
        "OsuLatency",
        "OsuMultiLatency",
    }
    for record in done.session.records:
        assert record["environ"] == "mpich-spack" and record["stack"] == "spack"
        assert record["spec"].startswith("osu-micro-benchmarks@7.3")
        assert "^mpich@5.0.2" in record["spec"]
        assert len(record["spec_hash"]) == 32 and record["spack"].startswith("1.1.0")
    assert tape.calls.count("install") == tape.calls.count("concretize") == 1
    assert "osu_7_4 (mpich-spack): OSU 7.3 is older than 7.4" in done.shown


def test_an_mpi_that_was_exchanged_in_place_fails_the_checks(tape):
    """The external is 5.0.2.1, which meets the required 5.0.2; the library below its prefix is 5.0.2."""
    lock = (tape.played / "concretize.lock").read_text()
    tape.write(
        "concretize.lock", lock.replace('"version":"5.0.2"', '"version":"5.0.2.1"')
    )
    done = begun(tape, "-n", "^OsuLatency").wait()
    case = next(
        case for case in done.session.cases if case.name.startswith("OsuLatency")
    )
    assert case.result == "fail" and done.gate == 3
    assert (
        "built for mpich@5.0.2.1, but the library at run time is 'MPICH Version:      5.0.2'"
        in case.reason
    )


def test_a_failed_build_is_reported_and_nothing_is_measured(tape):
    fail_to_compile(tape)
    done = begun(tape, "-n", "^OsuLatency").wait()
    assert done.status != 0 and done.gate == 3
    (build,) = [
        case
        for case in done.session.cases
        if case.name.startswith("OsuMicroBenchmarks")
    ]
    assert build.result == "fail" and build.fixture
    for words in (
        "ended with exit status 1",
        "error:",
        "spack-build-out.txt",
        "When Spack fails",
    ):
        assert words in build.reason, build.reason
        assert words in " ".join(done.shown.split()) or words in done.shown, done.shown
    assert not done.session.records
    assert "Traceback" not in done.output + done.shown


def test_nothing_is_measured_during_a_build(tape):
    """While the package "builds", no program of the collection runs on this host, though its checks are
    ready."""
    script = (tape.played / "install.sh").read_text()
    watch = f"""for second in 1 2 3 4 5 6; do
    pgrep -f '{tape.folder}/results/.*/(hot_spot|placement)' >> {tape.folder}/disturbed || true
    sleep 0.5
done
touch {tape.folder}/watched
"""
    tape.write("install.sh", script + watch)
    done = begun(tape, "-n", "^OsuLatency|^HotSpot", suites=("osu", "fabric")).wait()
    assert done.status == 0, done.output
    assert (tape.folder / "watched").exists() and (
        tape.folder / "disturbed"
    ).read_text() == ""
    assert {record["check"] for record in done.session.records} == {
        "OsuLatency",
        "HotSpot",
    }


def test_two_sessions_at_once_on_one_install_tree(tape):
    both = [
        begun(tape, "-n", "^OsuLatency", results=f"results{number}")
        for number in (1, 2)
    ]
    for run in both:
        done = run.wait()
        assert (done.status, done.gate) == (0, 0), done.output
        assert done.session.records
    assert (
        tape.calls.count("install") == 2
    )  # one after the other, by the lock of the host


def test_a_session_killed_during_a_build_blocks_no_other(tape):
    good = (tape.played / "install.sh").read_text()
    tape.write("install.sh", f"touch {tape.folder}/started\nsleep {ENDLESS_S}\n")
    first = begun(tape, "-n", "^OsuLatency")
    wait_for(
        lambda: (tape.folder / "started").exists() or first.process.poll() is not None,
        "no build has begun",
    )
    assert first.process.poll() is None
    first.process.send_signal(2)
    first.process.communicate(timeout=GUARD_S)
    assert first.process.returncode != 0
    left = programs.run(["pgrep", "-f", f"{tape.folder}|{tape.home}"]).stdout
    assert left == "", left
    tape.write("install.sh", good)
    done = begun(tape, "-n", "^OsuLatency", results="again").wait()
    assert (done.status, done.gate) == (0, 0), done.output

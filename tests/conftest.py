# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share: golden outputs, and a ReFrame runtime of a machine of known size."""

import importlib
import itertools
import os
import signal
import sys
import uuid
from pathlib import Path

import pytest

from tests import quick
from tests.long import is_long

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
#: The command of this clone. What tests start takes this clone's library too, whatever the shell has sourced.
FABRIC_CHECKS = ROOT / "ci/bin/fabric-checks"
os.environ["PATH"] = f"{FABRIC_CHECKS.parent}:{os.environ['PATH']}"
# The library of this clone, and `ci` and `tests` for what scripts of tests import.
os.environ["PYTHONPATH"] = f"{ROOT}/src:{ROOT}"
# Matrices are small, and there is a worker a core: OpenBLAS's threads would take three times the processor
# time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A module is compiled once, and not by each of hundreds of programs that are started, whatever the shell
# says.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
GOLDEN = TESTS / "golden"


#: In the names of the clusters that this run starts, in whichever of its processes.
RUN = os.environ.setdefault("FABRIC_TEST_RUN", uuid.uuid4().hex[:6])


def pytest_unconfigure(config):
    """Take down the clusters of this run that are still up: an interrupt ends workers before they can."""
    if hasattr(config, "workerinput") or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    # Loaded here by name: a module that imports what starts programs is not quick (tests/quick.py).
    state = importlib.import_module("ci.minicluster.state")
    for entry in state.entries():
        if entry.spec.name.startswith(f"test-{RUN}-"):
            command = str(ROOT / "ci/cluster")
            os.spawnv(os.P_WAIT, command, [command, "down", "--name", entry.spec.name])


def pytest_configure():
    """Take signals as programs of a terminal do: what a script starts in the background inherits them
    ignored."""
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_addoption(parser):
    parser.addoption(
        "--quick",
        action="store_true",
        help="only the tests that start no program (tests/quick.py)",
    )


def pytest_ignore_collect(collection_path, config):
    """Leave out the modules that are not quick, if that is asked for; otherwise have no opinion."""
    left_out = (
        config.getoption("--quick")
        and collection_path.match("test_*.py")
        and not quick.is_quick(collection_path.resolve())
    )
    return True if left_out else None


def pytest_collection_modifyitems(config, items):
    """Leave out what is not quick of modules that were named, which pytest always collects; order the
    tests."""
    if config.getoption("--quick"):
        config.hook.pytest_deselected(
            items=[item for item in items if not quick.is_quick(item.path)]
        )
        items[:] = [item for item in items if quick.is_quick(item.path)]
    for item in items:
        if is_long(item.path):
            item.add_marker("long")
    if os.environ.get("PYTEST_XDIST_WORKER"):
        from tests import parallel

        items[:] = parallel.arrange(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Deal the tests out."""
    from tests import parallel

    return parallel.Scheduling(config, log)


@pytest.fixture(scope="session")
def golden():
    """Return a function that reads a golden output."""
    return lambda name: (GOLDEN / name).read_text()


GUARD = quick.Guard()


@pytest.fixture(autouse=True)
def quick_tests_start_no_programs(request):
    """Let no test of a quick module start a program."""
    GUARD.refuses = quick.is_quick(request.path)
    yield
    GUARD.refuses = False


NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Keep what tests write apart from the results of real runs."""
    # By numbers of its own: for the next free one pytest would look through the folders of all tests before.
    results = tmp_path_factory.getbasetemp() / "results" / str(next(NUMBERS))
    results.mkdir(parents=True)
    monkeypatch.setenv("FABRIC_RESULTS", str(results))
    monkeypatch.delenv("FABRIC_SESSION", raising=False)
    monkeypatch.delenv("FABRIC_MPI", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    os.environ.pop("RFM_CONFIG_FILES", None)


@pytest.fixture(scope="module")
def of_module(tmp_path_factory):
    """A monkeypatch for the fixtures of a module, which have a folder of results of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABRIC_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield patch


TABLE = "table"


@pytest.fixture
def report_table(request):
    """Return a function that keeps a title and lines, which the test run prints at its end."""

    def keep(title, lines):
        # A property of the test comes back from whichever process ran it.
        request.node.user_properties.append((TABLE, [title, *lines]))

    return keep


def pytest_terminal_summary(terminalreporter):
    """Print what tests measured, passed or not."""
    reports = (
        report for reports in terminalreporter.stats.values() for report in reports
    )
    for report in reports:
        for name, value in (
            report.user_properties if getattr(report, "when", "") == "teardown" else ()
        ):
            if name == TABLE:
                title, *lines = value
                terminalreporter.section(title)
                for line in lines:
                    terminalreporter.write_line(line)

# SPDX-License-Identifier: BSD-3-Clause
"""Every command of README and docs: run in the order of the pages, in a clean clone with an empty home, or
why not.

A command is a line of an indented block that begins with a program, with the lines that continue it. It has
to end with exit status 0; what judges values of this machine (--fail-on, changes, a night) with 0 or 3, as
its page says.
"""

import datetime
import os
import re
import shlex
import subprocess
import sys

import click
import pytest

from fabric_checks.core.paths import ROOT
from tests import homes, programs
from tests.cli.test_help import ALL

#: The pages in the order in which they are followed: each finds what those before it have left.
PAGES = (
    "README.md",
    "docs/acceptance.md",
    "docs/adding-a-system.md",
    "docs/operators.md",
    "docs/buyers.md",
    "docs/checks.md",
    "docs/what-if.md",
    "docs/rotate-story.md",
    "docs/applications.md",
    "docs/replay.md",
    "docs/vet.md",
    "docs/software.md",
    "docs/schedulers.md",
    "docs/adding-a-benchmark.md",
    "CONTRIBUTING.md",
    "perflogs-templates/README.md",
    "docs/own-settings.md",
    "docs/blame.md",
    "docs/wall.md",
    "docs/clauses.md",
    "docs/fulfilling.md",
    "docs/your-fabric.md",
    "docs/costs.md",
)
PROGRAM = re.compile(
    r"    (?=(?:\. ci/|ci/|fabric-checks |reframe |git |tar |cp |for |python |[A-Z_]+=))"
)
#: The commands that are not run here, and why; the first that is found in a command holds.
NOT_RUN = {
    "git clone": "the clone is of what is here, with changes that are not committed",
    "tar xf request": "a vendor's part: tests/offers",
    r"oak\.(tar|py)|offers pack|cp docs/offers|--key|-mode procurement": "two vendors: tests/offers",
    "ci/test": "these are the tests",
    r"CLONE/|doctor -C": "settings or a ReFrame of one's own: test_own_reframe.py, cli/test_doctor.py",
    "RingTest": "test_adding_a_benchmark.py follows that page",
    "--stack modules": "modules of a site: software/test_modules_stack.py",
    "--stack spack|spack build|ci/mirror|--mirror": "Spack and its sources, from the network: software/spack",
    "twins( |$)|=twins|[= ]cbc( |$)|system=cbc|large-cluster|rotate-story": (
        "SimGrid or minutes of computing: twins"
    ),
    "minicluster|ci/cluster|ci/releases|FABRIC_RESULTS=rails|compare rails|N=": "a cluster, as root: cluster",
    "--reservation|--mode vet|--one-job": "Slurm: cluster/test_vet.py, schedulers",
    "findings acknowledge": "a finding of that site: cli/test_findings.py",
    "--on-finding|FABRIC_METRICS|prometheus-rules": "a site of that kind: perflogs_templates/test_wall.py",
    "PpnRatio|PpnSeries|ppn-ratio": "two nodes: checks/test_comparisons.py",
    r"mpirun|--read lj|lj4|replay app|lmp|--profile": "LAMMPS on four cores: profile, twins/test_replay.py",
    "offers accept|--mode acceptance --system oak": "a contract and its machine: offers/acceptance",
    "fabric-checks blame": "matrices of a site: cli/test_blame.py",
    "doctor --topology": "files of a fabric: cli/test_doctor.py",
    "flux-core|openpbs|VICTORIAMETRICS|go install": "software from the network, as root",
}
#: The days around the one on which the tests are loaded: the results of a page may be of the next one.
YESTERDAY, TOMORROW = (
    f"{datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days):%Y-%m-%d}"
    for days in (-1, 1)
)
#: What takes the place of a name or a folder of a page.
PLACES = (
    (r"\b(NAME|yours)\b", "site"),
    (r"(?<=\.\.)2026-11-\d\d", TOMORROW),
    (r"(?<!\.\.)2026-11-\d\d", YESTERDAY),
    (r"/data/base|/data/ours|/media/disk/perflogs", ".fabric/results"),
)
#: What is added to a command that would ask, or run for long: the first that is found in it.
ADDED = {
    # It overwrites nothing, so a later page has another system; the commands of a scheduler, where they are
    # installed, need not have one that answers.
    "^fabric-checks init$": (
        "--yes --this-host --name site$([ ! -e config/systems/site.py ] || echo -$RANDOM)"
    ),
    r"^ci/run.*(--dry-run|--cost|--help|-n OsuBandwidth$)|^ci/run -l": "",
    "^ci/run$|^ci/run.*--mode (smoke|acceptance)": "-n '^OsuLatency%layout=1x2$'",
    r"^ci/run": "--dry-run",
    r"^ci/nightly": "-- -n '^OsuLatency%layout=1x2$'",
}


def commands(page):
    """Return the commands of a page, without the comments behind them."""
    found = []
    for line in (ROOT / page).read_text().splitlines():
        if found and found[-1].endswith("\\") and line.startswith("     "):
            found[-1] = found[-1][:-1] + line.strip()
        elif PROGRAM.match(line):
            found.append(re.split(r"\s+# ", line)[0].strip())
    return found


def why_not(command):
    """Return why a command is not run here, or nothing."""
    return next(
        (why for pattern, why in NOT_RUN.items() if re.search(pattern, command)), None
    )


def here(command):
    """Return a command as it is run here."""
    for pattern, place in PLACES:
        command = re.sub(pattern, place, command)
    added = next(
        (more for pattern, more in ADDED.items() if re.search(pattern, command)), ""
    )
    return f"{command} {added}".strip()


def test_every_page_is_followed_and_every_exception_is_of_some_command():
    pages = {
        str(path.relative_to(ROOT))
        for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    }
    assert {page for page in pages if page != "CHANGELOG.md" and commands(page)} <= set(
        PAGES
    )
    every = [command for page in PAGES for command in commands(page)]
    assert [
        pattern
        for pattern in NOT_RUN
        if not any(re.search(pattern, each) for each in every)
    ] == []
    assert sum(why_not(each) is None for each in every) > 30


@pytest.mark.parametrize("page", PAGES)
def test_the_options_of_every_command_exist(page):
    for command in commands(page):
        for part in re.findall(r"(?:^|; |do )fabric-checks ([^;|>]*)", command):
            words = shlex.split(part)
            if words == ["findings"]:
                continue  # without a verb it lists them
            names = next(
                (names for names in ALL if tuple(words[: len(names)]) == names), None
            )
            assert names, f"{page}: {part}: there is no such verb"
            try:
                ALL[names].make_context(names[-1], words[len(names) :])
            except click.ClickException as error:
                pytest.fail(f"{page}: {part}: {error.format_message()}")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Return a clean clone, with the tests' own programs in place of downloads; beside it an empty home."""
    folder = tmp_path_factory.mktemp("walk")
    (folder / "home").mkdir()
    homes.linked(folder / "clone.fabric")
    clone = homes.checkout(folder / "clone")
    (folder / "clone.fabric").rename(clone / ".fabric")
    return clone


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_in_their_order(clone, page):
    """A shell for each command: it has sourced what the page has sourced before."""
    env = {
        name: os.environ[name]
        for name in os.environ
        if not name.startswith(("FABRIC_", "RFM_", "PYTHONPATH"))
    }
    env |= {
        "HOME": str(clone.parent / "home"),
        "FABRIC_PYTHON": getattr(sys, "_base_executable", sys.executable),
    }
    for command in commands(page):
        if why := why_not(command):
            print(f"not run: {command}: {why}")
            continue
        line = here(command)
        if re.match("fabric-checks|reframe", line):
            line = f". ci/env.sh > /dev/null && {line}"
        done = programs.run(
            ["bash", "-c", line], cwd=clone, env=env, stdin=subprocess.DEVNULL
        )
        print(f"$ {line}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        judges = re.search("--fail-on|ci/nightly|changes", command)
        expected = (0, 3) if judges else (0,)
        assert done.returncode in expected, (
            f"{page}: {command}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        assert "Traceback" not in done.stderr

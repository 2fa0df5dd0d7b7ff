# SPDX-License-Identifier: BSD-3-Clause
"""docs/purchase.md: every command is run in its order, and prints every line that the page shows of it."""

import json
import re
import subprocess
import tarfile

import pytest

from fabric_checks.core.paths import ROOT
from tests.calling import invoke

PAGE = ROOT / "docs" / "purchase.md"
#: These are done by the test itself.
BY_HAND = (". ci/env.sh", "mkdir /tmp/purchase")


def steps():
    """Return the commands of the page, each with the lines that it prints."""
    found = []
    for line in PAGE.read_text().splitlines():
        if line.startswith("    $ "):
            found.append((line.removeprefix("    $ "), []))
        elif line.startswith("    "):
            found[-1][1].append(line.strip())
    return [step for step in found if not step[0].startswith(BY_HAND)]


def pattern(line):
    """Return what a line is in single blanks; `...` stands for anything."""
    parts = [re.escape(" ".join(part.split())) for part in line.split("...")]
    return ".*".join(parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("purchase")
    with tarfile.open(ROOT / "tests/golden/sessions/offers.tar.xz") as archive:
        archive.extractall(path)
    return path


def test_the_purchase_is_as_the_page_tells(folder):
    done = steps()
    assert len(done) == 8
    for command, lines in done:
        line = command.replace("CLONE", str(ROOT))
        line = re.sub("^fabric-checks", f"{ROOT}/ci/bin/fabric-checks", line)
        run = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        expected = 3 if "offers check" in command else 0
        assert run.returncode == expected, (command, run.stderr)
        printed = "\n".join(" ".join(each.split()) for each in run.stdout.splitlines())
        for text in lines:
            assert re.search(pattern(text), printed), (command, text, printed[:2000])


def test_the_runs_of_an_offer_are_listed(folder):
    done = invoke("show", str(folder / "oak.tar"), "--list", "--json")
    (run,) = json.loads(done.stdout)
    assert (done.exit_code, run["cases"], run["passed"]) == (0, 7, 7), done.output

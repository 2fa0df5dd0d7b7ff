# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks report``."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from fabric_checks.cli.commands import load
from fabric_checks.nightly import journal
from tests.nightly.samples import finding, night
from tests.report import records


@pytest.fixture
def perflogs(tmp_path):
    folder = tmp_path / "perflogs" / "oak" / "compute"
    folder.mkdir(parents=True)
    (folder / "Streaming.jsonl").write_text(records.lines(records.streaming()))
    return tmp_path / "perflogs"


def run(*arguments):
    command = [sys.executable, "-m", "fabric_checks", "report", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_report_is_written(perflogs, tmp_path):
    told = run(perflogs, "-o", tmp_path / "new" / "a.html", "--title", "<Two> offers", "--json")
    assert (told.returncode, told.stderr) == (0, "")
    assert json.loads(told.stdout)["machines"] == ["oak"]
    page = (tmp_path / "new" / "a.html").read_text()
    assert "<title>&lt;Two&gt; offers</title>" in page
    assert 'id="streaming-and-ping-pong-0"' in page


def test_bad_records_are_told_and_the_rest_is_reported(perflogs, tmp_path):
    with (perflogs / "oak" / "compute" / "Streaming.jsonl").open("a") as out:
        out.write('{"half\n')
    told = run(perflogs, "-o", tmp_path / "a.html")
    assert told.returncode == 1
    assert "warning: " in told.stderr
    assert "Streaming.jsonl:" in told.stderr
    page = (tmp_path / "a.html").read_text()
    assert "Streaming.jsonl:" in page
    assert "1,4" not in told.stderr


def test_findings_of_nights_that_are_open_are_among_them(perflogs, tmp_path):
    """Of the systems that the source has, and if it reaches until now."""
    for system in ("oak", "elm"):
        path = perflogs.parent / "nightly" / system / "nights.jsonl"
        path.parent.mkdir(parents=True)
        journal.end(path, night(1, finding(f"hosts:{system}", title=f"node {system}1 is <slow>")))
    pages = []
    for what in ("", ",system=oak", "@..2999-01-01"):
        done = CliRunner().invoke(load("report"), [f"{perflogs.parent}{what}", "-o", str(tmp_path / "a.html")])
        assert done.exit_code == 0, done.output
        pages.append((tmp_path / "a.html").read_text())
    assert [(" node oak1 is &lt;slow&gt;" in page, " node elm1 is" in page) for page in pages] == [
        (True, True),
        (True, False),
        (False, False),
    ]


def test_results_that_are_not_there_are_one_line(tmp_path):
    told = run(tmp_path / "nothing", "-o", tmp_path / "a.html")
    assert told.returncode == 1
    assert len(told.stderr.splitlines()) == 1
    assert "Traceback" not in told.stderr

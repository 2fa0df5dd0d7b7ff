# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks report``."""

import pytest
from click.testing import CliRunner

from fabric_checks.cli.commands import load
from fabric_checks.nightly import journal
from tests import builders
from tests.nightly.samples import finding, night
from tests.report import records


@pytest.fixture
def perflogs(tmp_path):
    folder = tmp_path / "perflogs" / "oak" / "compute"
    folder.mkdir(parents=True)
    (folder / "Streaming.jsonl").write_text(records.lines(records.streaming()))
    return tmp_path / "perflogs"


def run(*arguments):
    return CliRunner().invoke(load("report"), list(map(str, arguments)))


def test_a_report_is_written(perflogs, tmp_path):
    done = run(perflogs, "-o", tmp_path / "a.html", "--title", "<Two> offers")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{tmp_path}/a.html: 1 machine, ")
    page = (tmp_path / "a.html").read_text()
    assert (
        "<title>&lt;Two&gt; offers</title>" in page
        and 'id="streaming-and-ping-pong-0"' in page
    )


def test_the_report_on_an_interrupted_run_says_so(tmp_path):
    rows = [builders.record(session=builders.SESSION)]
    builders.write_session(
        tmp_path, [builders.case(), builders.case("B", "abort")], records=rows
    )
    assert run(tmp_path, "-o", tmp_path / "a.html").exit_code == 0
    page = (tmp_path / "a.html").read_text()
    assert (
        "<strong>Incomplete</strong> the run was interrupted: 1 of 2 cases ran;" in page
    )


def test_bad_records_are_named_and_the_rest_is_reported(perflogs, tmp_path):
    with (perflogs / "oak" / "compute" / "Streaming.jsonl").open("a") as out:
        out.write('{"half\n')
    done = run(perflogs, "-o", tmp_path / "a.html")
    assert (
        done.exit_code == 1
        and "warning: " in done.stderr
        and "Streaming.jsonl:" in done.stderr
    )
    assert "Streaming.jsonl:" in (tmp_path / "a.html").read_text()


def test_findings_of_nights_that_are_open_are_among_them(perflogs, tmp_path):
    """Of the systems that the source has, and if it reaches until now."""
    for system in ("oak", "elm"):
        path = perflogs.parent / "nightly" / system / "nights.jsonl"
        path.parent.mkdir(parents=True)
        journal.append(
            path,
            night(1, finding(f"hosts:{system}", title=f"node {system}1 is <slow>")),
        )
    pages = []
    for what in ("", ",system=oak", "@..2999-01-01"):
        done = run(f"{perflogs.parent}{what}", "-o", tmp_path / "a.html")
        assert done.exit_code == 0, done.output
        pages.append((tmp_path / "a.html").read_text())
    assert [
        (" node oak1 is &lt;slow&gt;" in page, " node elm1 is" in page)
        for page in pages
    ] == [
        (True, True),
        (True, False),
        (False, False),
    ]

# SPDX-License-Identifier: BSD-3-Clause
"""The README is short and shows real output, totals agree, and every link has a target."""

import re

import pytest

from tests.conftest import ROOT, TESTS

PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        page
        for folder in ("docs", "lab")
        for page in sorted((ROOT / folder).glob("*.md"))
    ),
)


def test_a_stranger_runs_it_its_tests_and_a_system_of_their_own_first():
    lines = (ROOT / "README.md").read_text().splitlines()
    for command in (
        "    ci/run",
        "    ci/test",
        "    fabric-checks init",
        "    reframe -c checks",
    ):
        assert any(line.startswith(command) for line in lines[:60]), command


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))],
    ids=lambda page: page.name,
)
def test_a_page_for_users_has_at_most_150_lines(page):
    assert len(page.read_text().splitlines()) <= 150


def test_the_sums_of_the_page_are_those_of_the_tables():
    sums, title = {}, ""
    for line in (ROOT / "lab/detection.md").read_text().splitlines():
        title = line if line.startswith("## ") else title
        row = re.match(
            r"\| (\w[^|]*?) \| 20 % \| \d+ \| \d* \| (\d+) of (\d+) \|", line
        )
        if row and "routes known" in title:
            named, runs = sums.get(row[1], (0, 0))
            sums[row[1]] = named + int(row[2]), runs + int(row[3])
    page = re.findall(
        r"^\| ([a-z ]+) \| ([\d,]+) of ([\d,]+) \|",
        (ROOT / "docs/detection.md").read_text(),
        re.MULTILINE,
    )
    assert len(page) == 7
    for fault, named, runs in page:
        assert sums[fault] == (
            int(named.replace(",", "")),
            int(runs.replace(",", "")),
        ), fault
    readme = " ".join((ROOT / "README.md").read_text().split())
    named, runs = (
        sum(sums[fault][at] for fault in ("host", "host sends", "host receives"))
        for at in (0, 1)
    )
    assert f"the slow host was named in [{named} of {runs} runs]" in readme
    assert (
        "of those that a night scans (all in four nights), in {} of {};".format(
            *sums["pair"]
        )
        in readme
    )


def test_totals_are_those_of_the_page():
    """The page on trust and the README have the counts of the page of the trials."""
    counted, page = (
        (ROOT / folder / "detection.md").read_text().split("## In total\n")[1]
        for folder in ("lab", "docs")
    )
    assert counted.strip().splitlines()[0] == page.strip().splitlines()[0]
    healthy, blamed = re.search(
        r"([\d,]+) healthy runs: (\d+) blamed", counted
    ).groups()
    trust = " ".join((ROOT / "docs/trust.md").read_text().split())
    assert f"of {healthy} healthy runs there {blamed} blamed somebody" in trust
    assert f"{blamed} of {healthy} healthy runs gave a false alarm" in " ".join(
        (ROOT / "README.md").read_text().split()
    )


def test_the_screen_of_the_readme_is_one_that_was_printed():
    """Of the same run; the recorded one has fewer points of each curve, so that its numbers and curves are
    others."""

    def without_numbers(text):
        return re.sub(
            r"[ \t]+", " ", re.sub(r"[▁-█]+", "~", re.sub(r"\d[\d.]*", "0", text))
        )

    printed = (TESTS / "report/terminal/screens/one_machine.txt").read_text()
    lines = [f"    {line}".rstrip() for line in printed.rstrip().splitlines()]
    assert without_numbers("\n".join(lines)) in without_numbers(
        (ROOT / "README.md").read_text()
    )


def test_the_readme_names_every_page():
    linked = re.findall(r"\]\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text())
    assert {page.name for page in ROOT.glob("docs/*.md")} == set(linked)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_link_points_nowhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        assert re.match(r"https?://", target) or (page.parent / target).exists(), target

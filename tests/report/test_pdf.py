# SPDX-License-Identifier: BSD-3-Clause
"""Printing by a browser: which one, and what is said when there is none or it fails."""

import pytest

from fabric_checks.report.html import pdf


def program(folder, name, script):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_first_browser_on_the_path(tmp_path):
    for name in ("google-chrome", "chromium", "msedge"):
        program(tmp_path, name, "true")
    assert pdf.browser({"PATH": str(tmp_path)}) == str(tmp_path / "chromium")


def test_the_browser_that_is_asked_for(tmp_path):
    program(tmp_path, "chromium", "true")
    mine = program(tmp_path, "mine", "true")
    assert pdf.browser({"PATH": str(tmp_path), "FABRIC_BROWSER": str(mine)}) == str(mine)


@pytest.mark.parametrize("variables", [{"PATH": "/nowhere"}, {"PATH": "/nowhere", "FABRIC_BROWSER": "netscape"}])
def test_without_a_browser_one_line_says_so(variables):
    with pytest.raises(pdf.PdfError, match="FABRIC_BROWSER") as error:
        pdf.browser(variables)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo one >&2; echo the last words >&2; exit 3", "status 3.*the last words"),
        ("exit 0", "status 0"),
        ("sleep 60", "did not print within"),
    ],
)
def test_a_browser_that_fails_is_told(tmp_path, monkeypatch, script, message):
    monkeypatch.setenv(
        "FABRIC_BROWSER", str(program(tmp_path, "browser", f"exec 2>&1; {script}" if "sleep" in script else script))
    )
    page = tmp_path / "page.html"
    page.write_text("<p>")
    with pytest.raises(pdf.PdfError, match=message) as error:
        pdf.print_page(page, tmp_path / "page.pdf", time_limit_s=1)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "page.pdf").exists()


def test_the_browser_is_told_where_to_print(tmp_path, monkeypatch):
    told = tmp_path / "told"
    script = (
        f"""for a in "$@"; do echo "$a" >> {told}; case "$a" in --print-to-pdf=*) echo pdf > "${{a#*=}}";; esac; done"""
    )
    monkeypatch.setenv("FABRIC_BROWSER", str(program(tmp_path, "browser", script)))
    page = tmp_path / "a page.html"
    page.write_text("<p>")
    pdf.print_page(page, tmp_path / "new" / "page.pdf")
    assert (tmp_path / "new" / "page.pdf").read_text() == "pdf\n"
    arguments = told.read_text().splitlines()
    assert "--headless" in arguments
    assert arguments[-1] == page.as_uri()

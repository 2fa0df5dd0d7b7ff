# SPDX-License-Identifier: BSD-3-Clause
"""Print a page to PDF with an installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.core.files import replacing

#: Browsers of one family, which all take the options below.
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
#: No window, no first-run pages, no traffic of the browser's own.
QUIET = (
    *("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-quic"),
)


class PdfError(FabricError):
    """The page could not be printed."""


def browser(variables: Mapping[str, str] = os.environ) -> str:
    """Return the browser: FABRIC_BROWSER, or the first of :data:`BROWSERS` on the PATH.

    :raises PdfError: if there is none.
    """
    wanted = variables.get("FABRIC_BROWSER")
    for name in (wanted,) if wanted else BROWSERS:
        found = shutil.which(name, path=variables.get("PATH"))
        if found:
            return found
    if wanted:
        raise PdfError(
            f"FABRIC_BROWSER is {wanted!r}, but there is no such program; give the path of Chromium, Chrome or Edge"
        )
    raise PdfError("--pdf: neither Chromium, Chrome nor Edge is on the PATH; install one, or name it in FABRIC_BROWSER")


def print_page(page: Path, pdf: Path, time_limit_s: float = 300) -> None:
    """Print an HTML file to a PDF file.

    :raises PdfError: if there is no browser, or it does not print.
    :raises OSError: if the file cannot be written.
    """
    program = browser()
    with tempfile.TemporaryDirectory(prefix="fabric-browser-") as folder:
        # The browser's sandbox does not work as root.
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        made = Path(folder) / "page.pdf"
        command = [
            *(program, *QUIET, *root, f"--user-data-dir={folder}/profile", "--no-pdf-header-footer"),
            *(f"--print-to-pdf={made}", page.resolve().as_uri()),
        ]
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=time_limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise PdfError(f"{pdf}: {program} did not print within {time_limit_s:g} s; print {page} by hand") from None
        if run.returncode or not made.exists():
            last = (run.stderr.strip().splitlines() or ["it printed nothing"])[-1]
            raise PdfError(f"{pdf}: {program} ended with status {run.returncode}: {last[:200]!r}; print {page} by hand")
        with replacing(pdf) as place:
            shutil.copyfile(made, place)

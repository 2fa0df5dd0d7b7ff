# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks doctor``: which checks a configuration of ReFrame has cases of, which not, and why."""

from __future__ import annotations

import os
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError

from fabric_checks.cli.verb import FAILED, json_option, option, verb
from fabric_checks.core import console
from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import count_text, one_line
from fabric_checks.reframe_ext.own_settings import examined

_EPILOG = """
\b
Examples:
  fabric-checks doctor                                the system that matches this host
  fabric-checks doctor -C site.py --system ada        a system of your own settings of ReFrame
"""


@verb("doctor", _EPILOG, {FAILED: "no check has a case, or the settings are wrong"})
@option(
    "-C",
    "A file with settings of ReFrame; can be repeated.  [default: RFM_CONFIG_FILES, or config/settings.py]",
    "--config-file",
    "files",
    multiple=True,
)
@option("--system", "The system.  [default: the first that matches this host]")
@json_option
def command(files: tuple[str, ...], system: str | None, *, as_json: bool) -> None:
    """Show which checks your ReFrame settings enable, and why others are skipped. Nothing is run."""
    default = os.environ.get("RFM_CONFIG_FILES") or str(ROOT / "config" / "settings.py")
    if missing := [file for file in files if not Path(file).is_file()]:
        raise FabricError(
            f"{missing[0]}: there is no such file; name the settings of your ReFrame"
        )
    named = [str(Path(file).absolute()) for file in files] or default.split(os.pathsep)
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = examined(named, system, Path(folder))
    except ReframeError as error:
        cause = one_line(str(error)).removeprefix(f"{named[0]}: ")
        raise FabricError(f"{', '.join(named)}: {cause}") from None
    if as_json:
        console.print_json(found)
    else:
        console.print(*_lines(found))
    if not found["cases"]:
        raise FabricError(f"{found['system']}: no check has a case there")


def _lines(found: dict[str, Any]) -> list[str]:
    """Return the lines for people."""
    lines = [f"system {found['system']}, of {', '.join(found['files'])}", "", "runs"]
    for where, suites in found["cases"].items():
        cases = count_text(sum(suites.values()), "case")
        lines.append(
            f"  {where}: {cases} ({', '.join(f'{suite} {number}' for suite, number in suites.items())})"
        )
    if found["left_out"]:
        lines += ["", "does not run"]
    for reason, checks in found["left_out"].items():
        lines += _wrapped(f"{reason}: {', '.join(checks)}")
    if found["notes"]:
        lines += ["", "goes without"]
    for note in found["notes"]:
        lines += _wrapped(note)
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text,
        110,
        initial_indent="  ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )

# SPDX-License-Identifier: BSD-3-Clause
"""Pictures beside the output: drawn as soon as the values are known, kept with the job's output."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from reframe.core.builtins import run_after
from reframe.core.logging import getlogger
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.software import packages


class PicturesMixin(RegressionTestPlugin):
    """Draw what was measured.

    Needs: ``draw(folder)``, which writes pictures into a folder and returns their names.
    """

    @run_after("sanity")
    def draw_pictures(self):
        """Draw before the values are judged: a case that fails its references is the one to look at."""
        if self.is_dry_run():
            return  # nothing was measured
        if why_not := why_no_pictures():
            getlogger().debug(why_not)
            return
        self.keep_files = [*self.keep_files, *self.draw(Path(self.stagedir))]


@lru_cache(maxsize=1)
def why_no_pictures() -> str:
    """Return why nothing can be drawn, or nothing; a session that cannot says so once. Values do without pictures."""
    try:
        packages.require(["matplotlib"], "they draw the pictures beside the output")
    except packages.MissingPackageError as error:
        getlogger().warning(f"no pictures are drawn: {error}")
        return f"no pictures: {error}"
    return ""

# SPDX-License-Identifier: BSD-3-Clause
"""Pictures beside the output: drawn as soon as the figures are known, kept with the job's output."""

from __future__ import annotations

from pathlib import Path

from reframe.core.builtins import run_after
from reframe.core.pipeline import RegressionTestPlugin


class PicturesMixin(RegressionTestPlugin):
    """Draw what was measured.

    Needs: ``draw(folder)``, which writes pictures into a folder and returns their names.
    """

    @run_after("sanity")
    def draw_pictures(self):
        """Draw before the figures are judged: a case that fails its references is the one to look at."""
        if self.is_dry_run():
            return  # nothing was measured
        self.keep_files = [*self.keep_files, *self.draw(Path(self.stagedir))]

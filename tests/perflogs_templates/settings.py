# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of the tests that play outputs back, with the fragments that the variable FRAGMENTS lists."""

import json
import os
import runpy
from pathlib import Path

from fabric_checks.results.perflogs.fragments import fragment, include

playback = Path(__file__).resolve().parent.parent / "playback" / "settings.py"
site_configuration = runpy.run_path(str(playback))["site_configuration"]
for name, settings in json.loads(os.environ["FRAGMENTS"]).items():
    # The two lines of a site.
    include(site_configuration, fragment(name, **settings), systems=["local"])

# SPDX-License-Identifier: BSD-3-Clause
"""The configuration of the tests that play outputs back, with the templates that the variable TEMPLATES lists."""

import os
import runpy
from pathlib import Path

HERE = Path(__file__).resolve().parent
site_configuration = runpy.run_path(str(HERE.parent / "playback" / "settings.py"))["site_configuration"]
for name in os.environ["TEMPLATES"].split():
    defined = runpy.run_path(str(HERE.parent.parent / "perflogs-templates" / f"{name}.py"))
    for handler in defined.get("handlers_perflog", []):
        if "url" in handler:
            handler["url"] = os.environ["URL"]
        site_configuration["logging"][0]["handlers_perflog"].append(handler)
    site_configuration["storage"] += defined.get("storage", [])

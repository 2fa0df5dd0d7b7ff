# SPDX-License-Identifier: BSD-3-Clause
"""The one ReFrame configuration: it collects the systems and environments beside it."""

import runpy
from pathlib import Path

from reframe.core.logging import register_log_handler

from fabric_checks.perflog import JsonLinesHandler
from fabric_checks.session import home, results, session_id

HERE = Path(__file__).resolve().parent


@register_log_handler("jsonlines")
def create_jsonlines_handler(site_config, config_prefix):
    """Make the handler that writes the perflog."""
    return JsonLinesHandler(Path(site_config.get(f"{config_prefix}/basedir")))


def collect(folder):
    """Return what the files of a folder define as `systems` or `environments`, in the order of their names."""
    name = folder.name
    return [item for file in sorted(folder.glob("*.py")) for item in runpy.run_path(str(file))[name]]


# ReFrame takes the first system whose host name patterns match; the one that matches any machine goes last.
systems = sorted(collect(HERE / "systems"), key=lambda system: ".*" in system["hostnames"])
for system in systems:
    system.setdefault("stagedir", str(results() / "stage"))
    system.setdefault("outputdir", str(results() / "output"))
(results() / "logs").mkdir(parents=True, exist_ok=True)

site_configuration = {
    "systems": systems,
    "environments": collect(HERE / "environments"),
    "general": [
        {
            "check_search_recursive": True,
            "report_file": str(results() / "reports" / "run-report-{sessionid}.json"),
            "topology_prefix": str(home() / "topology"),
            "keep_stage_files": False,
        }
    ],
    "logging": [
        {
            "handlers$": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
            "handlers": [
                {
                    "type": "file",
                    # The report names its log files, which is how it is found again by session.
                    "name": str(results() / "logs" / f"{session_id()}.log"),
                    "level": "debug",
                    "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                    "append": False,
                }
            ],
            "handlers_perflog": [{"type": "jsonlines", "level": "info", "basedir": str(results() / "perflogs")}],
        }
    ],
}

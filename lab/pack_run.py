# SPDX-License-Identifier: BSD-3-Clause
"""Write a recorded run of the tests, from a folder of results:

    python -m lab.pack_run RESULTS SESSION > tests/report/recorded/NAME.json

Points of curves that no summary shows by themselves are thinned.
"""

import json
import sys
from pathlib import Path

from fabric_checks.records import runs
from tests.report.recorded import OF_CASE, OWN, SHARED


def packed(session):
    """Return a session as JSON text."""
    shared, by_case = [], {}
    for record in session.records:
        key = json.dumps([record[name] for name in OF_CASE])
        of = by_case.setdefault(
            key,
            ({name: record[name] for name in OF_CASE if record[name] is not None}, []),
        )
        if _is_kept(record["size_B"]):
            key = json.dumps([record[name] for name in SHARED])
            if key not in shared:
                shared.append(key)
            of[1].append([shared.index(key), *(record[name] for name in OWN)])
    cases = [
        [
            case.name,
            case.result,
            case.phase,
            case.reason,
            case.fixture,
            case.failed_before,
            case.system,
        ]
        for case in session.cases
    ]
    content = {
        "session": session.name,
        "cases": cases,
        "shared": [json.loads(each) for each in shared],
        "records": list(by_case.values()),
    }
    return json.dumps(content, separators=(",", ":"))


def _is_kept(size_B):
    """Tell whether a size is kept: every third power of two, and the last ones."""
    return size_B is None or size_B in (
        0,
        1,
        8,
        64,
        512,
        4096,
        32768,
        262144,
        1048576,
        4194304,
    )


if __name__ == "__main__":
    print(packed(runs.load_session(Path(sys.argv[1]), sys.argv[2])))

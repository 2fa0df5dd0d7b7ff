# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's own database: what `reframe --performance-compare` and `reframe --list-stored-testcases` read."""

from fabric_checks.paths import results


def fragment(path=None, timeout_s=60, mode="644"):
    """Return the fragment.

    :param path: the file (default: `results.db` in the folder of results).
    :param timeout_s: how long a session waits for another one that writes.
    :param mode: the file's permissions, octal.
    """
    return {
        "storage": [
            {
                "enable": True,
                "backend": "sqlite",
                "sqlite_db_file": str(path or results() / "results.db"),
                "sqlite_conn_timeout": timeout_s,
                "sqlite_db_file_mode": mode,
            }
        ]
    }

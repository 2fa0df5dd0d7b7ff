# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's own database: append these lines to the file of your system."""

from fabric_checks.core.paths import results

storage = [
    {
        "enable": True,
        "backend": "sqlite",
        "sqlite_db_file": str(results() / "results.db"),
        "sqlite_conn_timeout": 60,  # seconds that a session waits for another one that writes
    }
]

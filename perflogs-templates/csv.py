# SPDX-License-Identifier: BSD-3-Clause
"""CSV files, one a check, beside the JSON lines: SYSTEM/PARTITION/CHECK.csv."""

from fabric_checks.paths import results


def fragment(basedir=None):
    """Return the fragment.

    :param basedir: the folder of the files (default: `csv` in the folder of results).
    """
    return {"handlers_perflog": [{"type": "csv", "level": "info", "basedir": str(basedir or results() / "csv")}]}

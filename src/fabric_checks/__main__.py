# SPDX-License-Identifier: BSD-3-Clause
"""``python -m fabric_checks``: the command ``fabric-checks``, for job scripts that have no PATH to it."""

from fabric_checks.cli.main import main

main()

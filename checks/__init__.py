# SPDX-License-Identifier: BSD-3-Clause
"""The checks: what `reframe -c checks -r` loads."""

# SPDX-License-Identifier: BSD-3-Clause
"""The command ``fabric-checks``, a module a verb."""

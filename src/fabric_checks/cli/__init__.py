# SPDX-License-Identifier: BSD-3-Clause
"""The command ``fabric-checks``, one module for each verb."""

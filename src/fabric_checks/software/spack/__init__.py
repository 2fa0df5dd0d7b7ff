# SPDX-License-Identifier: BSD-3-Clause
"""What the build fixtures know of Spack: its scopes, its lock file, its failures and its version.

Nothing here knows ReFrame. Only `tool` runs Spack, and `inside` is run by it.
"""

from fabric_checks.software.spack.errors import SpackError

__all__ = ["SpackError"]

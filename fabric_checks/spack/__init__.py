# SPDX-License-Identifier: BSD-3-Clause
"""What the build fixtures know of Spack: its scopes, its lock file, its failures and its version.

Nothing here runs a program or knows ReFrame: text, files and mappings go in, data or a :class:`SpackError` comes out.
"""

from fabric_checks.spack.errors import SpackError

__all__ = ["SpackError"]

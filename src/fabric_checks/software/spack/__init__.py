# SPDX-License-Identifier: BSD-3-Clause
"""Builds by Spack: the scopes, the lock file, the causes of failure, the build and the mirror.

Nothing here imports ReFrame. Only ``tool`` starts Spack; ``inside`` is the one script that Spack's own Python
runs.
"""

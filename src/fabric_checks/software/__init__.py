# SPDX-License-Identifier: BSD-3-Clause
"""The programs that environments offer, and their origins: wheels, modules, Spack."""

# SPDX-License-Identifier: BSD-3-Clause
"""What environments offer and where it comes from: wheels, modules, Spack."""

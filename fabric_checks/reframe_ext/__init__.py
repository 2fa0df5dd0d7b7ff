# SPDX-License-Identifier: BSD-3-Clause
"""Everything that imports ReFrame: mixins, schedulers, launchers, log handlers, and the selection of cases."""

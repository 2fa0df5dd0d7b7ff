# SPDX-License-Identifier: BSD-3-Clause
"""What a run costs: jobs, node-minutes and disk, computed before it and recorded after it."""

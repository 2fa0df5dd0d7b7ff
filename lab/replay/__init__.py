# SPDX-License-Identifier: BSD-3-Clause
"""Compare replays with measurements on the test cluster: `python -m lab.replay`."""

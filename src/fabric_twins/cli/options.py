# SPDX-License-Identifier: BSD-3-Clause
"""Options that several commands have."""

from __future__ import annotations

import click

CPU_SPEED = click.option(
    "--cpu-speed",
    type=click.FloatRange(min=1e-3, max=1e3),
    default=1,
    show_default=True,
    help="Speed of a processor relative to the one that was traced on.",
)
REPLAY_TIME_LIMIT = click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=600,
    show_default=True,
    help="Time limit of a replay, in seconds.",
)

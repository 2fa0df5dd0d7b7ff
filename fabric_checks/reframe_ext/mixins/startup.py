# SPDX-License-Identifier: BSD-3-Clause
"""What keeps `reframe -l` quick with many checks."""

from __future__ import annotations

from typing import TypeVar

from reframe.core.pipeline import RegressionTest

T = TypeVar("T", bound=type[RegressionTest])


def without_deprecated_alias(cls: T) -> T:
    """Take ReFrame's deprecated variable ``variables`` out of a check class, and so out of all that inherit from it.

    For every instance ReFrame 4.10 walks the whole call stack twice to find whom to warn of this alias of
    ``env_vars``, and then says nothing, because nobody used it. That is two fifths of the time that loading our checks
    takes (`ci/benchmark startup`).
    """
    cls._rfm_var_space.vars.pop("variables", None)
    return cls

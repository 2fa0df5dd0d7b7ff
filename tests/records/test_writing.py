# SPDX-License-Identifier: BSD-3-Clause
"""A site's own ReFrame writes records, and judges, in a Python with ReFrame's own dependencies alone."""

import sys

import pytest

from tests import programs

READERS_NEED = ("msgspec", "polars", "numpy", "scipy", "click", "rich")


@pytest.mark.parametrize(
    "module",
    [
        "records.perflog",
        "records.sessions",
        "core.extras",
        "references.reference_file",
        "references.line_rate",
        "reframe_ext.handlers",
        "reframe_ext.own_settings",
        "reframe_ext.mixins",
    ],
)
def test_what_a_run_imports_needs_no_package_of_readers(module):
    code = f"import sys; sys.modules.update(dict.fromkeys({READERS_NEED})); import fabric_checks.{module}"
    programs.succeed([sys.executable, "-c", code])

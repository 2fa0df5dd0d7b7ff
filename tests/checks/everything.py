# SPDX-License-Identifier: BSD-3-Clause
"""Load the checks of the system `rich`, which offers everything; see `rich.py`."""

from pathlib import Path

from tests import loading

SETTINGS = Path(__file__).resolve().parent / "rich.py"


def cases(patch, set_up=True, suite="."):
    """Return all cases of `rich`, or those of a suite, but fixtures, set up by default.

    :param patch: pytest's ``monkeypatch``, or one of its contexts.
    """
    with patch.context() as settings:
        settings.setattr(loading, "SETTINGS", SETTINGS)
        return [
            case
            for case in loading.cases("rich", set_up, suite=suite)
            if not case.check.is_fixture()
        ]

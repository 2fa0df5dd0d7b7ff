# SPDX-License-Identifier: BSD-3-Clause
"""Data of the parsers: what programs print, by release and benchmark, in files beside them."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml


def load(name: str) -> Any:
    """Return the content of a file of YAML or JSON beside the parsers."""
    return yaml.safe_load(resources.files(__package__).joinpath(name).read_text())

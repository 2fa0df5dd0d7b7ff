# SPDX-License-Identifier: BSD-3-Clause
"""Files that say what is known of a fabric, read as one map."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fabric_checks.core import files, yaml_file
from fabric_checks.core.errors import OutputError
from fabric_checks.diagnosis.fabric_map import reading, slurm_topology
from fabric_checks.diagnosis.fabric_map.model import FabricMap


def read(paths: Sequence[Path]) -> FabricMap:
    """Return the map that some files give together.

    :param paths: what ``ibnetdiscover``, ``iblinkinfo``, ``dump_lfts`` or ``scontrol show topology`` printed, or
        Slurm's ``topology.conf`` or ``topology.yaml``; one at least.
    :raises FabricError: for a file that cannot be read or is not one of these; the file is named.
    """
    listed = [path for path in paths if path.suffix in (".yaml", ".yml")]
    if listed and len(paths) > 1:
        raise OutputError(f"{listed[0]}: give either a topology.yaml alone, or the output of the InfiniBand tools")
    if not listed:
        return reading.of_texts([(str(path), files.read_text(path)) for path in paths])
    try:
        return reading.of_slurm(slurm_topology.of_yaml(yaml_file.load(listed[0])))
    except (OutputError, yaml_file.YamlError) as error:
        text = str(error)
        raise OutputError(text if text.startswith(str(listed[0])) else f"{listed[0]}: {text}") from None

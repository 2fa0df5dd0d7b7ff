# SPDX-License-Identifier: BSD-3-Clause
"""The map of large files is kept until they change."""

import numpy as np
import pytest

from fabric_checks.fabric_map import topology_files
from fabric_checks.records import fabric_maps
from tests.fabric_map import printed
from tests.fabric_map.test_topology_files import SHAPES, SWEEP, drawn


def test_the_map_of_large_files_is_kept_until_they_change(tmp_path, monkeypatch):
    """Tables of 1,500 switches and 10,000 hosts are a gigabyte; each check of a night needs their map."""
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(fabric_maps, "FROM_B", 1)
    wiring, ways, _ = drawn(*SHAPES[0])
    printed_files = {
        "net": printed.ibnetdiscover(wiring).replace("4xEDR", "4xHDR", 2),
        "lfts": printed.dump_lfts(wiring, ways),
        "log": SWEEP.format("updn"),
    }
    paths = [tmp_path / name for name in printed_files]
    for path in paths:
        path.write_text(printed_files[path.name])
    first = fabric_maps.of_files(paths)
    with monkeypatch.context() as patch:
        patch.setattr(topology_files, "read", lambda _: pytest.fail("read again"))
        again = fabric_maps.of_files(paths)
    for name, value in vars(first).items():
        other = getattr(again, name)
        assert type(other) is type(value) and np.all(
            np.equal(other, value) if isinstance(value, np.ndarray) else other == value
        )
    paths[2].write_text(SWEEP.format("ar_updn"))
    assert fabric_maps.of_files(paths).routing == "adaptive"
    (place,) = (tmp_path / "home" / "maps").iterdir()
    place.write_bytes(b"torn")
    assert fabric_maps.of_files(paths).routing == "adaptive"
    place.unlink()
    place.parent.rmdir()
    place.parent.write_text("no folder")
    (warning,) = fabric_maps.of_files(paths).warnings
    assert "the map cannot be kept in" in warning

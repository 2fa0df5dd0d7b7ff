# SPDX-License-Identifier: BSD-3-Clause
"""Change every byte of a bundle, one at a time: `python -m tests.offers.every_byte`. It takes a minute."""

import tempfile
from pathlib import Path

from fabric_offers import bundle_file
from tests.offers.test_bundle_file import FILES, changed_bytes


def main():
    """Print at how many positions a change was not noticed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "genuine.tar"
        bundle_file.write(path, {"kind": bundle_file.OFFER}, FILES, lambda text: b"signature")
        size = path.stat().st_size
        print(f"{size} bytes changed, {len(list(changed_bytes(path, range(size))))} changes not seen")


if __name__ == "__main__":
    main()

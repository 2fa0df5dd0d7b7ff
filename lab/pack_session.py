# SPDX-License-Identifier: BSD-3-Clause
"""Pack a folder of results as a set of tests/golden/sessions: only what the command reads, with neutral
paths.

python -m lab.pack_session FOLDER NAME.tar.xz [OLD=NEW ...]     OLD is replaced by NEW in every file
mkdir FOLDER && tar xf NAME.tar.xz -C FOLDER                              the way back
"""

import io
import sys
import tarfile
from pathlib import Path

#: Files that are read: records, reports of ReFrame, the journal of nights, and of a job its output and its
#: placement.
KEPT = (
    "perflogs/**/*.jsonl", "reports/*.json", "costs.jsonl", "output/**/rfm_job.out",
    "output/**/placement.txt", "output/**/topology.txt", "stage/**/rfm_job.out", "stage/**/rfm_job.err",
    "stage/**/placement.txt", "stage/**/topology.txt",
)  # fmt: skip
#: Files that only have to be there: a run is listed by its log.
EMPTY = ("logs/*.log",)


def texts(folder, replacements):
    """Yield names below the folder, times and the bytes to keep; a perflog older than a run is not read for
    it."""
    for pattern in (*KEPT, *EMPTY):
        for path in folder.glob(pattern):
            text = b"" if pattern in EMPTY else path.read_bytes()
            for old, new in replacements:
                text = text.replace(old.encode(), new.encode())
            yield str(path.relative_to(folder)), int(path.stat().st_mtime), text


def main(folder, name, *replacements):
    pairs = [
        each.split("=", 1)
        for each in (f"{Path(folder).resolve()}=/home/me/results", *replacements)
    ]
    with tarfile.open(name, "w:xz", preset=9) as archive:
        for member, changed, text in sorted(texts(Path(folder), pairs)):
            entry = tarfile.TarInfo(member)
            entry.size, entry.mtime = len(text), changed
            archive.addfile(entry, io.BytesIO(text))


if __name__ == "__main__":
    main(*sys.argv[1:])

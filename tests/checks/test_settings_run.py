# SPDX-License-Identifier: BSD-3-Clause
"""A run with `-S`, for real: one check each of OSU, IMB, LAMMPS and our own programs."""

import re

from tests import sessions

CASES = (
    "OsuBandwidth%benchmark=bw%layout=1x2",
    "ImbPointToPoint%benchmark=PingPong%layout=1x2",
    "LammpsBench%problem=lj%layout=1x1",
    "Streaming%layout=1x2",
)


def test_one_of_each_suite_runs_with_its_settings(tmp_path):
    given = ["-S", "largest_B=64", "-S", "steps=20"]
    options = ["--system", "local", "-n", f"^({'|'.join(CASES)})$", *given, "-r"]
    printed = sessions.call([sessions.REFRAME], tmp_path, *options).stdout
    ran = set(
        re.findall(
            r"\[ +OK \] \(\d+/\d+\) (\w+) .*(?:%largest_B=64|%steps=20) ", printed
        )
    )
    assert ran == {case.partition("%")[0] for case in CASES}, printed
    bandwidth = (tmp_path / "perflogs/local/node/OsuBandwidth.jsonl").read_text()
    assert set(re.findall(r'"metric":"bandwidth_(\d+)B"', bandwidth)) == {
        "1",
        "2",
        "4",
        "8",
        "16",
        "32",
        "64",
    }

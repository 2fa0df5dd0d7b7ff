# SPDX-License-Identifier: BSD-3-Clause
"""From a clone to a quiet first night of one's own Slurm system: two commands, and two questions answered."""

import json
import os
import re
import sys

from tests import builders, homes

#: The input of a user on the head of the cluster, in a shell that has nothing set. To keep it short, one
#: check a night.
TYPED = """
cd {clone} && . ci/env.sh || exit
printf 'ada\\nyes\\n10 Gbit/s\\n' | fabric-checks init || exit
ci/nightly --system ada -- -n '^OsuBarrier%layout=2x1$'
"""


def test_a_first_night(four, tmp_path):
    clone = homes.checkout(tmp_path / "clone")
    homes.linked(clone / ".fabric")
    (tmp_path / "home").mkdir()
    path = os.pathsep.join(
        part for part in os.environ["PATH"].split(os.pathsep) if "/parts/" not in part
    )
    nothing = f"PATH={path} HOME={tmp_path / 'home'} FABRIC_PYTHON={sys.executable}"
    # A site's Slurm is found without it.
    shell = f'exec env -i SLURM_CONF="$SLURM_CONF" {nothing} bash -s'
    (tmp_path / "typed").write_text(TYPED.format(clone=clone))
    done = four.tried("head", "bash", "-c", f"{shell} < {tmp_path / 'typed'}")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    # Three questions, and the line to go on with.
    assert said.count("? [") == 3 and "  ci/nightly --system ada\n" in said
    assert "nodes       compute (default): 4, 2 cores" in said
    assert re.search("nightly: (passed|busy)", said) and "1 case ran, 1 passed" in said
    text = (clone / "config/systems/ada.py").read_text()
    assert '"access": ["--exclusive", "--partition=compute"]' in text
    assert '"link_MBps": 1250.0,' in text and '"one_job": True' in text
    (night,) = (clone / ".fabric/results/nightly/ada").glob("2*/night.json")
    assert json.loads(night.read_text())["new"] == []
    # Its values are of two hosts of the cluster.
    (perflog,) = (clone / ".fabric/results/perflogs/ada").rglob("OsuBarrier.jsonl")
    assert len(builders.records_in(perflog)[0]["nodelist"]) == 2

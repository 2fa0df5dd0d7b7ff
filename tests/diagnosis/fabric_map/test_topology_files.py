# SPDX-License-Identifier: BSD-3-Clause
"""Files of a topology: what they are is told by their content, and what is wrong with one by its name."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.diagnosis.fabric_map import topology_files

SLURM = "SwitchName=s1 Nodes=a[1-2]\nSwitchName=s2 Nodes=a[3-4]\n"
YAML = (
    "- topology: t\n  tree:\n    switches:\n    - {switch: s1, nodes: 'a[1-2]'}\n    - {switch: s2, nodes: 'a[3-4]'}\n"
)


@pytest.mark.parametrize(("name", "text"), [("topology.conf", SLURM), ("topology.yaml", YAML), ("t.yml", YAML)])
def test_slurms_files_give_the_switch_of_each_host(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    known = topology_files.read([tmp_path / name])
    assert (known.hosts, known.switches, known.at.tolist()) == (("a1", "a2", "a3", "a4"), ("s1", "s2"), [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "nothing of the kind", "not a known form of topology"),
        ("a.yaml", "- 1", "it has no topology of type"),
        ("a.yaml", "a: [", "a.yaml"),
    ],
)
def test_what_is_none_is_told_with_its_name(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(OutputError) as error:
        topology_files.read([tmp_path / name])
    assert str(error.value).startswith(str(tmp_path / name)) and said in str(error.value)


def test_a_yaml_file_goes_with_no_other(tmp_path):
    with pytest.raises(OutputError, match="give either a topology.yaml alone"):
        topology_files.read([tmp_path / "a.yaml", tmp_path / "b.txt"])

# SPDX-License-Identifier: BSD-3-Clause
"""Names that would do something, from every tool: none of them does it, in a file, on screen or in a job
script."""

import ast
import re

import pytest

from fabric_checks.cli.init import shown
from fabric_checks.core import console
from fabric_checks.core.errors import FabricError
from fabric_checks.onboarding.detection import look
from tests.onboarding.recorded import SITES, Recorded, written_by_init
from tests.onboarding.test_site_files import configuration

#: What is none of these is no part of a word that a shell reads.
HARMLESS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+/@=:-")
NAMES = (
    "$(touch${IFS}/tmp/x)", "`touch /tmp/x`", "a;reboot", "a'b", 'a"b', '"""',
    "'''+__import__('os').system('x')+'''",
    "a\\", "a#b", "a\x1b[2J", "a\rb", "\u202etxt", "a b", "-rf", "../../etc", "{nodes}", "%j", "ä",
    "a\x00b", "*", "~",
)  # fmt: skip
#: A word of each recording that is a name, and what stands there otherwise.
PLACES = [
    ("slurm_infiniband", "himem|up", "{}|up"),
    ("slurm_infiniband", "batch*|up", "{}*|up"),
    ("slurm_infiniband", "= ada", "= {}"),
    ("slurm_infiniband", "23.11.8", "{}"),
    ("lmod_hierarchy", "gnu14/14.2  openmpi5", "{}  openmpi5"),
    ("slurm_infiniband", "SwitchName=leaf01", "SwitchName={}"),
    ("slurm_infiniband", "\tpmix\n", "\t{}\n"),
    ("slurm_infiniband", "OpenMPI/4.1.6-GCC-13.2.0", "OpenMPI/{}"),
    (
        "slurm_infiniband",
        "OSU-Micro-Benchmarks/7.2-gompi-2023b\n",
        "OSU-Micro-Benchmarks/7.2-{}\n",
    ),
    ("slurm_infiniband", "mlx5_0", "{}"),
    ("slurm_infiniband", "200 Gb/sec (4X HDR)", "{}"),
    ("slurm_gpus", "gpu:h100:8(S:0-1),shard:16", "{}"),
    ("slurm_gpus", "gpu-h100|up", "{}|up"),
    ("slurm_gpus", "|8|2|56|", "|8|2|{}|"),
    ("pbs", "Queue: gpu", "Queue: {}"),
    ("pbs", "2022.1.3.20230216145131", "{}"),
    ("pbs", "r1i0n1\n", "{}\n"),
    ("pbs", "ncpus = 36", "ncpus = {}"),
    ("pbs", "default_queue = workq", "default_queue = {}"),
    ("flux", '"pdebug"', '"{}"'),
    ("flux", '"0-95"', '"{}"'),
    ("flux", "0.67.0", "{}"),
    ("no_scheduler", "(Open MPI) 4.1.4", "(Open MPI) {}"),
    ("no_scheduler", "Socket(s):           1", "Socket(s):           {}"),
]
#: Those without which a scheduler lists no node.
OF_NODES = (
    '"pdebug"',
    '"0-95"',
    "|8|2|56|",
    "himem|up",
    "batch*|up",
    "gpu:h100:8(S:0-1),shard:16",
    "gpu-h100|up",
)


def words(value):
    """Return every text in a configuration."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from [key, *words(each)]
    elif isinstance(value, list | tuple):
        for each in value:
            yield from words(each)


def changed(name, old, new):
    text = (SITES / f"{name}.txt").read_text()
    assert old in text
    return Recorded(text.replace(old, new))


@pytest.mark.parametrize("site, old, new", PLACES)
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_hostile_name(site, old, new, name, monkeypatch, capsys):
    for variable in ("FABRIC_MPI", "FABRIC_STACK"):
        monkeypatch.delenv(variable, raising=False)
    try:
        facts = look(changed(site, old, new.replace("{}", name)), f"login1{name}")
    except FabricError as error:  # no node of a scheduler is left
        assert old in OF_NODES
        assert str(error).isprintable() and len(str(error)) < 1000
        return
    console.print(*shown(facts))
    assert all(char.isprintable() or char == "\n" for char in capsys.readouterr().out)
    files = written_by_init(facts, name="new")
    text = files["systems/new.py"]
    assert text.isascii() and all(char.isprintable() or char == "\n" for char in text)
    # A file of names and literals: nothing is called but what is written of every site.
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
    }
    assert calls <= {
        "environment",
        "host_lock",
        "lock_in_job",
        "str",
        "selected_mpis",
        "selected_stack",
        "STACKS.get",
    }
    system, environments = configuration(text)
    for partition in system["partitions"]:
        for word in [*words(partition.get("access", [])), *partition["environs"]]:
            assert set(word) <= HARMLESS | {" "}, word
            assert " " not in word.removeprefix("-l ").removeprefix("-q ").removeprefix(
                "-A "
            ), word
    for environment in environments:
        assert all(
            set(module) <= HARMLESS and module[0] != "-"
            for module in environment.get("modules", [])
        )
    assert {path.rpartition("/")[0].split("/")[0] for path in files} == {
        "systems",
        "references",
    }
    assert not any(".." in path for path in files)


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "execution": {"R_lite": [{"rank": "0-999999999", "children": {"core": "0"}}]}}',
        '{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": []}]}}',
        '{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {"core": "x"}}]}}',
        '{"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {}}], "properties": {"a": {}}}}',
        '{"execution": {"R_lite": {}}}', "[" * 100_000, "null", "7", "\x00",
    ],
)  # fmt: skip
def test_resources_of_flux_that_are_none(text):
    with pytest.raises(
        FabricError, match="the output of flux resource R is not understood: "
    ) as error:
        look(Recorded(f"$ flux resource R\n{text}\n"), "x")
    assert len(str(error.value)) < 500


def test_many_names_are_not_all_shown(capsys):
    lines = "".join(f"a;{number}|up|1|1|1|idle|(null)\n" for number in range(500))
    lines += "one|up|1|1|1|idle|(null)\n"
    console.print(
        *shown(
            look(
                Recorded(f"$ sinfo --noheader --format=%P|%a|%D|%X|%Y|%T|%G\n{lines}"),
                "x",
            )
        )
    )
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) < 40 and re.search("(a|one): [0-9]+", printed)

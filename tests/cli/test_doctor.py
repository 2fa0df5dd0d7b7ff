# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks doctor` on settings of a site."""

import json
import re
import sys

import pytest

from fabric_checks.core.paths import ROOT
from tests import programs
from tests.fabric_map.test_tools import GOLDEN

SITE = """
site_configuration = {{
    "systems": [{{"name": "ada", "hostnames": ["nosuch"], "partitions": [
        {{"name": "login", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}},
        {{"name": "compute", "scheduler": "local", "launcher": "mpirun", "environs": ["gnu"],
          "extras": {{"nodes": 2, "cores": 4, "launch_options": []}}}}]}}],
    "environments": [{{"name": "gnu", "cc": "mpicc", "features": {features}}}],
}}
"""
WRONG = {
    "launcher.py": ('"launcher": "mpirun", ', ""), "name-less.py": ('"name": "compute", ', ""),
    "cc.py": ('"cc": "mpicc"', '"cc": 7'), "environ.py": ('"environs": ["gnu"]', '"environs": [7]'),
    "added.py": ('"environments"', '"sistems": [], "environments"'),
    "nodes.py": ('"nodes": 2', '"nodes": "many"'), "none-there.py": ('"nodes": 2', '"nodes": 0'),
    "misspelt.py": ('"nodes": 2', '"nodes": 2, "link_Mbps": 25000'),
    "held.py": ('"nodes": 2', '"nodes": 2, "references": "{folder}/wrong"'),
    "foreign.py": ('"nodes": 2', '"nodes": 2, "ram": 1'),
}  # fmt: skip
BROKEN = {
    "syntax.py": "a = 1\nb = (1 2)\n", "name.py": "a = 1\n\nb = gnu\nsite_configuration = {}\n",
    **{name: SITE.format(features=["mpi"]).replace(*change) for name, change in WRONG.items()},
}  # fmt: skip


@pytest.fixture
def doctor(tmp_path):
    def run(*options, features=("mpi", "mpicc")):
        for name, text in {
            "site.py": SITE.format(features=list(features)),
            **BROKEN,
        }.items():
            (tmp_path / name).write_text(text.replace("{folder}", str(tmp_path)))
        (tmp_path / "wrong.yaml").write_text(
            "no_reference:\n- {why: none, chek: Osu.*}\n"
        )
        command = [
            sys.executable,
            ROOT / "ci/bin/fabric-checks",
            "doctor",
            "-C",
            tmp_path / "site.py",
            *options,
        ]
        return programs.run(command, cwd=tmp_path)

    return run


def test_it_says_which_checks_run_and_why_the_others_do_not(doctor):
    found = json.loads(doctor("--system", "ada", "--json").stdout)
    (where,) = found["cases"]
    assert where == "ada:compute with gnu" and found["cases"][where]["fabric"] > 10
    assert "OsuLatency" in found["left_out"]["no environment has osu"]
    notes = "\n".join(found["notes"])
    assert (
        "ada:login is left out: none of its environments has the feature 'mpi'" in notes
    )
    assert "no references" in notes


@pytest.mark.parametrize(
    "options, features, line",
    [
        (["--system", "ada"], (),
         "site.py: the system ada has no environment with an MPI for the checks: give one of"),
        (["--system", "eve"], ("mpi",), "site.py: there is no system 'eve': choose one of ada, generic"),
        (["--system", "ada:x"], ("mpi",),
         "site.py: the system ada has no partition 'x': choose one of login, compute"),
        (["-C", "launcher.py"], ("mpi",),
         r"launcher.py: systems\[0\].partitions\[1\]: 'launcher' is a required"),
        (["-C", "cc.py"], ("mpi",), r"cc.py: environments\[\d\].cc: 7 is not of type 'string'"),
        (["-C", "environ.py"], ("mpi",),
         r"environ.py: systems\[0\].partitions\[1\].environs\[0\]: 7 is not of type"),
        (["-C", "added.py"], ("mpi",), r"added.py: \$: Additional properties are not allowed"),
        (["-C", "name-less.py"], ("mpi",),
         "name-less.py: KeyError: 'name'"),
        (["-C", "nodes.py", "--system", "ada"], ("mpi",),
         "ada:compute: extras: nodes is 'many'; give a whole"),
        (["-C", "none-there.py", "--system", "ada"], ("mpi",),
         "ada:compute: extras: nodes is 0; give a whole"),
        (["-C", "misspelt.py", "--system", "ada"], ("mpi",),
         "extras: link_Mbps: unknown; did you mean link_MBps?"),
        (["-C", "held.py", "--system", "ada"], ("mpi",),
         "yaml:2: no_reference: 0: chek: unknown; did you mean"),
        (["-C", "syntax.py"], ("mpi",), r"syntax.py: SyntaxError: invalid syntax.*, line 2\)"),
        (["-C", "name.py"], ("mpi",), "name.py: line 3: NameError: name 'gnu' is not defined"),
        (["-C", "none.py"], ("mpi",),
         "error: none.py: there is no such file; name the settings of your ReFrame"),
    ],
)  # fmt: skip
def test_settings_without_a_check_are_one_line(doctor, options, features, line):
    done = doctor(*options, features=features)
    (said,) = done.stderr.splitlines()
    assert said.startswith("error: ") and re.search(line, said), said
    assert done.returncode == (2 if "choose one of" in line else 1), said
    assert not re.search(r"(\S+\.py: )\1", said), said


def test_extras_of_other_suites_are_listed_and_left_alone(doctor):
    notes = json.loads(doctor("-C", "foreign.py", "--system", "ada", "--json").stdout)[
        "notes"
    ]
    assert [note for note in notes if "ram" in note] == [
        "ada:compute: extras that no check here reads: ram"
    ]


def test_files_of_a_map_are_told_what_they_are_worth(doctor):
    files = [GOLDEN / name for name in ("ibnetdiscover.txt", "dump_fts.txt")]
    options = [word for file in files for word in ("--topology", file)]
    told = doctor(*options, "--nodes", "cn[1-9]")
    assert (told.returncode, told.stderr) == (0, "")
    for part in (
        "was written",
        "8 hosts at 2 switches, 2 above, 4 cables between these",
        "adapters: mlx5_0 on 8, mlx5_1 on 8",
        "8 of 9 nodes are on the map; it lacks cn9",
        "rates of cables: 0.5, 1 times that of a host's link",
        "routes: known; routing: unknown",
        "cables cannot: give a log of OpenSM",
    ):
        assert part in told.stdout
    worth = json.loads(doctor(*options[:2], "--json").stdout)
    assert "cables cannot: give forwarding tables" in worth["links"][-1]
    assert worth["nodes"] == worth["contradictions"] == []
    refused = doctor("--nodes", "cn1")
    assert refused.returncode == 2 and "--nodes is for --topology" in refused.stderr

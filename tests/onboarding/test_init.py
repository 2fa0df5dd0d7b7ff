# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks init` in a clone, with recorded tools of machines; ReFrame tries the written systems."""

import os
import re
import shutil

import pytest

from fabric_checks.core.paths import home
from tests import homes, programs
from tests.onboarding.recorded import HOSTS, site, tools

#: Options, because the links of this machine are others.
OPTIONS = {name: ["--link-MBps=12500"] for name in HOSTS} | {
    "no_scheduler": ["--this-host"]
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return homes.checkout(tmp_path_factory.mktemp("site") / "clone")


def init(clone, name, folder, *options, answers=None, **more):
    """Call it where the tools of a recorded site are before all others on PATH."""
    variables = tools(site(name), folder)
    lmod = folder / "lmod"
    lmod.write_text('#!/bin/sh\necho "Modules based on Lua: Version 8.7.32" >&2\n')
    lmod.chmod(0o755)
    if "LMOD_CMD" in variables:
        variables["LMOD_CMD"] = str(lmod)
    if "MODULESHOME" in variables:
        (folder / "modulecmd").write_text(
            '#!/bin/sh\necho "Modules Release 5.3.1 (2023-06-27)" >&2\n'
        )
        (folder / "modulecmd").chmod(0o755)
        variables["MODULES_CMD"] = str(folder / "modulecmd")
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("FABRIC_", "RFM_", "SLURM_"))
    }
    env |= {
        "FABRIC_HOME": str(home()),
        "PATH": f"{folder}:{os.environ['PATH']}",
        **variables,
        **more,
    }
    return programs.run(
        [clone / "ci/bin/fabric-checks", "init", *options],
        env=env,
        input=answers or "",
        cwd=folder,
    )


def written(clone):
    command = [
        "git",
        "-C",
        clone,
        "status",
        "--porcelain",
        "--untracked-files=all",
        "config",
    ]
    said = programs.run(command, check=True).stdout
    return {line[3:] for line in said.splitlines()}


def forget(clone, name):
    for path in (f"systems/{name}.py", f"references/{name}.yaml"):
        (clone / "config" / path).unlink()
    shutil.rmtree(clone / "config/systems" / name, ignore_errors=True)


@pytest.mark.parametrize("name", HOSTS)
def test_the_cases_of_the_written_system_are_loaded(name, clone, tmp_path):
    before = written(clone)
    done = init(
        clone, name, tmp_path / "tools", "--name", "new", "--yes", *OPTIONS[name]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {
        f"config/{path}" for path in ("systems/new.py", "references/new.yaml")
    } <= written(clone) - before
    assert all("new" in path for path in written(clone) - before)
    (cases,) = re.findall(r"(\d+) cases were loaded; nothing was run", done.stdout)
    assert int(cases) > 4
    commands = done.stdout.partition("next:\n")[2].splitlines()
    assert len(commands) == 3 and all("--system new" in command for command in commands)
    forget(clone, "new")


def test_guesses_are_marked_in_the_file_and_nothing_is_written_twice(clone, tmp_path):
    done = init(
        clone,
        "no_scheduler",
        tmp_path / "tools",
        "--name",
        "new",
        "--yes",
        "--this-host",
    )
    assert (
        done.returncode == 0 and "  ci/nightly --system new --mpi none\n" in done.stdout
    ), done.stderr
    listed = re.findall(
        r"^  config/systems/new\.py, line (\d+): ", done.stdout, re.MULTILINE
    )
    lines = (clone / "config/systems/new.py").read_text().splitlines()
    marked = [
        number
        for number, line in enumerate(lines, 1)
        if line.lstrip().startswith("# guess: ")
    ]
    assert list(map(int, listed)) == marked
    again = init(
        clone,
        "no_scheduler",
        tmp_path / "again",
        "--name",
        "new",
        "--yes",
        "--this-host",
    )
    assert again.returncode == 1
    assert "there is already a system 'new' in config" in again.stderr
    forget(clone, "new")


def test_questions_and_answers(clone, tmp_path):
    """An answer that is none is asked for again; an empty one takes the guess."""
    answers = "cbc\nnew\n\nperhaps\n\n\nmany\n129\n32\n100 Gbit/s\n"
    done = init(clone, "slurm_infiniband", tmp_path / "tools", answers=answers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "there is already a system 'cbc' in config" in done.stdout
    assert "'perhaps' is not yes or no" in done.stdout
    assert "'many' is not a number" in done.stdout
    assert "129 is more than the 128 nodes that batch can have" in done.stdout
    text = (clone / "config/systems/new.py").read_text()
    assert '"access": ["--exclusive", "--partition=batch"]' in text
    assert '"nodes": 32,' in text and "one_job" not in text
    assert '"link_MBps": 12500.0,' in text
    assert '# guess: most have one\n                    "nics": 1,' in text
    forget(clone, "new")


@pytest.mark.parametrize(
    "site_name, options, line",
    [
        (
            "slurm_infiniband",
            [],
            "error: nobody answers; give --name, or --yes to accept the guesses",
        ),
        (
            "slurm_infiniband",
            ["--name", "a b"],
            "error: 'a b' is not a name for a system",
        ),
        (
            "slurm_infiniband",
            ["--name=new", "--nodes=0", "--yes"],
            "error: --nodes: '0' is not a number of 1 or more",
        ),
        (
            "slurm_gpus",
            ["--name=new", "--yes", "--mpi=all"],
            "error: --mpi does not apply to what was found here",
        ),
        (
            "slurm_infiniband",
            ["--name=new", "--yes", "--nodes=999"],
            "error: --nodes: 999 is more than the 128 nodes",
        ),
        (
            "no_scheduler",
            ["--name=new", "--yes"],
            "error: no scheduler lists nodes for jobs: sinfo: exit status 1: not",
        ),
        (
            "no_scheduler",
            ["--name=new", "--yes", "--this-host", "--queue=batch"],
            "error: --queue does not apply to what was found here",
        ),
    ],
)
def test_an_error_is_one_line_and_writes_nothing(
    site_name, options, line, clone, tmp_path
):
    before = written(clone)
    done = init(clone, site_name, tmp_path / "tools", *options)
    assert (
        done.returncode == 1
        and done.stderr.startswith(line)
        and done.stderr.count("\n") == 1
    ), done.stderr
    assert written(clone) == before


def test_a_system_that_cannot_be_loaded_is_reported(clone, tmp_path):
    """The written files stay, to be mended."""
    (clone / "config/systems/other.py").write_text("systems = [\n")
    done = init(
        clone, "no_scheduler", tmp_path / "tools", "--name=new", "--yes", "--this-host"
    )
    (clone / "config/systems/other.py").unlink()
    forget(clone, "new")
    assert done.returncode == 1 and done.stderr.startswith(
        "error: the cases of new cannot be loaded; "
    ), done.stderr
    assert "fix config/systems/new.py, or remove it" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "'[' was never closed" in done.stderr


def test_modules_that_do_not_load_are_reported(clone, tmp_path):
    """By the reason of `module` itself."""
    done = init(
        clone,
        "slurm_ethernet",
        tmp_path / "tools",
        "--name=new",
        "--yes",
        LOAD="echo no such file; false",
    )
    forget(clone, "new")
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "`module load mpi/openmpi/5.0.3`" in done.stderr
    assert "exit status 1: no such file; mend `modules` of openmpi-site" in done.stderr


def test_files_for_spack_are_written_if_asked_for(clone, tmp_path):
    done = init(
        clone,
        "slurm_ethernet",
        tmp_path / "tools",
        "--name=new",
        "--yes",
        "--spack",
        *OPTIONS["slurm_gpus"],
    )
    assert done.returncode == 0, done.stderr
    assert "config/systems/new/spack/openmpi/packages.yaml" in written(clone)
    forget(clone, "new")
    assert (
        "config/systems/new/spack/openmpi/packages.yaml, line 1: the release"
        in done.stdout
    )

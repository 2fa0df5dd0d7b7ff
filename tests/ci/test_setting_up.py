# SPDX-License-Identifier: BSD-3-Clause
"""Several clones, shells and set-ups in one home: none breaks another's, and a kill leaves nothing that looks
whole.

The clones' pins are of nothing, so a virtual environment is made with nothing in it; all else is real.
"""

import subprocess
import sys

import pytest

from tests import programs
from tests.guard import GUARD_S
from tests.homes import Toy

WHERE = (
    'python -c "import fabric_checks, sys; print(fabric_checks.__file__, sys.prefix)"'
)

#: ci/setup.py with one part whose installation prints a line when it is half done, and waits for a line of
#: input.
SLOW = """
import runpy, sys
from pathlib import Path
setup = runpy.run_path(sys.argv[1])
def install(part):
    part.folder.mkdir(parents=True)
    (part.folder / "half").touch()
    print("half", flush=True)
    sys.stdin.readline()
    (part.folder / "whole").touch()
    with (home / "made").open("a") as file:
        file.write(part.folder.name + "\\n")
home = Path(sys.argv[2])
part = setup["Part"]("core", "a part", 0, install)
setup["set_up"]([part])
print("done", part.folder, flush=True)
"""


class SetUp:
    """A set-up of a clone that stops half-way."""

    def __init__(self, clone, home):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SLOW, clone.root / "ci/setup.py", home], env=clone.environment(home),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def line(self):
        return self.process.stdout.readline()

    def until(self, text):
        return until(self.process, text)

    def end(self):
        output, _ = self.process.communicate("\n", timeout=GUARD_S)
        assert self.process.returncode == 0, output
        return output


@pytest.fixture
def clones(tmp_path):
    return Toy(tmp_path / "one"), Toy(tmp_path / "two")


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def until(process, text):
    """Return the output of a process up to a line with this text."""
    output = ""
    for line in process.stdout:
        output += line
        if text in line:
            return output
    raise AssertionError(output)


def parts(home):
    return sorted(path.name for path in (home / "parts").iterdir())


def complete(home):
    return sorted(path.parent.name for path in home.glob("parts/*/.complete"))


def end(shell):
    output, _ = shell.communicate("\n", timeout=GUARD_S)
    assert shell.returncode == 0, output
    return output


def test_each_clone_runs_its_own_library_on_parts_that_both_share(clones, home):
    one, two = clones
    status, first = one.run(home, WHERE)
    assert status == 0 and "set-up 1/1" in first, first
    status, second = two.run(home, WHERE)
    assert status == 0, second
    assert second.split() == [
        f"{two.root}/src/fabric_checks/__init__.py",
        first.split()[-1],
    ]
    assert first.split()[-2] == f"{one.root}/src/fabric_checks/__init__.py"
    assert len(parts(home)) == 1


def test_sourcing_another_clone_replaces_the_first(clones, home):
    one, two = clones
    two.pin("2")
    status, output = one.run(
        home,
        f'. "{two.root}/ci/env.sh" || exit 1\n{WHERE}\necho $PATH $PYTHONPATH $RFM_CONFIG_FILES',
    )
    assert (
        status == 0
        and f"{two.root}/src/fabric_checks/__init__.py {home}/parts/core-" in output
    ), output
    assert str(one.root) not in output and len(complete(home)) == 2
    assert output.splitlines()[-1].count("/parts/") == 1


def test_the_home_of_another_clone_is_left_and_the_users_own_is_kept(clones, home):
    one, two = clones
    for given, used in (("", two.root / ".fabric"), (home, home)):
        status, output = one.run(
            given, f'. "{two.root}/ci/env.sh" || exit 1\necho $FABRIC_HOME'
        )
        assert status == 0 and output.splitlines()[-1] == str(used)


def test_a_set_up_that_fails_exports_nothing(clones, home):
    """A later one, of a good clone, would take the home of the bad one."""
    one, two = clones
    given = "unset FABRIC_HOME FABRIC_DEFAULT_HOME; export FABRIC_STACK=wrong"
    _, output = one.run(
        "", f'{given}; . "{two.root}/ci/env.sh"; echo "status $?"; env | grep ^FABRIC_'
    )
    _, _, after = output.partition("status 2")
    assert "error: " in output and "FABRIC_STACK=wrong" in after
    assert str(two.root) not in after


def test_other_pins_are_installed_beside_a_running_session(clones, home):
    """What the session runs on is named and stays; a set-up that installs nothing names nothing."""
    one, two = clones
    session = one.shell(home, f"echo runs; read _; {WHERE}")
    until(session, "runs")
    (before,) = parts(home)
    assert two.run(home) == (0, "")
    one.pin("2")
    status, output = one.run(home, "echo ready")
    assert status == 0 and output.endswith("ready\n"), output
    assert f"session needs:\n    {home}/parts/{before}\nready\n" in output
    assert len(complete(home)) == 2
    assert f"{one.root}/src/fabric_checks/__init__.py {home}/parts/{before}" in end(
        session
    )
    assert one.run(home) == two.run(home) == (0, "")


def test_a_set_up_that_is_killed_is_taken_up_again(clones, home):
    one, two = clones
    killed = SetUp(one, home)
    killed.until("half")
    killed.process.kill()
    killed.process.wait()
    assert complete(home) == [] and len(parts(home)) == 1
    again = SetUp(two, home)
    again.until("half")
    assert complete(home) == []
    again.end()
    (part,) = (home / "parts").iterdir()
    assert (part / "whole").exists() and complete(home) == [part.name]
    # A half of other pins is never taken for a whole.
    two.pin("2")
    killed = SetUp(two, home)
    killed.until("half")
    killed.process.kill()
    killed.process.wait()
    two.pin("3")
    SetUp(two, home).end()
    assert len(parts(home)) == 3
    assert len(complete(home)) == 2


@pytest.mark.parametrize("pins", ["1", "2"], ids=["the same pins", "different pins"])
def test_two_set_ups_at_once_make_each_part_once(clones, home, pins):
    one, two = clones
    two.pin(pins)
    first = SetUp(one, home)
    first.until("half")
    second = SetUp(two, home)
    waiting = f"waiting for another set-up that is under way in {home}: process {first.process.pid} of "
    assert waiting in second.line()
    first.end()
    if pins != "1":
        second.until("half")
    second.end()
    made = (home / "made").read_text().splitlines()
    assert len(made) == len(set(made)) == len(complete(home)) == int(pins)


def test_the_wait_for_another_set_up_has_an_end(clones, home):
    one, two = clones
    first = SetUp(one, home)
    first.until("half")
    script = (
        "import runpy, sys; sys.argv = ['setup.py', '--mpi', 'none']\n"
        f"setup = runpy.run_path({str(two.root / 'ci/setup.py')!r})\n"
        "setup['main'].__globals__['WAIT_S'] = 0; sys.exit(setup['main']())"
    )
    done = programs.run([sys.executable, "-c", script], env=two.environment(home))
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: {home}/.lock: locked by process {first.process.pid} of "
    ), done.stderr
    assert len(done.stderr.splitlines()) == 1
    first.end()


def test_a_virtual_environment_is_made_by_its_base_python(clones, home):
    """Also in a shell that has sourced ci/env.sh before the pins change."""
    one, _ = clones
    script = f'. "{one.root}/ci/env.sh" || exit 1\ncat {home}/parts/*/pyvenv.cfg'
    shell = one.shell(home, f"echo ready; read _; unset FABRIC_PYTHON; {script}")
    until(shell, "ready")
    one.pin("2")
    output = end(shell)
    made_by = [line for line in output.splitlines() if line.startswith("home =")]
    assert len(made_by) == 2 and not [line for line in made_by if str(home) in line], (
        output
    )


OTHER_PYTHON = "was set up with Python "


def test_a_second_python_says_that_it_installs_everything_again(clones, home):
    one, _ = clones
    status, output = one.run(home)
    assert status == 0 and OTHER_PYTHON not in output, output
    # As if another Python had done so.
    rename = (
        "import json, sys; from pathlib import Path; from fabric_checks.software import installed\n"
        "folder, other = installed.folder('core'), ['3.10.99 (main)', '/opt/python']\n"
        "(folder / installed.STAMP).write_text(json.dumps(other))\n"
        "folder.rename(installed.folder('core', tuple(other)))"
    )
    environment = one.environment(home) | {"PYTHONPATH": str(one.root / "src")}
    subprocess.run([sys.executable, "-c", rename], env=environment, check=True)
    status, output = one.run(home)
    again = (
        f"{home} was set up with Python 3.10.99, and {sys.executable} is {sys.version.split()[0]}:"
        " everything is"
    )
    assert status == 0 and output.startswith(f"==> {again} installed again"), output
    assert "FABRIC_PYTHON=/opt/python/bin/python3.10\n" in output
    assert "set-up 1/1" in output
    one.pin("2")
    status, output = one.run(home)
    assert status == 0 and "set-up 1/1" in output and OTHER_PYTHON not in output, output


def test_relative_folders_are_those_of_where_it_was_called(clones, tmp_path):
    one, _ = clones
    script = f'cd "{tmp_path}" && . "{one.root}/ci/env.sh" && echo "$FABRIC_HOME" "$FABRIC_RESULTS"'
    env = one.environment("here") | {"FABRIC_RESULTS": "there"}
    done = programs.run(["bash", "-c", script], env=env)
    assert done.stdout.splitlines()[-1] == f"{tmp_path}/here {tmp_path}/there", (
        done.stdout + done.stderr
    )

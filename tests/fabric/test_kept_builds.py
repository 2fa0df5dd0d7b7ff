# SPDX-License-Identifier: BSD-3-Clause
"""What `build.sh` keeps is taken again, unless something that it was built from has changed, or it has
itself."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests import loading, programs
from tests.fabric.test_programs import SOURCES
from tests.guard import wait_for

#: One small program, and a library that stands for the MPI library.
SMALL = {
    "Makefile": "PROGRAMS = placement\nall: placement\nplacement: placement.c errors.h\n"
    "\t$(CC) $(CFLAGS) $< -o $@ $(LDFLAGS)\n",
    "placement.c": '#include "errors.h"\nint rank(void);\nint main(void) { return rank() + ZERO; }\n',
    "errors.h": "#define ZERO 0\n",
}
WRAPPER = '#!/bin/sh\n# {version}\nexec gcc "$@" -L{lib} -lmpi -Wl,-rpath,{lib}\n'


class Folder:
    """A folder with the small program, a compiler wrapper and a library of its own, and a folder for what is
    kept."""

    def __init__(self, root):
        self.kept, self.lib, self.bin = root / "kept", root / "lib", root / "bin"
        self.root, self.builds = root, 0
        for folder in (self.lib, self.bin):
            folder.mkdir()
        self.sources = dict(SMALL)
        self.wrapper("1")
        self.library(0)

    def wrapper(self, version):
        path = self.bin / "mpicc"
        path.write_text(WRAPPER.format(version=version, lib=self.lib))
        path.chmod(0o755)

    def library(self, rank):
        source = self.root / "library.c"
        source.write_text(f"int rank(void) {{ return {rank}; }}\n")
        subprocess.run(
            ["gcc", "-shared", "-fPIC", source, "-o", self.lib / "libmpi.so"],
            check=True,
        )

    def build(self, under=(), **variables):
        """Build in a new folder, as each session does; tell whether what was kept was taken.

        :param under: a command line to run it under.
        """
        self.builds += 1
        place = self.root / f"stage-{self.builds}"
        place.mkdir()
        shutil.copy(SOURCES / "build.sh", place)
        for name, text in self.sources.items():
            (place / name).write_text(text)
        env = os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}"} | variables
        done = programs.succeed(
            [*under, "sh", "build.sh", self.kept, "mpicc"], cwd=place, env=env
        )
        assert subprocess.run([place / "placement"], env=env).returncode in (0, 1)
        self.said = done.stdout + done.stderr
        return "built before, and unchanged" in done.stdout

    def programs(self):
        return [path for path in self.kept.rglob("placement") if path.is_file()]


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path)
    assert not folder.build()
    return folder


def test_the_same_is_taken_again(folder):
    assert folder.build() and folder.build()
    assert len(folder.programs()) == 1
    assert [
        path.name for path in folder.kept.iterdir() if path.name.startswith(".")
    ] == []


@pytest.mark.parametrize("name", ["placement.c", "errors.h", "Makefile"])
def test_a_changed_source_is_built_anew(folder, name):
    comment = "# changed\n" if name == "Makefile" else "/* changed */\n"
    folder.sources[name] += comment
    assert not folder.build() and folder.build()
    folder.sources[name] = SMALL[name]
    assert folder.build()


def test_another_compiler_wrapper_or_flag_builds_anew(folder):
    folder.wrapper("2")
    assert not folder.build() and folder.build()
    assert not folder.build(CFLAGS="-g") and folder.build(CFLAGS="-g")


def test_an_mpi_library_that_was_changed_in_place_builds_anew(folder):
    folder.library(1)
    assert not folder.build() and folder.build()


def test_a_program_that_is_not_as_it_was_left_is_built_anew(folder):
    (program,) = folder.programs()
    program.write_bytes(program.read_bytes()[:-100])
    assert not folder.build() and folder.build()
    program.unlink()
    assert not folder.build() and folder.build()


def test_two_sessions_of_one_process_number_build_side_by_side(
    folder, tmp_path, monkeypatch
):
    """Each in a container of its own: both build, and what is kept is whole."""
    folder.sources["placement.c"] += "/* new */\n"
    # The first waits where it has copied its program, until the second has ended.
    copied, go_on = tmp_path / "copied", tmp_path / "go-on"
    os.mkfifo(go_on)
    real = shutil.which("ldd")
    wait = f"case $PWD in *.new-*) mkdir {copied} 2>/dev/null && read -r _ < {go_on} ;; esac"
    (folder.bin / "ldd").write_text(f'#!/bin/sh\n{wait}\nexec {real} "$@"\n')
    (folder.bin / "ldd").chmod(0o755)
    (folder.bin / "hostname").write_text("#!/bin/sh\necho head\n")
    (folder.bin / "hostname").chmod(0o755)
    alone = ("unshare", "--user", "--map-root-user", "--pid", "--fork")
    done = programs.run([*alone, "true"])
    if done.returncode:
        pytest.skip(f"no namespace of processes can be made: {done.stderr.strip()}")
    with ThreadPoolExecutor() as pool:
        first = pool.submit(folder.build, alone)
        wait_for(copied.exists, "the first has not built")
        assert not folder.build(alone)
        go_on.write_text("go on\n")
        assert not first.result()
    assert "warning" not in folder.said and folder.build()
    assert [
        path.name for path in folder.kept.iterdir() if path.name.startswith(".")
    ] == []


def test_a_program_that_cannot_be_built_stops_no_other(folder):
    """What was built is not kept: the next session tries again."""
    folder.sources["Makefile"] = (
        SMALL["Makefile"].replace("= placement", "= other placement")
        + "other:\n\tfalse\n"
    )
    assert not folder.build() and "warning: not every program was built" in folder.said
    assert not folder.build()


def test_a_folder_that_cannot_be_kept_is_told_and_fails_nothing(folder, tmp_path):
    folder.kept = tmp_path / "file" / "kept"
    (tmp_path / "file").write_text("")
    assert not folder.build() and "warning: cannot keep what was built" in folder.said


def test_no_compiler_is_one_line(tmp_path):
    shutil.copy(SOURCES / "build.sh", tmp_path)
    done = programs.run(
        ["sh", "build.sh", tmp_path / "kept", "no-such-mpicc"], cwd=tmp_path
    )
    assert done.returncode == 127
    assert (
        done.stderr
        == "error: there is no no-such-mpicc; see cc and PATH of the environment\n"
    )


def test_own_programs_can_be_built_from_a_read_only_clone(tmp_path):
    """What is copied from there has to be writable, for the build and for ReFrame."""
    builds = [
        case.check
        for case in loading.cases("local", suite="fabric")
        if case.check.unique_name.startswith("FabricPrograms")
    ]
    build = builds[0]
    sources, stage = tmp_path / "clone", tmp_path / "stage"
    shutil.copytree(SOURCES, sources)
    stage.mkdir()
    folders = [sources, *(path for path in sources.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    script = "\n".join(build.prebuild_cmds).replace(str(SOURCES), str(sources))
    subprocess.run(["sh", "-ec", script], cwd=stage, check=True)
    assert build.sourcesdir is None
    assert len(folders) > 2
    assert (stage / "Makefile").exists()
    copied = [stage, *(path for path in stage.rglob("*") if path.is_dir())]
    assert len(copied) == len(folders) and all(
        path.stat().st_mode & 0o200 for path in copied
    )
    for folder in folders:
        folder.chmod(0o755)  # so that pytest can delete them

# SPDX-License-Identifier: BSD-3-Clause
"""What an MPI or an installation lacks concerns only the cases that need it; OSU verifies its data, and its
cores."""

from types import SimpleNamespace

import pytest
import reframe.utility.sanity as sn
from reframe.core.exceptions import SanityError, SkipTestError

from fabric_checks.parsers.placement import RankPlace
from tests.checks import everything

#: What `make -k -O` prints where a prototype has no `const`, and the warnings of another program before it.
STDERR = """\
In file included from common/errors.h:19:
rotate.c:242:12: warning: 'MPI_Waitall' accessing 20 bytes in a region of size 0 [-Wstringop-overflow=]
overlap.c:7:1: error: unknown type name 'MPI_Message'
make: *** [Makefile:47: overlap] Error 1
In file included from profiler/calls.h:1:
calls.h:9:12: error: conflicting types for 'MPI_Pready_list'
make: *** [Makefile:47: profile.so] Error 1
make: Target 'all' not remade because of errors.
"""


@pytest.fixture(scope="module")
def rich(of_module):
    return [case.check for case in everything.cases(of_module, suite="osu")]


def the_first(checks, kind, **values):
    return next(
        c
        for c in checks
        if type(c).__name__ == kind
        and all(getattr(c, n) == v for n, v in values.items())
    )


def programs(folder, *built, stderr=STDERR):
    """Return the fixture of the collection's own programs as it is after a build."""
    from checks.builds import FabricPrograms

    (folder / "rfm_build.err").write_text(stderr)
    for name in built:
        (folder / name).write_text("")
    of = SimpleNamespace(
        stagedir=str(folder),
        current_environ=SimpleNamespace(name="e", cc="mpicc"),
        profile=False,
    )
    of.container = None
    of.build_job = SimpleNamespace(stderr="rfm_build.err")
    for name in ("_first_error", "require_program", "programs_exist", "resolved"):
        setattr(of, name, getattr(FabricPrograms, name).__get__(of))
    return of


def test_a_program_that_is_not_built_names_its_own_first_error(tmp_path):
    own = programs(tmp_path, "placement", "ports", "rotate")
    assert sn.evaluate(own.programs_exist())
    assert own.require_program("rotate") == tmp_path / "rotate"
    with pytest.raises(
        SanityError,
        match=r"overlap cannot be built in e: .overlap\.c:7:1: error: unknown type",
    ):
        own.require_program("overlap")
    with pytest.raises(
        SanityError,
        match=r"profile\.so cannot be built in e: .calls\.h:9:12: error: conflicting",
    ):
        own.require_program("profile.so")


def test_without_a_compiler_its_absence_is_the_error(tmp_path):
    own = programs(
        tmp_path,
        stderr="error: there is no mpicc; see cc and PATH of the environment\n",
    )
    with pytest.raises(
        SanityError, match=r"placement cannot be built in e: 'error: there is no mpicc"
    ):
        sn.evaluate(own.programs_exist())


@pytest.mark.parametrize("prefix", ["{}", "$OSU_ROOT"], ids=["prefix", "variable"])
def test_what_is_not_in_the_prefix_is_skipped(rich, tmp_path, monkeypatch, prefix):
    check = the_first(rich, "OsuLatency", layout="1x2")
    own, root = programs(tmp_path), tmp_path / "osu"
    (tmp_path / "osu.folder").write_text(f"{root}\n")
    monkeypatch.setitem(vars(check), "fabric_programs", own)
    command = f"{prefix.format(root)}/{{folder}}/{{benchmark}}"
    monkeypatch.setattr(check, "program", {**check.program, "command": command})
    check.look_for_program()  # a prefix that is not on this host is not looked at
    (root / "pt2pt").mkdir(parents=True)
    with pytest.raises(SkipTestError, match=f"^not in {root}$"):
        check.look_for_program()
    (root / "pt2pt/osu_latency").write_text("")
    check.look_for_program()


def test_osu_verifies_its_data_in_a_launch_of_its_own(rich, tmp_path, monkeypatch):
    check = the_first(rich, "OsuLatency", layout="1x2", memory="host")
    assert check.around_launch() == ([], [])
    monkeypatch.setattr(check, "verify_data", True)
    (line,), _ = check.around_launch()
    assert line.endswith("osu_latency -m 1:4194304 -c -x 0 -i 2 > validation.txt || :")
    monkeypatch.setattr(type(check), "stagedir", str(tmp_path))
    monkeypatch.setattr(check, "with_cause", lambda what: what)
    with pytest.raises(
        SanityError, match=r"OSU did not verify the data \(-c\): .*No such file"
    ):
        check.read("")
    table = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)        Validation\n1    1.50    Fail\n"
    (tmp_path / "validation.txt").write_text(table)
    with pytest.raises(
        SanityError,
        match=r"^OSU's own validation found wrong data at 1 B \(line 3\); see /.*\.txt",
    ):
        check.read("")
    monkeypatch.setitem(check.program, "version", "7.4")
    monkeypatch.setattr(check, "benchmark", "allreduce_persistent")
    assert not check.validated


def test_osu_verifies_sums_as_integers(rich, monkeypatch):
    check = the_first(rich, "OsuCollective", layout="1x2", benchmark="allreduce")
    monkeypatch.setattr(check, "verify_data", True)
    assert " -c -x 0 -i 2 -T mpi_int -m 4:1048576 > " in check.around_launch()[0][0]
    assert check.validated_B[0] == 4


@pytest.mark.parametrize("cores, findings", [("0:1", 1), ("0:1,0:2", 0)])
def test_threads_that_are_bound_to_one_core_are_a_finding(
    rich, monkeypatch, cores, findings
):
    from tests.checks.outputs import healthy_output

    check = the_first(rich, "OsuConcurrentLatency", layout="1x2")
    ranks = [
        RankPlace(rank, "n", "n", "0", frozenset(cores.split(","))) for rank in range(2)
    ]
    monkeypatch.setattr(type(check), "ranks", ranks)
    monkeypatch.setattr(check.facts, "findings", None)
    check.measure(healthy_output(check))
    texts = [each["text"] for each in check.facts.findings or []]
    assert len(texts) == findings and all(
        text.startswith("rank 1 is bound to one core") for text in texts
    )

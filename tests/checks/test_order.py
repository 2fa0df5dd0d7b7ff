# SPDX-License-Identifier: BSD-3-Clause
"""The order in the docstring of `FabricCheck`: of the hooks, for every check, and of the lines of real job
scripts."""

import re

import pytest

from tests import sessions
from tests.checks import everything

#: What stands for itself in the lines of a script, as it is in those of SETTINGS.
PLACEHOLDERS = {
    "PREPARE": "umask 077",
    "OWN": r"ln -sf \S+ \.",
    "PROBE": r"\S+/placement --nodes \d+ --ppn \d+( --shared)?",
    "PORTS": r"\S+/ports --output ports(?:-\d+x\d+)? --",
    "PROGRAM": r"/(?:osu|lammps)/.*?",
    "LAUNCH": r"mpirun -np \d+(?: -ppn \d+)?",
    "BEFORE": r"fabric_start=\$\(date \+%s%N\)",
    "BEHIND": r"(?:fabric_status=\$\?|echo \"launch_to_end_ns: .*?\"|\(exit \$fabric_status\))",
    "...": ".*",
    "-L": r"-\d+x\d+",
}
#: `rich`, so that every line is there: with a scheduler, and with programs that are there without a build.
SETTINGS = """
import runpy
from fabric_checks.schedulers.slurm import scheduler
site_configuration = runpy.run_path({rich!r})["site_configuration"]
(system,), (environment,) = site_configuration["systems"], site_configuration["environments"]
for partition in system["partitions"]:
    partition |= {{"scheduler": "fabric-slurm", "prepare_cmds": ["umask 077"]}}
    partition["env_vars"] = [["OF_PARTITION", "1"]]
environment["env_vars"] = [["OF_ENVIRONMENT", "1"]]
for program in environment["extras"]["programs"].values():
    program["stack"] = "wheels"
"""
PLAIN = ("LammpsBench %problem=lj %layout=2x2", "OsuHello %layout=2x2")
SEVERAL = (
    "OsuHelloPpnRatio %layout=2x2",
    "LammpsPpnSeries %problem=lj %scaling=fixed %layout=2x2",
)


@pytest.fixture(scope="module")
def rich(of_module):
    """Return the checks of a system that offers everything, and the class that documents the order."""
    checks = [case.check for case in everything.cases(of_module)]
    (base,) = {
        each
        for check in checks
        for each in type(check).__mro__
        if each.__name__ == "FabricCheck"
    }
    return checks, base


def blocks(base):
    """Return the three blocks of the docstring: lists of lines without the indentation."""
    found = re.findall(r"::\n\n((?:        .*\n)+)", base.__doc__ + "\n")
    assert len(found) == 3
    return [[line[8:] for line in block.splitlines()] for block in found]


def documented_order(base):
    """Return the hooks by phase, as ReFrame calls it."""
    order = {}
    for line in blocks(base)[0][2:]:
        if name := line[:20].strip():
            when, _, phase = name.rpartition(" ")
            hooks = order[
                f"{ {'before': 'pre', 'after': 'post', '': 'in'}[when] }_{phase}"
            ] = []
        if (
            hook := line[20:48].removesuffix("* ").strip()
        ):  # or else the line goes on with what there is
            hooks.append(hook.split()[0])
    assert order.pop("in_sanity") == ["validate"]
    return order


def name_of(hook):
    """Return the name that the table has for a hook."""
    # ReFrame loads a folder FOLDER as a package FOLDER@HASH.
    folders = re.sub(r"@\w+", "", hook.__module__).split(".")
    return (
        "OWN" if folders[0] == "checks" and folders[1:] != ["base"] else hook.__name__
    )


def test_the_hooks_of_every_check_run_in_the_order_of_the_docstring(rich):
    checks, base = rich
    documented = documented_order(base)
    met = {phase: set() for phase in documented}
    for check in {type(check): check for check in checks}.values():
        for phase, hooks in check.pipeline_hooks().items():
            names = [name_of(hook) for hook in hooks]
            met[phase] |= set(names)
            # Those of a suite's classes come where the classes do, before those that come last.
            positions = [
                documented[phase].index(name) for name in names if name != "OWN"
            ]
            assert positions == sorted(positions), (check.name, phase, names)
    assert {phase: set(names) for phase, names in documented.items()} == met


def dry_run(folder):
    """Return the job scripts of a dry run, by case."""
    (folder / "rich.yaml").write_text("no_reference:\n- why: it is no machine\n")
    names = "|".join(re.escape(case.replace(" ", "")) for case in (*PLAIN, *SEVERAL))
    settings = SETTINGS.format(rich=str(everything.SETTINGS))
    done = sessions.dry_run(
        folder, settings, "--system=rich:cpu", f"--name=^({names})$"
    )
    found = {}
    for case, digest in re.findall(r"\[ DRY +\] (.*?) /([0-9a-f]{8}) @", done.stdout):
        if case in (*PLAIN, *SEVERAL):
            (script,) = folder.rglob(f"{case.split(' ')[0]}_{digest}/rfm_job.sh")
            found[case] = script.read_text()
    assert len(found) == 4, done.stdout + done.stderr
    return found


def pattern_of(lines):
    """Return the regular expression for the lines of a script, one for each documented line."""
    for line in lines:
        documented = re.split(r" {2,}", line)[0]
        several = re.fullmatch(r"\[(.*)\]", documented)
        pattern = re.escape(several[1] if several else documented)
        # Within a line, what is in brackets may be there once or several times too.
        pattern = re.sub(r"\\\[(.*?)\\\]", r"(?:\1)*", pattern)
        for placeholder, stands_for in PLACEHOLDERS.items():
            pattern = pattern.replace(re.escape(placeholder), stands_for)
        yield f"(?:{pattern}\n)*" if several else f"{pattern}\n"


def test_the_lines_of_a_script_are_in_the_order_of_the_docstring(rich, tmp_path):
    _, plain, several = blocks(rich[1])
    probe = next(
        number for number, line in enumerate(plain) if line.startswith("LAUNCH PROBE")
    )
    each_launch, last_launch = (
        list(pattern_of(several[:2])),
        list(pattern_of(several[2:])),
    )
    head = list(pattern_of(plain[:probe]))
    of_plain = "".join(pattern_of(plain))
    of_several = "".join([*head, "(?:", *each_launch, ")+", *last_launch])
    scripts = dry_run(tmp_path)
    for case, script in scripts.items():
        pattern = of_plain if case in PLAIN else of_several
        assert re.fullmatch(pattern, script), f"{case}:\n{script}\nis not\n{pattern}"
    # Each line is there in one of them.
    for line in pattern_of([*plain, *several]):
        assert any(
            re.search(f"^{line.removesuffix('*')}", script, re.MULTILINE)
            for script in scripts.values()
        ), line

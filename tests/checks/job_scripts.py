# SPDX-License-Identifier: BSD-3-Clause
"""The job scripts that ReFrame's dry run writes for the systems to copy; golden ones are in
tests/golden/job_scripts.

After a change that is meant to change them:

    . ci/env.sh
    python -m tests.checks.job_scripts      # writes them anew: read the difference against the scheduler's
    manual

Only what depends on the machine is replaced: paths by <stage>, <home>, <clone>, <python>; hashes by <hash>.
The permission to run Open MPI as root is left out.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from fabric_checks.core.paths import home
from tests import programs
from tests.conftest import GOLDEN, ROOT

SCRIPTS = GOLDEN / "job_scripts"
SYSTEMS = ("generic_slurm", "generic_flux", "generic_pbs", "generic_lsf")
#: One of each kind: on a node; between two nodes at 1 and at 2 processes a node; a collective on all of all
#: nodes; a program of our own; LAMMPS; several launches in one job.
CASES = (
    "OsuLatency %layout=1x2",
    "OsuLatency %layout=2x1",
    "OsuMultiLatency %layout=2x2",
    "OsuCollective %benchmark=alltoall %layout=4x32",
    "Rotate %pattern=rotate %layout=4x1",
    "LammpsBench %problem=lj %layout=4x2",
    "OsuMultiLatencyPpnRatio %layout=2x2",
)


def dry_run(system, results):
    """Return the job scripts of a system's :data:`CASES` for every MPI, by (partition+environment, case)."""
    results = Path(results)
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FABRIC_", "RFM_", "FLUX_"))
    }
    env |= {
        "FABRIC_HOME": str(home()),
        "FABRIC_RESULTS": str(results),
        "FABRIC_SESSION": "dry",
        "FABRIC_MPI": "all",
    }
    name = "^(" + "|".join(re.escape(case.replace(" ", "")) for case in CASES) + ")$"
    command = [
        Path(sys.executable).with_name("reframe"),
        "-C",
        ROOT / "config/settings.py",
    ]
    for suite in ("osu/pt2pt.py", "osu/collective.py", "fabric", "lammps"):
        command += ["-c", ROOT / "checks" / suite]
    command += ["--system", system, "-n", name, "--dry-run"]
    done = programs.succeed(command, env=env)
    found = {}
    for case, digest, where in re.findall(
        r"\[ DRY +\] (.*?) /([0-9a-f]{8}) @(\S+)", done.stdout
    ):
        if case in CASES:
            partition, environ = where.split(":")[1].split("+")
            stage = results / "stage/dry" / system / partition / environ
            (script,) = stage.glob(f"{case.split(' ')[0]}_{digest}/rfm_job.sh")
            found[f"{partition}+{environ}", case] = without_this_machine(
                script.read_text(), results
            )
    return found


def without_this_machine(script, results):
    """Return a job script with placeholders for what is of this machine."""
    for path, placeholder in (
        (results / "stage/dry", "<stage>"),
        (sys.executable, "<python>"),
        (home(), "<home>"),
        (ROOT, "<clone>"),
    ):
        script = script.replace(str(path), placeholder)
    script = re.sub(r"(?<=/parts/)([a-z-]+)-[0-9a-f]{12}\b", r"\1", script)
    script = re.sub(r"(?<=_)[0-9a-f]{8}\b", "<hash>", script)
    script = re.sub(
        r"(#PBS -N .*_)[0-9a-f]+$", r"\1<hash>", script, flags=re.MULTILINE
    )  # cut by PBS's limit
    script = re.sub(r"python3\.\d+", "python3.N", script)
    return re.sub(r"^export OMPI_ALLOW_RUN_AS_ROOT.*\n", "", script, flags=re.MULTILINE)


def path_of(system, where):
    """Return the file with the golden scripts of a partition and an environment."""
    return SCRIPTS / f"{system}.{where}.txt"


def as_text(scripts):
    """Return scripts by case as one text."""
    return "\n".join(
        f"==> {case} <==\n{script}" for case, script in sorted(scripts.items())
    )


def by_environment(found):
    """Return scripts by case for each partition+environment."""
    found_by = {}
    for (where, case), script in found.items():
        found_by.setdefault(where, {})[case] = script
    return found_by


def main():
    """Write the golden job scripts anew."""
    for path in SCRIPTS.glob("*.txt"):
        path.unlink()
    for system in SYSTEMS:
        with tempfile.TemporaryDirectory() as results:
            for where, scripts in by_environment(dry_run(system, results)).items():
                path_of(system, where).write_text(as_text(scripts))
                print(path_of(system, where).relative_to(ROOT))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Job scripts of cases and builds inside an image, for each platform, by ReFrame's dry run; and refusals at loading."""

import os
import re
import sys
from pathlib import Path

import pytest

from fabric_checks.core.paths import ROOT, home
from tests import programs

SETTINGS = """
from tests.checks.rich import OSU, site
from fabric_checks.schedulers.slurm import scheduler
inside = {inside!r}
site_configuration = site("here", [{{"name": "p", "extras": {{"nodes": 2, "cores": 2}}}}], {{"name": "e"}})
osu = OSU | {{"stack": "modules"}}
site_configuration["systems"][0]["partitions"][0] |= {{
    "scheduler": "fabric-slurm", "launcher": "srun", "environs": list(inside), "access": ["--partition=gpu"]
}}
site_configuration["environments"] = [
    {{"name": name, "cc": "mpicc", "features": ["mpi", "mpicc", "osu", "osu_c"],
      "extras": {{"programs": {{"osu": osu}}, "container": each}}}}
    for name, each in inside.items()
]
"""
PODMAN = "--network=host --pid=host --ipc=host --uts=host --pull=never"
#: By platform its image and options, and what enters it: of a command, with {stage} and {own}, the mounted folders.
ENTERED = {
    "Apptainer": ('apptainer exec -B"{stage}:{stage}" -B"{own}:{own}" --pwd {stage} --nv /i/osu.sif', ["--nv"]),
    "Sarus": (
        'sarus run --mount=type=bind,source="{stage}",destination="{stage}" '
        '--mount=type=bind,source="{own}",destination="{own}" -w {stage} --mpi /i/osu.sif',
        ["--mpi"],
    ),
    "Podman": (
        'exec podman run $keep --rm -v "{stage}":"{stage}" -v "{own}":"{own}" -w {stage} '
        + PODMAN
        + " --device=/dev/x "
        '/i/osu.sif "$@"\' podman',
        ["--device=/dev/x"],
    ),
    "Pyxis": (
        "--container-image=/i/osu.sif --container-mounts={stage}:{stage},{own}:{own} --container-workdir={stage} "
        "--no-container-mount-home",
        ["--no-container-mount-home"],
    ),
    "EDF": ("--environment=/i/osu.sif", []),
}


def dry_run(folder, inside):
    settings = folder / "settings.py"
    settings.write_text(SETTINGS.format(inside=inside))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("FABRIC_", "RFM_"))}
    env |= {
        "PYTHONPATH": f"{ROOT}:{ROOT}/src",
        "FABRIC_HOME": str(home()),
        "FABRIC_RESULTS": str(folder),
        "RFM_COLORIZE": "no",
    }
    reframe = Path(sys.executable).with_name("reframe")
    line = [reframe, "-C", settings, "-c", ROOT / "checks", "-R", "--system=here", "--dry-run"]
    return programs.run([*line, "-n", "^OsuLatency%layout=2x1$"], env=env, cwd=folder)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """Return the scripts of the case and of its build by platform, and their folders."""
    folder = tmp_path_factory.mktemp("dry")
    inside = {name: {"platform": name, "image": "/i/osu.sif", "options": own} for name, (_, own) in ENTERED.items()}
    done = dry_run(folder, inside)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    found = {}
    for name in inside:
        case, build = (next(folder.rglob(f"{name}/{kind}_*/rfm_{kind_}.sh")) for kind, kind_ in KINDS)
        found[name] = case.read_text(), build.read_text(), {"stage": case.parent, "own": build.parent}
    return found


KINDS = (("OsuLatency", "job"), ("FabricPrograms", "build"))


@pytest.mark.parametrize("platform", ENTERED)
def test_probe_and_program_are_inside_and_the_ports_where_the_host_is(scripts, platform):
    script, _, folders = scripts[platform]
    enter = ENTERED[platform][0].format(**folders)
    probe, program = script.splitlines()[-2:]
    placement, osu = f" {folders['own']}/placement --nodes 2 --ppn 1", " /osu/pt2pt/osu_latency -m 1:4194304"
    ports = f"{folders['own']}/ports --output ports -- "
    assert probe.endswith(f"{enter}{placement} > placement.txt || exit $?") and probe.startswith("srun ")
    if platform in ("Pyxis", "EDF"):
        assert program == f"srun {enter} {ports}{osu.strip()}"
        assert "container.txt" not in script
    else:
        assert program.startswith(f"srun {ports}") and program.endswith(f"{enter}{osu}")
        assert f"{enter} readlink /proc/self/ns/net >> container.txt || :" in script
    assert ("podman image inspect" in script) == (platform == "Podman")


@pytest.mark.parametrize("platform", ENTERED)
def test_own_programs_are_built_inside_and_the_ports_by_the_host(scripts, platform):
    _, script, folders = scripts[platform]
    kept = home() / "programs"
    enter = ENTERED[platform][0].format(stage=folders["own"], own=kept)
    build = f"{enter} sh build.sh {kept} mpicc || true"
    if platform in ("Pyxis", "EDF"):
        assert f"srun --partition=gpu --nodes=1 --ntasks=1 {build}\n" in script and "CC=cc" not in script
    else:
        assert re.search(rf"{re.escape(build)}\nrm -f ports; make ports CC=cc \|\| true\n", script)


@pytest.mark.parametrize(
    "inside, cause", [({"image": "x", "platform": "Docker"}, "choose from Apptainer"), ([], "write it as")]
)
def test_a_wrong_description_ends_the_session_with_one_line(tmp_path, inside, cause):
    done = dry_run(tmp_path, {"wrong": inside})
    text = done.stdout + done.stderr
    assert done.returncode != 0 and "wrong" in text and cause in text and "Traceback" not in text

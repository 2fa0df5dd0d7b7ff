# SPDX-License-Identifier: BSD-3-Clause
"""A case inside an image: its job script, its part of the record, and the sentences that name the image."""

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from fabric_checks.core.extras import Container
from fabric_checks.core.paths import ROOT, home
from fabric_checks.reframe_ext import internals
from fabric_checks.reframe_ext.mixins import ContainerMixin, RecordMixin
from fabric_checks.reframe_ext.mixins.container import inside
from fabric_offers import recomputation_run
from fabric_offers.scripts import differences
from tests import loading, programs, sessions
from tests.reframe_ext.test_ports import MUCH, Check

A = f"sha256:{'a' * 64}"
OSU = {"platform": "Podman", "image": "osu:7.4", "mpi": "mpich@4.3"}


class Inside(ContainerMixin, Check, RecordMixin):
    """A case of an environment inside an image."""

    stderr, stdout = "rfm_job.err", "rfm_job.out"

    def __init__(self, stage, container=OSU, *, mpi="MPICH Version: 4.3.1", **options):
        super().__init__(stage, **options)
        extras = {"container": container} if container else {}
        self.current_environ = SimpleNamespace(name="e", extras=extras)
        self.facts = SimpleNamespace(findings=None, ports=None, mpi=mpi, image=None)


def test_the_record_has_platform_image_and_digest(tmp_path):
    case = Inside(tmp_path, OSU | {"image": f"osu@{A}"})
    case.note_image()
    facts = case.facts
    assert facts.container == "Podman"
    assert facts.image == f"osu@{A}"
    assert facts.image_digest == A
    named = Inside(tmp_path)
    named.note_image()
    assert named.facts.image_digest == "unknown (osu:7.4)"
    bare = Inside(tmp_path, None)
    bare.note_image()
    assert bare.facts.image is None and bare.with_cause("x") == "x"


def test_a_failure_names_the_image(tmp_path):
    (tmp_path / "rfm_job.err").write_text("UCX ERROR: Destination is unreachable\n")
    assert (
        Inside(tmp_path)
        .with_cause("it ended")
        .startswith(
            "inside osu:7.4 (Podman): UCX has no transport to the other process"
        )
    )


def test_another_mpi_inside_fails_the_case_and_explains_a_wrong_placement(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(Check, "verify_placement", lambda _: None)
    Inside(tmp_path).verify_placement()
    other = Inside(tmp_path, mpi="Open MPI v5.0.8")
    with pytest.raises(
        SanityError,
        match=r"^MPI: Open MPI v5\.0\.8 runs inside osu:7\.4 \(Podman\), but `mpi`",
    ):
        other.verify_placement()
    assert re.match(
        r"MPI: Open MPI.*; inside osu:7\.4 \(Podman\): placement: 1 rank$",
        other.of_image("placement: 1 rank"),
    )


def test_podman_gets_the_environment_without_search_paths_and_the_descriptor_of_pmi(
    tmp_path,
):
    stand_in = tmp_path / "podman"
    stand_in.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@"; echo "PMI_FD $PMI_FD"; cat <&3\n'
    )
    stand_in.chmod(0o755)
    options = ("--network=bridge", "--device=/dev/x")
    line = " ".join(
        inside(
            Container("Podman", "osu:7.4", options), ["osu_bw", "-m 1:8"], [tmp_path]
        )
    )
    (tmp_path / "wire").write_text("cmd=init\n")
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": "/of/host",
        "UCX_TLS": "a b",
        "PMI_FD": "11",
    }
    script = f"exec 11< {shlex.quote(str(tmp_path / 'wire'))}; {line}"
    done = programs.run(
        [shutil.which("bash"), "-c", script], env=environment, check=True
    )
    words = done.stdout.splitlines()
    assert words[-6:] == ["osu:7.4", "osu_bw", "-m", "1:8", "PMI_FD 3", "cmd=init"]
    assert {
        "--preserve-fds=1",
        "--env=UCX_TLS",
        "--env=PMI_FD",
        "--pid=host",
        *options,
    } <= set(words)
    assert not {"--env=PATH", "--env=LD_LIBRARY_PATH", "--network=host"} & set(words)


@pytest.fixture
def stage(tmp_path):
    (tmp_path / "ports").mkdir()
    for node in ("n1", "n2"):
        (tmp_path / f"ports/{node}.txt").write_text(
            MUCH.replace("# node: n1", f"# node: {node}")
        )
    return tmp_path


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
#: By platform its image and options, and what enters it: of a command, with {stage} and {own}, the mounted
#: folders.
ENTERED = {
    "Apptainer": (
        'apptainer exec -B"{stage}:{stage}" -B"{own}:{own}" --pwd {stage} --nv /i/osu.sif',
        ["--nv"],
    ),
    "Sarus": (
        (
            'sarus run --mount=type=bind,source="{stage}",destination="{stage}" '
            '--mount=type=bind,source="{own}",destination="{own}" -w {stage} --mpi /i/osu.sif'
        ),
        ["--mpi"],
    ),
    "Podman": (
        'exec podman run $keep --rm -v "{stage}":"{stage}" -v "{own}":"{own}" -w {stage} '
        + PODMAN
        + ' --device=/dev/x /i/osu.sif "$@"\' podman',
        ["--device=/dev/x"],
    ),
    "Pyxis": (
        (
            "--container-image=/i/osu.sif --container-mounts={stage}:{stage},{own}:{own}"
            " --container-workdir={stage} --no-container-mount-home"
        ),
        ["--no-container-mount-home"],
    ),
    "EDF": ("--environment=/i/osu.sif", []),
}


CASE = "OsuLatency %layout=2x1"


def dry_run(folder, inside):
    chosen = ["--system=here", f"--name=^{CASE.replace(' ', '')}$"]
    settings = SETTINGS.format(inside=inside)
    return sessions.dry_run(folder, settings, *chosen, suites=["osu/pt2pt.py"])


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """Return the scripts of the case and of its build by platform, and their folders."""
    folder = tmp_path_factory.mktemp("dry")
    inside = {
        name: {"platform": name, "image": "/i/osu.sif", "options": own}
        for name, (_, own) in ENTERED.items()
    }
    done = dry_run(folder, inside)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    found = {}
    for name in inside:
        case, build = (
            next(folder.rglob(f"{name}/{kind}_*/rfm_{kind_}.sh"))
            for kind, kind_ in KINDS
        )
        found[name] = (
            case.read_text(),
            build.read_text(),
            {"stage": case.parent, "own": build.parent},
        )
    return found


KINDS = (("OsuLatency", "job"), ("FabricPrograms", "build"))


@pytest.mark.parametrize("platform", ENTERED)
def test_probe_and_program_are_inside_and_the_ports_where_the_host_is(
    scripts, platform
):
    script, _, folders = scripts[platform]
    enter = ENTERED[platform][0].format(**folders)
    probe, program = script.splitlines()[-2:]
    placement = f" {folders['own']}/placement --nodes 2 --ppn 1"
    osu = " /osu/pt2pt/osu_latency -m 1:4194304"
    ports = f"{folders['own']}/ports --output ports -- "
    assert probe.endswith(
        f"{enter}{placement} > placement.txt || exit $?"
    ) and probe.startswith("srun ")
    if platform in ("Pyxis", "EDF"):
        assert program == f"srun {enter} {ports}{osu.strip()}"
    else:
        assert program.startswith(f"srun {ports}") and program.endswith(f"{enter}{osu}")


@pytest.mark.parametrize("platform", ENTERED)
def test_own_programs_are_built_inside_and_the_ports_by_the_host(scripts, platform):
    _, script, folders = scripts[platform]
    kept = home() / "programs"
    enter = ENTERED[platform][0].format(stage=folders["own"], own=kept)
    build = f"{enter} sh build.sh {kept} mpicc || true"
    if platform in ("Pyxis", "EDF"):
        assert f"srun --partition=gpu --nodes=1 --ntasks=1 {build}\n" in script
        assert "CC=cc" not in script
    else:
        assert re.search(
            rf"{re.escape(build)}\nrm -f ports; make ports CC=cc \|\| true\n", script
        )


def test_a_wrong_description_ends_the_session_with_one_line(tmp_path):
    done = dry_run(tmp_path, {"wrong": {"image": "x", "platform": "Docker"}})
    text = done.stdout + done.stderr
    assert done.returncode != 0
    assert "wrong" in text
    assert "one of Apptainer" in text
    assert "Traceback" not in text


def test_an_offer_from_inside_an_image_has_the_job_scripts_of_its_description(
    scripts, tmp_path, monkeypatch
):
    """`offers check` makes them again on another machine, of the description alone."""
    stages = {
        platform: folders["stage"] for platform, (_, _, folders) in scripts.items()
    }
    results = next(iter(stages.values())).parents[4]
    describe = [
        sys.executable,
        "-m",
        "fabric_checks.reframe_ext.system_description",
        "here",
    ]
    own = {
        "PYTHONPATH": f"{ROOT}:{ROOT}/src",
        "RFM_CONFIG_FILES": str(results / "settings.py"),
    }
    env = sessions.environment(results, **own)
    programs.run([*describe, tmp_path / "system.json"], env=env, check=True)
    data = json.loads((tmp_path / "system.json").read_text())
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    loading.forget_checks()
    recomputation_run.take_system(data, tmp_path, tmp_path)
    made = {}
    with loading.once_a_process():
        for case in internals.load_cases(ROOT / "checks")[0]:
            if case.check.is_fixture() or case.check.display_name == CASE:
                internals.set_up(case)
            if case.check.display_name == CASE:
                made[case.environ.name] = recomputation_run.script(case, data)
    fields = ("session", "system", "partition", "environ")
    runs = [
        SimpleNamespace(
            folder=stage,
            case=(CASE, "p", platform),
            first=dict(zip(fields, stage.parts[-5:], strict=False)),
        )
        for platform, stage in stages.items()
    ]
    in_order = [made[platform] for platform in stages]
    assert differences(Path("/"), runs, in_order, str(tmp_path)) == ([], [])
    other = [{**each, "script": [*each["script"], "exit"]} for each in in_order]
    assert len(differences(Path("/"), runs, other, str(tmp_path))[0]) == len(runs)

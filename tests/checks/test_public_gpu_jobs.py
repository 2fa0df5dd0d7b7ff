# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of nccl-tests and rccl-tests are equal in effect to those of the public checks of CSCS on systems like
theirs.

Theirs are what ReFrame 4.10's dry run writes for eth-cscs/cscs-reframe-tests at 2f813557
(``checks/microbenchmarks/xccl/xccl_tests.py``) on two nodes of ``clariden:normal`` and ``beverin:mi300`` with
a uenv of Cray MPICH, and by the Container Engine. Ours are run by a shell whose ``srun`` notes what it gets.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import sessions

ANY = {"NCCL_DEBUG": "Info", "FI_LOG_LEVEL": "Info", "HWLOC_COMPONENTS": "-gl"}
UENV = ANY | {
    "NCCL_CROSS_NIC": "1",
    "NCCL_NET": "AWS Libfabric",
    "NCCL_NET_GDR_LEVEL": "PHB",
    "NCCL_PROTO": "^LL128",
    "FI_CXI_DEFAULT_CQ_SIZE": "131072",
    "FI_CXI_DEFAULT_TX_SIZE": "32768",
    "FI_CXI_DISABLE_HOST_REGISTER": "1",
    "FI_CXI_RX_MATCH_MODE": "software",
    "FI_MR_CACHE_MONITOR": "userfaultfd",
    "FI_CXI_RDZV_EAGER_SIZE": "0",
    "FI_CXI_RDZV_GET_MIN": "0",
    "FI_CXI_RDZV_THRESHOLD": "0",
}
MI300 = {"NCCL_MIN_NCHANNELS": "32"}
RCCL = {
    "NCCL_GDRCOPY_ENABLE": "1",
    "NCCL_NET_FORCE_FLUSH": "1",
    "FI_CXI_DISABLE_NON_INJECT_MSG_IDC": "1",
}
PMIX = {"PMIX_MCA_psec": "^munge", "PMIX_MCA_gds": "^shmem2"}
#: By partition and environment: options of the job, plugin of srun, the EDF, and the variables of the
#: processes.
THEIRS = {
    ("clariden", "uenv-nccl"): ("--account=a-root", "cray_shasta", None, UENV),
    ("clariden", "ce-nccl"): (
        "--account=a-root",
        "pmix",
        "nccl.toml",
        ANY | PMIX | {"NVIDIA_DISABLE_REQUIRE": "1"},
    ),
    ("beverin", "uenv-rccl"): ("-pmi300", "cray_shasta", None, UENV | MI300 | RCCL),
    ("beverin", "ce-rccl"): ("-pmi300", "pmix", "rccl.toml", ANY | PMIX | MI300),
}
#: Theirs has it for sendrecv alone. It is the number of channels of send and receive, so all_reduce has no
#: use for it.
OF_SENDRECV = {"NCCL_NCHANNELS_PER_NET_PEER": "4"}
#: What both run: 1 GiB, of all processes of two nodes with four GPUs, one GPU a process.
NODES, GPUS, SIZE_B = 2, 4, 2**30
#: Where and of what the log of NCCL is, which theirs prints among the values.
OURS = {"NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}

SETTINGS = """
import shlex
from fabric_checks.schedulers.slurm import scheduler
from fabric_checks.software.programs import environment
from fabric_checks.software.suites import nccl_tests, rccl_tests
THEIRS = {theirs!r}
OF_SENDRECV = {of_sendrecv!r}
GRAPHS = {{"nccl_tests": ["-G", "10"]}}

def system_environment(partition, name, version=None):
    access, plugin, edf, variables = THEIRS[partition, name]
    suite, version = (nccl_tests, version or "2.17.9") if name.endswith("nccl") else (rccl_tests, "develop")
    written = {{
        key: shlex.quote(value) for key, value in (variables | OF_SENDRECV).items() if key != "NCCL_DEBUG"
    }}
    extras = {{}}
    if edf:
        extras["container"] = {{"platform": "EDF", "image": edf, "options": [f"--mpi={{plugin}}"]}}
    else:
        written["SLURM_MPI_TYPE"] = plugin
    pairs = [list(each) for each in written.items()]
    return environment(
        {{"name": name + ("-new" if version == "2.19.6" else ""), "cc": "cc", "env_vars": pairs}},
        "modules",
        suite.installed("/opt/tests", version),
        extras=extras,
    )

def partition(name, feature, arch, environs, **more):
    extras = {{"nodes": {nodes}, "cores": 72, "ppn": [{gpus}], "nics": {gpus}, "fabric": ["hsn*", "cxi*"]}}
    return {{
        "name": name, "scheduler": "fabric-slurm", "launcher": "srun", "environs": environs,
        "features": [feature],
        "access": [next(each[0] for (of, _), each in THEIRS.items() if of == name.removesuffix("-graphs"))],
        "devices": [{{"type": "gpu", "arch": arch, "num_devices": {gpus}}}],
        "extras": extras | more,
    }}

site_configuration = {{
    "systems": [{{"name": "alps", "hostnames": ["none"], "prefix": ".", "partitions": [
        partition("clariden", "cuda", "sm_90", ["uenv-nccl", "ce-nccl", "uenv-nccl-new"]),
        partition("clariden-graphs", "cuda", "sm_90", ["uenv-nccl-new"], program_options=GRAPHS),
        partition("beverin", "rocm", "gfx942", ["uenv-rccl", "ce-rccl"]),
    ]}}],
    "environments": [system_environment(*of) for of in THEIRS]
    + [system_environment("clariden", "uenv-nccl", "2.19.6")],
}}
"""
SRUN = f"""#!{sys.executable}
import json, os, sys
with open(os.environ["CALLS"], "a") as file:
    print(json.dumps([sys.argv[1:], dict(os.environ)]), file=file)
"""


@dataclass
class Job:
    """The last launch of a job: options of the job and of srun, variables, and the program's words."""

    options: list[str]
    launcher: list[str]
    variables: dict[str, str]
    words: list[str]


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """Return a function that returns the job of a partition, an environment and a collective."""
    folder = tmp_path_factory.mktemp("dry")
    settings = SETTINGS.format(
        theirs=THEIRS, of_sendrecv=OF_SENDRECV, nodes=NODES, gpus=GPUS
    )
    chosen = f"--name=^[NR]cclCollective%benchmark=(all_reduce|sendrecv)%layout={NODES}x{GPUS}$"
    done = sessions.dry_run(folder, settings, "--system=alps", chosen, suites=["nccl"])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    (folder / "bin").mkdir()
    (folder / "bin/srun").write_text(SRUN)
    (folder / "bin/srun").chmod(0o755)

    def of(partition, environ, benchmark):
        scripts = [*folder.glob(f"**/{partition}/{environ}/*clCollective_*/rfm_job.sh")]
        (script,) = [
            each for each in scripts if f"/{benchmark}_perf" in each.read_text()
        ]
        calls = script.with_name("calls.json")
        base = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "CALLS": str(calls),
            "LC_ALL": "C.UTF-8",
        }
        subprocess.run(
            ["bash", script],
            cwd=script.parent,
            env=base,
            check=True,
            capture_output=True,
        )
        args, variables = json.loads(calls.read_text().splitlines()[-1])
        options = re.findall(r"^#SBATCH (\S+)$", script.read_text(), re.MULTILINE)
        own = {
            name
            for name in variables
            if name not in {*base, "PWD", "OLDPWD", "SHLVL", "_"}
        }
        at = next(
            number for number, word in enumerate(args) if not word.startswith("-")
        )
        words = args[at:]
        assert words[0].endswith("/ports") and words[3] == "--"
        return Job(
            options, args[:at], {name: variables[name] for name in own}, words[4:]
        )

    return of


@pytest.mark.parametrize("benchmark", ["all_reduce", "sendrecv"])
@pytest.mark.parametrize("of", THEIRS, ids=" ".join)
def test_a_job_has_the_effect_of_the_public_check(jobs, of, benchmark):
    access, plugin, edf, variables = THEIRS[of]
    job = jobs(*of, benchmark)
    assert {f"--ntasks={NODES * GPUS}", f"--ntasks-per-node={GPUS}", access} <= set(
        job.options
    )
    assert not [
        option for option in job.options if "gpu" in option or "gres" in option
    ]  # theirs asks for none
    given = dict(option.lstrip("-").split("=", 1) for option in job.launcher)
    assert given.get("mpi", job.variables.pop("SLURM_MPI_TYPE", None)) == plugin
    assert given.get("environment") == edf and given.keys() <= {"mpi", "environment"}
    assert job.variables.pop("NCCL_DEBUG").lower() == variables["NCCL_DEBUG"].lower()
    expected = {
        name: value for name, value in variables.items() if name != "NCCL_DEBUG"
    }
    assert {
        name: value for name, value in job.variables.items() if name not in OURS
    } == expected | OF_SENDRECV
    program, *options = job.words
    values = dict(zip(options[::2], options[1::2], strict=True))
    assert Path(program).name == f"{benchmark}_perf"
    first_B, last_B, factor = (int(values[name]) for name in ("-b", "-e", "-f"))
    assert any(first_B * factor**power == SIZE_B for power in range(20))
    assert last_B == SIZE_B
    assert values["-g"] == "1" and values.keys() == {"-b", "-e", "-f", "-g", "-c"}

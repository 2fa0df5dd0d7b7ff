# SPDX-License-Identifier: BSD-3-Clause
"""Clusters for the tests, and the reasons why there can be none on this machine."""

import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
import warnings
from pathlib import Path

import pytest

from ci.minicluster import needs, state
from ci.minicluster.errors import ClusterError
from ci.minicluster.spec import Spec
from tests import programs
from tests.conftest import ROOT, RUN
from tests.guard import GUARD_S

CI = ROOT / "ci"
#: Where Open MPI 5 crashes now and then when srun starts it: a message of a rank that is through with
#: MPI_Init comes to one that still waits there (open-mpi/ompi#12495).
OPENMPI_CRASHES_IN = "mca_pml_ob1_recv_frag_callback_match"
#: By MPI, the plugin of srun that starts it, and variables of the library.
MPIS = {
    "mpich": ("pmi2", {}),
    "impi": ("pmi2", {"I_MPI_THREAD_YIELD": "3"}),
    "openmpi": (
        "pmix",
        {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
    ),
}
#: An ordinary user of every Linux; not nobody, which slurmdbd of 26.05 refuses as its user.
ORDINARY = "daemon"
#: What srun prints where it cannot start a program by PMIx, and why.
NO_PMIX = {
    "can not load PMIx library": "Slurm cannot load PMIx (Debian: apt install libpmix-dev)",
    "Invalid MPI type 'pmix'": "this Slurm has no plugin for PMIx",
}
#: The variable with the name of a cluster in the environment of its processes: other clusters may be up.
MARK = "FABRIC_TEST_CLUSTER"


def require_pmix(printed):
    """Skip a test, with the reason, if srun printed that it has no PMIx."""
    for text, reason in NO_PMIX.items():
        if text in printed:
            pytest.skip(reason)


def require(scheduler="slurm", *, namespaces=True):
    """Skip a test, with the reason, on a machine where no cluster with a scheduler can be.

    :param namespaces: whether this user has to be allowed to make them.
    """
    path = os.environ["PATH"]
    try:
        account, prefix = needs.account(), needs.prefix(scheduler, os.environ)
        needs.check_programs(
            Spec(
                "x",
                2,
                2,
                scheduler == "slurm",
                account,
                scheduler=scheduler,
                prefix=prefix,
            )
        )
        if namespaces:
            needs.check_namespaces(account)
    except ClusterError as error:
        pytest.skip(str(error))
    finally:
        os.environ["PATH"] = path


class Cluster:
    """The command line, for one cluster with a name of its own."""

    def __init__(self, command=(CI / "cluster",), scheduler="slurm"):
        self.name = f"test-{RUN}-{uuid.uuid4().hex[:6]}"
        self.command = [str(part) for part in command]
        self.scheduler = scheduler

    def environment(self):
        return os.environ | {MARK: self.name}

    def call(self, *arguments, timeout=GUARD_S, **environment):
        """Run a command; it may fail."""
        own, dashes, rest = list(arguments), [], []
        if "--" in own:
            at = own.index("--")
            own, dashes, rest = own[:at], ["--"], own[at + 1 :]
        line = [*self.command, *own, "--name", self.name, *dashes, *rest]
        env = self.environment() | environment
        return programs.run(line, env=env, timeout=timeout)

    def __call__(self, *arguments, **options):
        """Run a command that has to succeed, and return what it says."""
        done = self.call(*arguments, **options)
        assert done.returncode == 0, (
            arguments,
            done.returncode,
            done.stdout,
            done.stderr,
        )
        return done.stdout

    def on(self, node, *command, **options):
        return self("exec", node, "--", *command, **options)

    def tried(self, node, *command, **options):
        """Run a command on a host; it may fail."""
        return self.call("exec", node, "--", *command, **options)

    def line_on(self, node, *command):
        """Return the command line of a command on a host."""
        return [*self.command, "exec", node, "--name", self.name, "--", *command]

    def sh(self, script, **options):
        return self.on("head", "bash", "-c", script, **options)

    def srun(self, *arguments, **options):
        """Start MPI ranks from the head, and return what there is of them; again, and with a warning, after
        that crash.

        Over a ring, which is asked for here, it is rare enough for three crashes in a row to be something
        else.
        """
        for _ in range(3):
            done = self.tried(
                "head",
                "srun",
                *map(str, arguments),
                SLURM_PMIX_FENCE="ring",
                **options,
            )
            if OPENMPI_CRASHES_IN not in done.stderr:
                break
            warnings.warn(
                f"Open MPI crashed in MPI_Init, as it does now and then: {done.stderr}",
                stacklevel=2,
            )
        require_pmix(done.stderr)
        return done

    @property
    def entry(self):
        return next(
            (entry for entry in state.entries() if entry.spec.name == self.name), None
        )

    def end(self):
        if self.entry:
            self("down")


@pytest.fixture(scope="session")
def machine():
    """A machine on which clusters can be; elsewhere the tests are skipped with the reason."""
    require()


@pytest.fixture
def cluster(machine):
    """A cluster to be, which is ended after the test."""
    cluster = Cluster()
    yield cluster
    cluster.end()


def cluster_of(*options):
    """Return a fixture: a cluster that is up for the tests of a module.

    :param options: of `ci/cluster up`.
    """

    @pytest.fixture(scope="module")
    def up(machine):
        cluster = Cluster()
        cluster("up", *options)
        yield cluster
        cluster.end()

    return up


#: A cluster of four nodes with accounting.
four = cluster_of("--nodes", "4")


@pytest.fixture
def as_user():
    """The beginning of a command line of an ordinary user, and the command itself where that user can read
    it."""
    if os.geteuid() != 0:
        yield [CI / "cluster"]
        return
    user = pwd.getpwnam(ORDINARY)
    become = [
        "setpriv",
        f"--reuid={user.pw_uid}",
        f"--regid={user.pw_gid}",
        "--clear-groups",
    ]
    version = [
        "/usr/bin/python3",
        "-c",
        "import sys; sys.exit(sys.version_info < (3, 10))",
    ]
    if (
        shutil.which("setpriv") is None
        or subprocess.run([*become, *version], check=False).returncode != 0
    ):
        pytest.skip("as root this needs setpriv and /usr/bin/python3 of 3.10 or later")
    # pytest keeps its own folders to their owner.
    folder = Path(tempfile.mkdtemp(prefix="clone-"))
    folder.chmod(0o755)
    shutil.copytree(
        CI / "minicluster",
        folder / "minicluster",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(CI / "cluster", folder)
    yield [*become, "/usr/bin/python3", folder / "cluster"]
    shutil.rmtree(folder)

# SPDX-License-Identifier: BSD-3-Clause
"""The container image that programs run in: what starts them there, and its part of the record."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from reframe.core.builtins import run_after, run_before
from reframe.core.containers import ContainerPlatform
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.extras import Container
from fabric_checks.software import containers

#: Without these a program in Podman has another network, name of the host and shared memory than the launcher
#: gave it: UCX, for one, takes TCP between processes of one node in different PID namespaces.
PODMAN_OPTIONS = (
    "--network=host",
    "--pid=host",
    "--ipc=host",
    "--uts=host",
    "--pull=never",
)
#: Podman passes on only descriptors from 3 on without a gap, and PMI's has any number. With `--env-host` the
#: search paths of the host would replace those of the image.
_KEEP = (
    '[ -z "$PMI_FD" ] || { exec 3<&"$PMI_FD"; export PMI_FD=3; keep=--preserve-fds=1; }; for name in'
    ' $(compgen -e); do case $name in PATH|HOME|LD_*) ;; *) keep="$keep --env=$name" ;; esac; done; exec '
)


def inside(
    container: Container | None, words: Sequence[str], folders: Sequence[str | Path]
) -> list[str]:
    """Return the command line of a program inside an image; as it is where the launcher enters it, or without
    one.

    :param folders: those that are mounted under their own path; the first is the current one.
    """
    if container is None or container.by_launcher:
        return list(words)
    if container.platform == "Podman":
        # ReFrame lacks Podman, which takes Docker's options and starts containers as processes of the job.
        given = {option.partition("=")[0] for option in container.options}
        own = [each for each in PODMAN_OPTIONS if each.partition("=")[0] not in given]
        line = _launch("Docker", container, own, '"$@"', folders)
        line = line.replace("docker run", "podman run $keep", 1)
        return ["bash", "-c", shlex.quote(_KEEP + line), "podman", *words]
    return [_launch(container.platform, container, [], " ".join(words), folders)]


def _launch(
    platform_name: str | None,
    container: Container,
    own: Sequence[str],
    command: str,
    folders: Sequence[str | Path],
) -> str:
    """Return ReFrame's command line for a command in an image."""
    platform = ContainerPlatform.create(platform_name)
    platform.image, platform.options = container.image, [*own, *container.options]
    platform.command = command
    platform.mount_points = [(str(folder), str(folder)) for folder in folders]
    platform.mount_stagedir, platform.workdir = None, str(folders[0])
    return str(platform.launch_command(str(folders[0])))


def launcher_options(
    container: Container | None, folders: Sequence[str | Path]
) -> list[str]:
    """Return the options with which the launcher enters an image; none where it does not.

    :param folders: as for :func:`inside`. An EDF mounts its folders itself.
    """
    if container is None or not container.by_launcher:
        return []
    if container.platform == "EDF":
        return [f"--environment={container.image}", *container.options]
    mounts = ",".join(f"{folder}:{folder}" for folder in folders)
    own = [
        f"--container-image={container.image}",
        f"--container-mounts={mounts}",
        f"--container-workdir={folders[0]}",
    ]
    return [*own, *container.options]


def one_process(
    container: Container | None, folders: Sequence[str | Path], access: Sequence[str]
) -> list[str]:
    """Return the words that start one process in an image which the launcher enters: Slurm's, whose plugins
    these are.

    :param folders: as for :func:`inside`. :param access: the options of jobs of the partition.
    """
    return [
        "srun",
        *access,
        "--nodes=1",
        "--ntasks=1",
        *launcher_options(container, folders),
    ]


class ContainerMixin(RegressionTestPlugin):
    """Start programs inside the image that the partition or the environment names under
    ``extras['container']``.

    The launcher of the host starts a container for each process (the hybrid model). The placement probe and
    the collection's own programs are built and run inside, too, so that nodes, CPUs and MPI are those that
    the program has; `ports` stays outside, where the ports of the host are, also if the container has a
    network of its own. With ``mpi`` the MPI inside is compared with it.

    Needs: ``facts``, ``with_cause()`` (:class:`RecordMixin`); ``verify_placement()``
    (:class:`PlacementMixin`); ``fabric_programs``, with their folder.
    """

    @property
    def container(self) -> Container | None:
        """The container of this environment in this partition, or None."""
        return containers.of(self.current_partition, self.current_environ)

    @property
    def _mounted(self) -> list[str]:
        return [self.stagedir, self.fabric_programs.stagedir]

    def inside(self, words: list[str]) -> list[str]:
        """Return the command line of a program inside the image, if there is one."""
        return inside(self.container, words, self._mounted)

    @run_after("setup")
    def enter_by_launcher(self):
        """Let the launcher enter the image, if that is how it is done."""
        entering = launcher_options(self.container, self._mounted)
        self.job.launcher.options = [*self.job.launcher.options, *entering]

    @run_before("sanity")
    def note_image(self):
        """Record the image, and its digest where a file or the name has it."""
        container = self.container
        if container is None or self.is_dry_run():
            return
        facts = self.facts
        facts.container, facts.image = container.platform, container.image
        digest = containers.digest_here(container)
        facts.image_digest = digest or f"unknown ({container.image})"

    def verify_placement(self):
        """Compare the MPI of the placement probe, which ran inside, with the declared one, too.

        :raises SanityError: if it is another one.
        """
        super().verify_placement()
        if wrong := containers.other_mpi(self.container, self.facts.mpi):
            raise SanityError(wrong)

    def with_cause(self, what: str) -> str:
        """Return a message about a failure with its cause, and with the image."""
        return self.of_image(super().with_cause(what))

    def of_image(self, text: str) -> str:
        """Return a message about a failure with the image: what is wrong with that stands first."""
        begin = f"inside {self.container}: "
        if self.container is None or begin in text:
            return text
        other = containers.other_mpi(self.container, self.facts.mpi)
        return "; ".join(filter(None, (other, begin + text)))

# SPDX-License-Identifier: BSD-3-Clause
"""The OSU Micro-Benchmarks of the Ohio State University."""

from __future__ import annotations

from fabric_checks.software.suite import VIEW, Package, Program, Suite, release_of

_FOLDER = "libexec/osu-micro-benchmarks/mpi"
#: The features of releases later than 5.9.
_SINCE = {"osu_7_3": (7, 3), "osu_7_4": (7, 4)}
_DEVICES = ("cuda", "rocm")
#: Releases and benchmarks whose `-c` looks at other buffers than those that were sent; docs/software.md lists
#: them.
WRONG_VALIDATION = {("7.4", "allreduce_persistent")}


def installed(
    prefix: str, version: str, devices: tuple[str, ...] = (), *, xccl: bool = False
) -> Program:
    """Describe an installation of OSU's own programs, release 5.9 or later.

    :param prefix: its prefix; the programs are in ``libexec/osu-micro-benchmarks/mpi`` below it.
    :param version: its release, such as ``7.5.2``.
    :param devices: ``cuda`` or ``rocm`` if it was built for buffers in device memory.
    :param xccl: whether it has the programs for NCCL or RCCL (``--enable-ncclomb``, ``--enable-rcclomb``).
    """
    release = release_of(version)
    newer = [feature for feature, first in _SINCE.items() if release >= first]
    more = (*devices, "xccl") if xccl else devices
    return SUITE.program(
        f"{prefix}/{_FOLDER}/{{folder}}/{{benchmark}}",
        version,
        features=("osu_c", *newer, *(f"osu_{device}" for device in more)),
        without={
            feature: f"OSU {version} is older than {'.'.join(map(str, first))}"
            for feature, first in _SINCE.items()
            if feature not in newer
        },
        takes_sizes=True,
        smallest_message_B=1 if release >= (7,) else 0,
    )


def can_verify(version: str, benchmark: str) -> bool:
    """Return whether the option ``-c`` of a benchmark verifies its data."""
    release = ".".join(map(str, release_of(version)[:2]))
    return (release, benchmark) not in WRONG_VALIDATION


def python_ports(command: str, version: str, why_not: str) -> Program:
    """Describe the ports that come with mpi4py.

    :param why_not: the reason why OSU's own programs are missing.
    """
    return SUITE.program(
        command,
        version,
        without={"osu_c": why_not},
        called="osu-py",
        takes_sizes=False,  # each port has its sizes built in
        smallest_message_B=0,
    )


def _built(requirement: str, version: str) -> Program:
    devices = tuple(kind for kind in _DEVICES if f"+{kind}" in requirement)
    return installed(
        VIEW, version, devices, xccl=bool(devices) and "~xccl" not in requirement
    )


def _proof(_requirement: str) -> list[str]:
    programs = (
        "pt2pt/osu_latency",
        "collective/osu_allreduce",
        "one-sided/osu_put_latency",
        "startup/osu_init",
    )
    return [f"{_FOLDER}/{name}" for name in programs]


SUITE = Suite(
    "osu",
    "OSU Micro-Benchmarks",
    features={
        "osu_c": "OSU's own programs, of which mpi4py has ports of only ten",
        "osu_7_3": "new in 7.3: persistent requests and neighbourhoods (with osu_c)",
        "osu_7_4": "new in 7.4: congestion and further collectives (with osu_c)",
        "osu_cuda": "built for CUDA memory, for partitions with the feature cuda",
        "osu_rocm": "built for ROCm memory, for partitions with the feature rocm",
        "osu_xccl": "the programs for NCCL or RCCL, with osu_cuda or osu_rocm",
    },
    keys={
        "takes_sizes": "whether it takes `-m FIRST:LAST`",
        "smallest_message_B": "0, or 1 for releases that do not measure empty messages (7.x)",
    },
    # In a command, {folder} stands for that of a benchmark: pt2pt, pt2pt/persistent, collective, one-sided,
    # startup.
    called=("osu", "osu-py"),
    package=Package("osu-micro-benchmarks", _built, _proof),
)

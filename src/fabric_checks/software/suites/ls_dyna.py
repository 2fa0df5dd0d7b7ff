# SPDX-License-Identifier: BSD-3-Clause
"""MPP-DYNA, the MPI version of LS-DYNA: run only, with the binary, the licence and the deck of a site."""

from __future__ import annotations

from fabric_checks.software.suite import Program, Suite


def installed(
    binary: str, version: str, deck: str, pfile: str = "", options: tuple[str, ...] = ()
) -> Program:
    """Describe a binary and its input deck.

    :param binary: the path of the MPP version for the environment's MPI; its licence is found as usual, by
        ``LSTC_LICENSE_SERVER`` or the site's own variable among the environment's ``env_vars``.
    :param deck: the path of the input. :param pfile: that of a file with another decomposition, for ``p=``.
    :param options: further words of the command line, such as ``memory=200m``.
    """
    return SUITE.program(
        " ".join((binary, *options)),
        version,
        features=("ls_dyna_pfile",) if pfile else (),
        without={}
        if pfile
        else {"ls_dyna_pfile": "no pfile with another decomposition is named"},
        deck=deck,
        pfile=pfile,
    )


SUITE = Suite(
    "ls_dyna",
    "MPP-DYNA",
    features={"ls_dyna_pfile": "another decomposition of its deck, in a pfile"},
    keys={
        "deck": "the path of the input",
        "pfile": "the path of a file with another decomposition, or nothing",
    },
    only_of_sites=True,
)

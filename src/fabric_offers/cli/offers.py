# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks offers``: make a request, pack an offer, check it, and rank offers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from fabric_checks.core import console, paths
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import bytes_text
from fabric_offers import checking, making, packing, signing
from fabric_offers.cli import rank

_REQUEST = """
\b
Examples:
  fabric-checks offers request request.tar
  fabric-checks offers request request.tar --commit v1 --template pbs --key ~/.ssh/id_ed25519
  fabric-checks offers request request.tar --mirror /scratch/mirror     with what ci/mirror wrote: needs no network
"""
_PACK = """
\b
Examples:
  fabric-checks offers pack offer.tar --system oak
  fabric-checks offers pack offer.tar --system oak --level procurement --key ~/.ssh/id_ed25519
"""
_CHECK = """
\b
Examples:
  fabric-checks offers check offer.tar
  fabric-checks offers check offer.tar --request request.tar --signers vendors --link-MBps 25000
  fabric-checks offers check offer.tar --json > offer.json

\b
A line of the file of --signers is `NAME ssh-ed25519 KEY`: see ALLOWED SIGNERS in ssh-keygen(1).
Exit status: 0 if there is nothing to ask about; 1 if it is not a bundle or cannot be checked; 2 for wrong usage; 3 if
there are objections.
"""
#: So many of a kind are listed; --json has all.
_MOST = 8


@click.group("offers")
def command() -> None:
    """Make one file for a vendor, pack what was run, check what comes back, and rank offers."""


command.add_command(rank.command)


_key = click.option("--key", type=click.Path(path_type=Path), help="Sign with this SSH key.")
_level = partial(click.option, "--level", type=click.Choice(list(LEVELS)))


_json = click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")


def _written(path: Path, manifest: dict[str, Any], told: str, *, as_json: bool) -> None:
    length_B = path.stat().st_size
    if as_json:
        left = {key: value for key, value in manifest.items() if key not in ("files", "pins", "files_of_commit")}
        console.print_json(json.dumps({"bundle": str(path), "bytes": length_B, "manifest": left}, indent=1))
    else:
        console.print(f"{path}: {bytes_text(length_B)}, {len(manifest['files'])} files, {told}")


def _signer(key: Path | None) -> Callable[[bytes], bytes] | None:
    return None if key is None else lambda text: signing.signature(text, key)


@command.command("request", epilog=_REQUEST)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@_level(default="procurement", show_default=True, help="The level to be run.")
@click.option(
    "--commit", default="HEAD", show_default=True, help="A commit of this clone; uncommitted changes are not included."
)
@click.option(
    "--template",
    type=click.Choice(list(making.TEMPLATES)),
    default="slurm",
    show_default=True,
    help="The template of a system to include.",
)
@click.option(
    "--mirror", type=click.Path(path_type=Path, file_okay=False), help="A folder that ci/mirror wrote, to include."
)
@_key
@_json
def request(
    path: Path, *, level: str, commit: str, template: str, mirror: Path | None, key: Path | None, as_json: bool
) -> None:
    """Make one file for a vendor: the collection at a commit, the template of a system, and one page of rules."""
    manifest = making.make(path, level=level, commit=commit, template=template, mirror=mirror, sign=_signer(key))
    _written(path, manifest, f"commit {manifest['commit'][:12]}, {level}", as_json=as_json)


@command.command("pack", epilog=_PACK)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--system", required=True, help="The system whose runs go in.")
@_level(default="procurement", show_default=True, help="The level that was asked for.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of results.  [default: those of this clone]",
)
@click.option(
    "--session", "only", multiple=True, help="Only this run; may be repeated. The file lists what is left out."
)
@_key
@_json
def pack(
    path: Path, *, system: str, level: str, results: Path | None, only: tuple[str, ...], key: Path | None, as_json: bool
) -> None:
    """Pack what was run on a system: records, outputs, job scripts, checksums of programs, and its description."""
    manifest = packing.pack(path, results or paths.results(), system, level=level, only=only, sign=_signer(key))
    _written(path, manifest, f"{len(manifest['sessions'])} sessions of {system}", as_json=as_json)


@command.command("check", epilog=_CHECK)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@_level(help="The level that was asked for.  [default: as the request says, or the file itself]")
@click.option("--request", type=click.Path(path_type=Path), help="The request that was sent out.")
@click.option(
    "--signers", type=click.Path(path_type=Path), help="File of those who may sign; the bundle must then be signed."
)
@click.option("--link-MBps", "link_MBps", type=click.FloatRange(min=0, min_open=True), help="Rate of a link, MB/s.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def check(
    path: Path,
    *,
    level: str | None,
    request: Path | None,
    signers: Path | None,
    link_MBps: float | None,
    as_json: bool,
) -> None:
    """Check FILE: verify its checksums and signature, recompute every value from its output, and compare what was run.

    It lists what was changed, removed, left out, run with other options, versions or placements, in fewer passes, or
    more often than asked for, and what is impossible: rates above the line rate, times that contradict each other.
    """
    found = checking.check(path, level=level, request=request, signers=signers, link_MBps=link_MBps)
    if as_json:
        console.print_json(checking.as_json(path, found))
    else:
        _print(path, found)
    if found.objections:
        raise SystemExit(3)


def _print(path: Path, found: checking.Checked) -> None:
    many = len(found.manifest["files"])
    if found.manifest["kind"] == "offer":
        console.print(
            f"{path}: {many} files; {found.values} values of {found.runs} runs, each recomputed from its output"
        )
    else:
        console.print(f"{path}: {many} files, as they were packed")
    for kind, count in found.count().items():
        console.print("", f"{count} {checking.KINDS[kind]}:")
        listed = [each for each in found.objections if each.kind == kind]
        console.print(*(f"  {each.place}: {each.text}" for each in listed[:_MOST]))
        if count > _MOST:
            console.print(f"  and {count - _MOST} more, which --json lists")
    if not found.objections:
        console.print("Nothing to ask about.")
    if found.notes:
        console.print("", "Good to know:", *(f"  {note}" for note in found.notes))
    if found.manifest["kind"] == "offer":
        console.print("", "Not proved, because no file can prove it:", *(f"  - {line}" for line in checking.UNPROVED))

# SPDX-License-Identifier: BSD-3-Clause
"""Write the files of a site: its system, its scopes for Spack, its references, from the templates of
config/templates.

Untrusted text becomes a literal of Python, a scalar of YAML, or one printable line of a comment; names and
paths in job scripts were checked before.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import one_line, shortened
from fabric_checks.onboarding.facts import Facts, Mpi
from fabric_checks.onboarding.launchers import SCHEDULERS, TEMPLATES
from fabric_checks.onboarding.questions import Answer, Answers
from fabric_checks.software.programs import search_paths

#: The values of what is not asked.
_UNASKED_OF_SYSTEM = {
    "mpi": Answer(()),
    "account": Answer(None),
    "one_job": Answer("no"),
}
_UNASKED = {"nodes": 1, "link_MBps": None, "nics": 1, "gres": None}
#: Without malloc's cache, no line of MPICH 5.0.2 to Slurm's PMI is longer than the 1,024 bytes that it takes.
_SHORT_LINES = [["GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"]]


def guesses(text: str) -> list[str]:
    """Return what is marked as a guess in a file: the number of its line, and the reason."""
    return [
        f"line {number}: {line.partition('# guess: ')[2]}"
        for number, line in enumerate(text.splitlines(), 1)
        if line.lstrip().startswith("# guess: ")
    ]


def files(facts: Facts, answers: Answers, *, spack: bool = False) -> dict[str, str]:
    """Return the files of a site, by their paths below ``config``: the system's own is the last.

    :param spack: whether programs built by Spack are wanted, too.
    """
    name = str(answers.system["name"].value)
    facts = replace(facts, mpis=chosen(facts, answers))
    scopes = (
        {f"systems/{name}/spack/{path}": text for path, text in _scopes(facts).items()}
        if spack
        else {}
    )
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=False, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {"py": json.dumps, "comment": _comment}
    values = _values(facts, answers, spack=spack)
    return {
        **scopes,
        f"references/{name}.yaml": environment.get_template(
            "references.yaml.jinja"
        ).render(name=name),
        f"systems/{name}.py": environment.get_template("system.py.jinja").render(
            values
        ),
    }


def chosen(facts: Facts, answers: Answers) -> tuple[Mpi, ...]:
    """Return the MPIs that are to be measured."""
    families = answers.system["mpi"].value if facts.mpis else ()
    return tuple(mpi for mpi in facts.mpis if mpi.family in families)


def wheels(facts: Facts) -> tuple[str, ...]:
    """Return the MPIs of the wheels that can be launched here, for a site of which no MPI was found."""
    is_pmix_only = facts.pmis and "pmi2" not in facts.pmis
    return (
        ("openmpi",)
        if facts.scheduler == "slurm" and is_pmix_only
        else ("mpich", "impi")
    )


def _values(facts: Facts, answers: Answers, *, spack: bool) -> dict[str, Any]:
    """Return the values of the template of a system."""
    link = f", {facts.links[0].kind}" if facts.links else ""
    called = SCHEDULERS[facts.scheduler]["called"]
    wheels_pmi = min(
        facts.pmis,
        key=lambda pmi: (pmi != "pmi2", not pmi.startswith("pmix")),
        default="pmi2",
    )
    return {
        "facts": facts,
        "answers": _UNASKED_OF_SYSTEM | answers.system,
        "title": f"{answers.system['name'].value}: {called}{link}",
        "built": spack and any(map(_has_scope, facts.mpis)),
        "spack": spack,
        "wheels": wheels(facts),
        "hostnames": _hostnames(facts),
        "partitions": [
            part
            for name in answers.queues
            for part in _partitions(facts, answers, name)
        ],
        "variables": _variables,
        "has_scope": _has_scope,
        "wheels_variables": [
            *_launch_variables(wheels_pmi),
            *(_SHORT_LINES if wheels_pmi == "pmi2" else []),
        ],
    }


def _partitions(facts: Facts, answers: Answers, queue: str) -> list[dict[str, Any]]:
    """Return the partitions of a queue, one for each way in which MPIs are started."""
    unasked = {key: Answer(value) for key, value in _UNASKED.items()}
    own = unasked | answers.queues[queue]
    # ReFrame takes no dot in the name of a partition, and a letter at its beginning.
    name = re.sub(r"[^A-Za-z0-9_-]", "_", queue or "compute")
    name = re.sub(r"^(?![A-Za-z])", "p", name) if facts.queues else "node"
    access = _access(facts, answers, queue, own["gres"].value)
    scheduler, groups = SCHEDULERS[facts.scheduler], _by_style(facts)
    return [
        {
            "name": f"{name}-{managed}" if len(groups) > 1 else name,
            "descr": f"Nodes of {name}" if facts.queues else "This host",
            "style": style,
            "access": [*filter(None, [(scheduler | style)["whole"]]), *access],
            "mpis": groups[managed],
            "answers": own,
            "gpus": next((one.gpus for one in facts.queues if one.name == queue), ""),
        }
        for managed, style in scheduler["styles"].items()
        if managed in groups
    ]


def _access(facts: Facts, answers: Answers, queue: str, gres: str | None) -> list[str]:
    """Return the options of jobs for a queue, an account and resources, as far as there are any."""
    scheduler = SCHEDULERS[facts.scheduler]
    account = answers.system.get("account", Answer(None)).value
    options = {
        scheduler["queue"]: queue,
        scheduler["account"]: account,
        "--gres=": gres,
    }
    return [f"{option}{value}" for option, value in options.items() if value]


def _by_style(facts: Facts) -> dict[str, list[Mpi]]:
    """Return the MPIs by how their processes are managed; the first way alone where there is no MPI."""
    styles = SCHEDULERS[facts.scheduler]["styles"]
    managed = {
        family: name
        for name, style in styles.items()
        for family in style.get("mpis", ())
    }
    first = next(iter(styles))
    groups: dict[str, list[Mpi]] = {} if facts.mpis else {first: []}
    for mpi in facts.mpis:
        groups.setdefault(managed.get(mpi.family, first), []).append(mpi)
    return groups


def _variables(mpi: Mpi) -> list[list[str]]:
    """Return the variables of an MPI's environment."""
    prefix = "" if mpi.prefix in ("/usr", "/usr/local") else mpi.prefix
    return [*search_paths(prefix), *_launch_variables(mpi.pmi, mpi.pmi_library)]


def _launch_variables(pmi: str, library: str = "") -> list[list[str]]:
    """Return the variables for a value of `srun --mpi`; config/systems/generic.py says why PMIx gets a
    fence."""
    fence = "ring" if pmi.startswith("pmix") else ""
    variables = {
        "SLURM_MPI_TYPE": pmi,
        "SLURM_PMIX_FENCE": fence,
        "I_MPI_PMI_LIBRARY": library,
    }
    return [[name, value] for name, value in variables.items() if value]


def _hostnames(facts: Facts) -> str:
    """Return a pattern for the names of hosts like this one; it matches nothing if this one has no name of
    its own."""
    short = facts.host.split(".")[0].lower()
    if short == "localhost" or not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,62})", short):
        return "(?!)"
    pattern = short if facts.scheduler == "local" else re.sub(r"\d+", "[0-9]+", short)
    return f"{pattern}([.]|$)"


def _has_scope(mpi: Mpi) -> bool:
    """Tell whether Spack can use an MPI: its release is known, and where it is."""
    return bool(mpi.version and (mpi.modules or mpi.prefix))


def _scopes(facts: Facts) -> dict[str, str]:
    """Return the scopes for Spack by path: the site's, and one for each MPI."""
    local = ROOT / "config" / "systems" / "local" / "spack"
    scopes = ("site",) if facts.mpis else ("site", *wheels(facts))
    copied = [path for scope in scopes for path in (local / scope).glob("*.yaml")]
    found = {
        f"{path.parent.name}/{path.name}": path.read_text() for path in sorted(copied)
    }
    for mpi in filter(_has_scope, facts.mpis):
        spec = f"{mpi.family}@{mpi.version}"
        where = {"modules": [*mpi.modules]} if mpi.modules else {"prefix": mpi.prefix}
        own = {"buildable": False, "externals": [{"spec": spec, **where}]}
        packages = {"packages": {"mpi": {"require": [spec]}, mpi.family: own}}
        guess = (
            "# guess: the release that the module or `mpirun` names, with no variants\n"
        )
        found[f"{mpi.family}/packages.yaml"] = guess + yaml.safe_dump(
            packages, sort_keys=False
        )
        if variables := _launch_variables(mpi.pmi, mpi.pmi_library):
            found[f"{mpi.family}/env_vars.yaml"] = yaml.safe_dump(
                {"env_vars": {"set": dict(variables)}}
            )
    return found


def _comment(text: str) -> str:
    """Return untrusted text for a comment: one printable line of ASCII, and not a long one."""
    return shortened(one_line(text).encode("ascii", "replace").decode(), 60)

# SPDX-License-Identifier: BSD-3-Clause
"""The files of a site: its system, its scopes for Spack, its references.

What comes from outside gets into them as a literal of Python or JSON (which YAML reads), or within a comment as one
printable line; and what goes into job scripts was seen to be a name or a path before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import one_line
from fabric_checks.onboarding.facts import Facts, Mpi, Suite
from fabric_checks.onboarding.questions import Answer

#: A line of Python is no longer.
_WIDTH = 120


@dataclass(frozen=True)
class Style:
    """How a scheduler starts an MPI.

    :param options: options of the launcher for fewer processes than there is room for.
    """

    scheduler: str
    launcher: str
    options: tuple[str, ...] = ()


_SRUN = (
    *("--nodes={nodes}", "--ntasks={tasks}", "--ntasks-per-node={ppn}"),
    "--nodelist=$(scontrol show hostnames | head -n{nodes} | paste -sd,)",
)
#: By scheduler and by how an MPI's processes are managed. generic_slurm.py and its like in config/systems say why.
_STYLES = {
    "slurm": {"": Style("fabric-slurm", "srun", _SRUN)},
    "pbs": {
        "hydra": Style("fabric-pbs", "mpiexec", ("-ppn {ppn}",)),
        "prrte": Style("fabric-pbs", "mpirun", ("--map-by ppr:{ppn}:node",)),
        "pals": Style("fabric-pbs", "mpiexec", ("--ppn {ppn}",)),
    },
    "torque": {
        "hydra": Style("torque", "mpiexec", ("-ppn {ppn}",)),
        "prrte": Style("torque", "mpirun", ("--map-by ppr:{ppn}:node",)),
    },
    "lsf": {
        "hydra": Style("fabric-lsf", "mpiexec", ("-ppn {ppn}",)),
        "prrte": Style("fabric-lsf", "mpirun", ("--map-by ppr:{ppn}:node",)),
        "jsm": Style("lsf", "jsrun"),
    },
    "flux": {"pmi": Style("fabric-flux", "flux-run"), "pmix": Style("fabric-flux", "flux-run-pmix")},
    "local": {"": Style("local", "mpirun")},
}
#: How the processes of an MPI are managed, where a scheduler has several ways; all others are as Hydra's.
_MANAGED = {
    ("pbs", "openmpi"): "prrte",
    ("pbs", "cray-mpich"): "pals",
    ("torque", "openmpi"): "prrte",
    ("lsf", "openmpi"): "prrte",
    ("lsf", "spectrum-mpi"): "jsm",
    ("flux", "openmpi"): "pmix",
    ("flux", "spectrum-mpi"): "pmix",
}
#: What each scheduler is called, and the file that explains its systems.
CALLED = {"slurm": "Slurm", "pbs": "PBS", "torque": "Torque", "lsf": "LSF", "flux": "Flux", "local": "no scheduler"}
_EXPLAINED = {"torque": "pbs", "local": "slurm"}
#: What every job is submitted with: whole nodes, the queue, the account.
_WHOLE = {"slurm": "--exclusive", "pbs": "-l place=scatter:exclhost", "lsf": "-x", "flux": "--exclusive"}
_QUEUE = {"slurm": "--partition=", "pbs": "-q ", "torque": "-q ", "lsf": "-q ", "flux": "--queue="}
_ACCOUNT = {"slurm": "--account=", "pbs": "-A ", "torque": "-A ", "lsf": "-P "}


def files(facts: Facts, answers: Mapping[str, Answer]) -> dict[str, str]:
    """Return the files of a site, by their paths below ``config``: the system's own is the last."""
    name = str(answers["name"].value)
    scopes = {f"systems/{name}/spack/{path}": text for path, text in _scopes(facts).items()}
    return {**scopes, f"references/{name}.yaml": _references(name), f"systems/{name}.py": _system(facts, answers)}


def wheels(facts: Facts) -> tuple[str, ...]:
    """Return the MPIs of the wheels that can be launched here, for a site of which no MPI was found."""
    is_pmix_only = facts.pmis and "pmi2" not in facts.pmis
    return ("openmpi",) if facts.scheduler == "slurm" and is_pmix_only else ("mpich", "impi")


# The system


def _system(facts: Facts, answers: Mapping[str, Answer]) -> str:
    name = str(answers["name"].value)
    explained = _EXPLAINED.get(facts.scheduler, facts.scheduler)
    groups = _groups(facts)
    lines = [
        "# SPDX-License-Identifier: BSD-3-Clause",
        f'"""{title(facts, name)}.',
        "",
        "Written by `fabric-checks init`. What follows a line with `guess` depends on what that line says: check it.",
        f"config/systems/generic_{explained}.py explains every line.",
        '"""',
        "",
        *_imports(facts),
        "",
        *_environs(facts),
        "",
        "systems = [",
        "    {",
        *_guessed(8, '"name"', answers["name"]),
        f'        "descr": {_text(title(facts, name))},',
        "        # guess: hosts named like the one that this was written on",
        f'        "hostnames": [{_text(_hostnames(facts))}],',
        f'        "modules_system": {_text(facts.modules)},',
        '        "partitions": [',
    ]
    for style, mpis in groups.items():
        lines += _partition(facts, answers, style, mpis, alone=len(groups) == 1)
    lines += ["        ],", "    }", "]"]
    if facts.mpis:
        lines += ["", "environments = [", *(line for mpi in facts.mpis for line in _environment(name, mpi)), "]"]
    return "\n".join(lines) + "\n"


def title(facts: Facts, name: str) -> str:
    """Return what a system is in a line, of names and numbers only."""
    version = re.match(r"\d+(\.\d+)*", facts.version)
    scheduler = f"{CALLED[facts.scheduler]} {version[0]}" if version else CALLED[facts.scheduler]
    link = f", {facts.links[0].kind}" if facts.links else ""
    return f"{name}: {scheduler}{link}"


def _imports(facts: Facts) -> list[str]:
    lines = []
    if facts.scheduler == "local":
        lines.append("from fabric_checks.core.locks import host_lock, lock_in_job")
    if facts.mpis:
        lines.append("from fabric_checks.software.programs import environment")
        if any(map(_has_scope, facts.mpis)):
            lines.append("from fabric_checks.software.stacks import selected_stack")
        used = {suite.suite for mpi in facts.mpis for suite in mpi.suites if suite.prefix}
        lines += [f"from fabric_checks.software.suites import {', '.join(sorted(used))}"] if used else []
    else:
        lines.append("from fabric_checks.software.stacks import selected_mpis, selected_stack")
    return lines


def _environs(facts: Facts) -> list[str]:
    """Return what the partitions' environments are made from: those of the site or of the wheels, and Spack's."""
    if facts.mpis:
        if not any(map(_has_scope, facts.mpis)):
            return []
        return [
            "# What Spack builds runs only where it is asked for: `ci/run --stack spack`.",
            'SPACK = selected_stack() == "spack"',
        ]
    names = ", ".join(map(_text, wheels(facts)))
    names = f"({names},)" if len(wheels(facts)) == 1 else f"({names})"
    return [
        "# guess: no MPI of this site was found, so these are the wheels of `ci/run`. They use TCP unless a node has a",
        "# provider that they know; docs/adding-a-system.md says how to name yours.",
        f"MPIS = [mpi for mpi in selected_mpis() if mpi in {names}]",
        'STACKS = {None: MPIS, "wheels": MPIS, "spack": [f"{mpi}-spack" for mpi in MPIS]}',
    ]


def _groups(facts: Facts) -> dict[str, list[Mpi]]:
    """Return the MPIs by how they are started, each way being a partition."""
    if not facts.mpis:
        return {next(iter(_STYLES[facts.scheduler])): []}
    groups: dict[str, list[Mpi]] = {}
    for mpi in facts.mpis:
        default = next(iter(_STYLES[facts.scheduler]))
        groups.setdefault(_MANAGED.get((facts.scheduler, mpi.family), default), []).append(mpi)
    return groups


def _partition(facts: Facts, answers: Mapping[str, Answer], managed: str, mpis: list[Mpi], *, alone: bool) -> list[str]:
    style = _STYLES[facts.scheduler][managed]
    queue = answers.get("queue", Answer(""))
    # What ReFrame takes for the name of a partition has no dot, and begins with a letter.
    called = (
        re.sub(r"^(?![A-Za-z])", "p", re.sub(r"[^A-Za-z0-9_-]", "_", str(queue.value))) if queue.value else "compute"
    )
    called = "node" if facts.scheduler == "local" else called
    gpus = next((one.gpus for one in facts.queues if one.name == queue.value), "")
    lines = [
        f'"name": {_text(called if alone else f"{called}-{managed}")},',
        f'"descr": {_text("This host" if facts.scheduler == "local" else f"Nodes of {called}")},',
        f'"scheduler": {_text(style.scheduler)},',
        f'"launcher": {_text(style.launcher)},',
        *_access(facts, answers, style),
        '"max_jobs": 1,',
    ]
    if facts.scheduler == "slurm":
        lines.insert(-1, '"sched_options": {"use_nodes_option": True},')
    if facts.scheduler == "local":
        # No remote shell and no batch system is to be asked, by MPICH or Intel MPI.
        lines.append('"env_vars": [["HYDRA_LAUNCHER", "fork"], ["I_MPI_HYDRA_BOOTSTRAP", "fork"]],')
        lines += [
            "# One job at a time on this host, and no build beside it.",
            '"prepare_cmds": [lock_in_job(host_lock())],',
        ]
    if mpis:
        built = [mpi.family for mpi in mpis if _has_scope(mpi)]
        spack = [f"*({_list(f'{name}-spack' for name in built)} if SPACK else [])"] if built else []
        lines += _listing(0, '"environs"', [*(_text(mpi.name) for mpi in mpis), *spack])
    else:
        lines.append('"environs": STACKS.get(selected_stack(), []),')
        if facts.scheduler == "slurm":
            lines += [
                "# guess: what `srun --mpi=list` offers for them",
                f'"env_vars": [["SLURM_MPI_TYPE", {_text(_wheels_pmi(facts))}]],',
            ]
    if gpus:
        lines += [
            f'# Its nodes have {_comment(gpus)}. Name "cuda" or "rocm" here when OSU\'s programs are built for it.',
            '"features": [],',
        ]
    lines += ['"extras": {', *(f"    {line}" for line in _extras(facts, answers, style)), "},"]
    return ["            {", *(f"                {line}" for line in lines), "            },"]


def _access(facts: Facts, answers: Mapping[str, Answer], style: Style) -> list[str]:
    if facts.scheduler == "local":
        return []
    whole = [_WHOLE[facts.scheduler]] if facts.scheduler in _WHOLE and style.launcher != "jsrun" else []
    queue, account = answers.get("queue", Answer("")), answers.get("account", Answer(None))
    words = [*whole, *([f"{_QUEUE[facts.scheduler]}{queue.value}"] if queue.value else [])]
    if account.value:
        words.append(f"{_ACCOUNT[facts.scheduler]}{account.value}")
    guesses = [f"guess: {answer.guess}" for answer in (queue, account) if answer.guess]
    return [*(f"# {_comment(guess)}" for guess in guesses), f'"access": {_list(words)},']


def _extras(facts: Facts, answers: Mapping[str, Answer], style: Style) -> list[str]:
    lines = []
    if facts.scheduler == "local":
        lines.append('"host_lock": str(host_lock()),')
    lines += _guessed(0, '"nodes"', answers.get("nodes", Answer(1)))
    lines += _guessed(0, '"cores"', answers["cores"])
    lines.append('"ppn": [1, 2, "full"],')
    link = answers.get("link_gbits", Answer(None))
    if link.value is not None:
        rate = Answer(float(str(link.value)) * 125, link.guess)
        lines += [
            f"# One direction of a link in 10^6 bytes a second: {float(str(link.value)):g} Gbit/s.",
            *_guessed(0, '"link_MBps"', rate),
        ]
        lines += _guessed(0, '"nics"', answers.get("nics", Answer(1)))
    elif facts.scheduler != "local":
        lines.append('# "link_MBps": 25000.0,  # one direction of a link in 10^6 bytes a second: this is 200 Gbit/s')
    if facts.switches:
        lines += [
            f"# A guess: Slurm's topology, of {facts.switches} leaf switches, is right; each job asks for it.",
            "# To have cables named, give the output of ibnetdiscover and dump_lfts.sh as files beside this one.",
            '# "topology": ["ibnetdiscover.txt", "lfts.txt"],',
        ]
    return [*lines, *_listing(0, '"launch_options"', map(_text, style.options))]


def _environment(system: str, mpi: Mpi) -> list[str]:
    lines = ["    environment(", "        {", f'            "name": {_text(mpi.name)},']
    lines += [f'            "target_systems": [{_text(system)}],', f'            "cc": {_text(mpi.cc)},']
    if mpi.module:
        more = [suite.module for suite in mpi.suites]
        lines.append("            # guess: the default version of each, or else the newest")
        lines += _listing(12, '"modules"', map(_text, [mpi.module, *more]))
    variables = []
    if mpi.prefix and mpi.prefix not in ("/usr", "/usr/local"):
        library = f"{mpi.prefix}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
        variables += [["PATH", f"{mpi.prefix}/bin:$PATH"], ["LD_LIBRARY_PATH", library]]
    if mpi.pmi:
        lines.append("            # guess: the best choice for it in `srun --mpi=list`")
        variables.append(["SLURM_MPI_TYPE", mpi.pmi])
    if mpi.pmi_library:
        variables.append(["I_MPI_PMI_LIBRARY", mpi.pmi_library])
    if variables:
        lines += [
            '            "env_vars": [',
            *(f"                {_list(pair)}," for pair in variables),
            "            ],",
        ]
    lines += [
        "        },",
        '        "modules",',
        *(f"        {line}" for suite in mpi.suites for line in _suite(suite)),
    ]
    return [*lines, "    ),"]


def _suite(suite: Suite) -> list[str]:
    if suite.prefix:
        return [f"{suite.suite}.installed({_text(suite.prefix)}, {_text(suite.version)}),"]
    return [
        f"# {_comment(suite.module)} does not say where it is. Fill in its prefix, and import {suite.suite} above:",
        f'# {suite.suite}.installed("PREFIX", {_text(suite.version)}),',
    ]


def _hostnames(facts: Facts) -> str:
    """Return a pattern of the names of hosts like this one; of none, if this is called like any."""
    short = facts.host.split(".")[0].lower()
    if short == "localhost" or not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,62})", short):
        return "(?!)"
    pattern = short if facts.scheduler == "local" else re.sub(r"\d+", "[0-9]+", short)
    return f"{pattern}([.]|$)"


def _wheels_pmi(facts: Facts) -> str:
    if "pmi2" in facts.pmis or not facts.pmis:
        return "pmi2"
    return next((pmi for pmi in facts.pmis if pmi.startswith("pmix")), "pmix")


# Spack and references


def _has_scope(mpi: Mpi) -> bool:
    """Tell whether Spack can be told of an MPI: its release, and where it is."""
    return bool(mpi.version and (mpi.module or mpi.prefix))


def _scopes(facts: Facts) -> dict[str, str]:
    """Return the scopes for Spack by path: the site's, and one for each MPI."""
    local = ROOT / "config" / "systems" / "local" / "spack"
    if not facts.mpis:
        return {
            f"{scope}/{file.name}": file.read_text()
            for scope in ("site", *wheels(facts))
            for file in _files(local / scope)
        }
    found = {f"site/{file.name}": file.read_text() for file in _files(local / "site")}
    for mpi in filter(_has_scope, facts.mpis):
        spec = json.dumps(f"{mpi.family}@{mpi.version}")
        place = f"modules: [{json.dumps(mpi.module)}]" if mpi.module else f"prefix: {json.dumps(mpi.prefix)}"
        found[f"{mpi.family}/packages.yaml"] = (
            "# guess: the release that the module or `mpirun` names, with no variants\n"
            "packages:\n  mpi:\n"
            f"    require: [{spec}]\n  {mpi.family}:\n    buildable: false\n    externals:\n"
            f"    - spec: {spec}\n      {place}\n"
        )
        variables = {"SLURM_MPI_TYPE": mpi.pmi, "I_MPI_PMI_LIBRARY": mpi.pmi_library}
        lines = [f"    {name}: {json.dumps(value)}\n" for name, value in variables.items() if value]
        if lines:
            found[f"{mpi.family}/env_vars.yaml"] = f"env_vars:\n  set:\n{''.join(lines)}"
    return found


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def _references(name: str) -> str:
    return f"""# References of the system `{name}`: what its values are compared with. See docs/adding-a-system.md.
#
# Nothing is judged yet. Once there are five runs:
#
#   fabric-checks references propose --system {name} --write
#
# Until then a share of the line rate will do, if MPI uses that link (`link_MBps` of the system's file):
#
#   derived:
#   - {{check: OsuBandwidth, metric: bandwidth_4194304B, share_of_line_rate: 0.9, lower: -0.05}}

no_reference:
- why: "no values yet"
"""


# Text


def _guessed(indent: int, key: str, answer: Answer) -> list[str]:
    """Return the line of an answer, below one that says what it rests on, if it is a guess."""
    value = _text(answer.value) if isinstance(answer.value, str) else repr(answer.value)
    lines = [f"# guess: {_comment(answer.guess)}"] if answer.guess else []
    return [f"{' ' * indent}{line}" for line in [*lines, f"{key}: {value},"]]


def _text(text: str) -> str:
    """Return a text as a literal of Python, in the quotes of this collection where that makes no difference."""
    literal = repr(text)
    plain = literal == f"'{text}'" and '"' not in text and text.isascii()
    return f'"{text}"' if plain else ascii(text)


def _list(words: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, words))}]"


def _listing(indent: int, key: str, literals: Iterable[str]) -> list[str]:
    """Return a list in the lines that it needs."""
    words = list(literals)
    line = f"{key}: [{', '.join(words)}],"
    lines = [line] if len(line) + indent < _WIDTH - 20 else [f"{key}: [", *(f"    {word}," for word in words), "],"]
    return [f"{' ' * indent}{each}" for each in lines]


def _comment(text: str) -> str:
    """Return untrusted text for a comment: one printable line of ASCII, and not a long one."""
    line = one_line(text).encode("ascii", "replace").decode()
    return line if len(line) <= _WIDTH // 2 else line[: _WIDTH // 2 - 3] + "..."

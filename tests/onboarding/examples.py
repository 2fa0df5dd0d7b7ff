# SPDX-License-Identifier: BSD-3-Clause
"""The sites that config/templates are of; `python -m tests.onboarding.examples` writes these files anew."""

from fabric_checks.core.paths import ROOT
from fabric_checks.onboarding import questions, writing
from fabric_checks.onboarding.facts import Facts, Mpi, Suite
from fabric_checks.onboarding.hardware import Link
from fabric_checks.schedulers.model import Queue

TEMPLATES = ROOT / "config" / "templates"
SUITES = (
    Suite("osu", "osu-micro-benchmarks", "7.5", "/apps/osu-micro-benchmarks/7.5"),
    Suite("imb", "imb", "2021.7", "/apps/imb/2021.7"),
    Suite("lammps", "lammps", "22 Jul 2025", "/apps/lammps/22Jul2025"),
    Suite("npb", "npb/3.4.3", "3.4.3", None),
)


def facts(scheduler, pmi="", queue="compute"):
    return Facts(
        "login1.yours.example",
        scheduler=scheduler,
        queues=(Queue(queue, 64, 64), Queue("debug", 4, 64)) if scheduler != "local" else (),
        links=(Link("mlx5_0", "InfiniBand", 25000.0),),
        cores=64,
        modules="lmod",
        mpis=(Mpi("openmpi", "5.0.8", "openmpi/5.0.8", "mpicc", pmi, SUITES),),
    )


#: By the name of the template.
EXAMPLES = {
    "slurm_modules.py": facts("slurm", "pmix"),
    "pbs_modules.py": facts("pbs"),
    "lsf_modules.py": facts("lsf"),
    "flux_modules.py": facts("flux"),
    "one_host.py": facts("local"),
}


def guessed(facts, **told):
    """Return the answers of `init --yes`, but for what is told."""
    answers = {}
    for question in questions.questions(facts, lambda _: True):
        answers[question.key] = questions.taken(question, told.get(question.key))
    queue = answers["queue"].value if "queue" in answers else None
    for question in questions.of_queue(facts, queue):
        answers[question.key] = questions.taken(question, told.get(question.key))
    return answers


def files(facts, **told):
    """Return the files that `init --yes` writes."""
    return writing.files(facts, guessed(facts, **told))


def templates():
    """Return the texts of all templates by the paths below config/templates."""
    found = {}
    for name, example in EXAMPLES.items():
        written = files(example, name="yours")
        found[name] = written.pop("systems/yours.py")
        if example.scheduler == "slurm":
            found["references.yaml"] = written.pop("references/yours.yaml")
            found |= {path.removeprefix("systems/yours/"): text for path, text in written.items()}
    return found


if __name__ == "__main__":
    for path, text in templates().items():
        (TEMPLATES / path).parent.mkdir(parents=True, exist_ok=True)
        (TEMPLATES / path).write_text(text)

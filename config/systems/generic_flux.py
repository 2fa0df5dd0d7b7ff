# SPDX-License-Identifier: BSD-3-Clause
"""A cluster with Flux: copy this file to config/systems/yours.py, and go through it line by line.

Here stands what Flux has differently. What is the same with every scheduler, above all each of the extras, is explained
in generic_slurm.py. `ci/run --system generic_flux` runs it as it stands, where `flux` is and the folder of results
(FABRIC_RESULTS) is on a file system that the nodes share: under a system instance, or in an allocation of your own
(`flux alloc -N 4`).
"""

from fabric_checks.software.stacks import selected_mpis, selected_stack

# What the fabric is: see generic_slurm.py.
EXTRAS = {
    "nodes": 4,
    "cores": 32,
    "ppn": [1, 2, "full"],
    "link_MBps": 25000.0,
    "nics": 1,
    "max_pending_time": "12h",
    # Nothing: `flux run` always gets the nodes and the tasks.
    "launch_options": [],
}

# Environments by the PMI that their MPI speaks. Flux has PMI-1 itself; for PMIx it needs the plugin flux-pmix.
LAUNCHED_BY = {"mpich": "pmi", "impi": "pmi", "openmpi": "pmix"}
LAUNCHER = {"pmi": "flux-run", "pmix": "flux-run-pmix"}
mpis = selected_mpis() if selected_stack() in (None, "wheels") else []


def partition(name):
    """Return a partition; one is enough where every MPI is launched in the same way."""
    return {
        # What results and references call it: generic_flux:pmi.
        "name": name,
        "descr": f"Nodes of one kind on one fabric, MPIs by {LAUNCHER[name]}",
        # ReFrame's `flux` gives every job one core, whatever it asks for; `fabric-flux` submits by `flux batch`, with
        # nodes and slots, so that each job is a Flux instance on nodes of its own, and knows why a job failed.
        "scheduler": "fabric-flux",
        # `flux run --nodes=NODES --ntasks=TASKS`, in that instance.
        "launcher": LAUNCHER[name],
        # What every job is submitted with, as options of `flux batch`. Whole nodes, because other people's jobs on them
        # are measured too. Yours may need "--queue=...", "--bank=..." or "--requires=...".
        "access": ["--exclusive"],
        "max_jobs": 1,
        "environs": [mpi for mpi in mpis if LAUNCHED_BY[mpi] == name],
        # Flux binds the tasks on a node to as many cores as there are tasks, together; each can have one.
        "env_vars": [],
        "features": [],
        "extras": EXTRAS,
    }


systems = [
    {
        # What `--system` takes, and the name of the file of references.
        "name": "generic_flux",
        "descr": "A cluster with Flux, to be copied",
        "hostnames": ["(?!)"],  # matches no name
        "modules_system": "nomod",
        "partitions": [partition("pmi"), partition("pmix")],
    }
]

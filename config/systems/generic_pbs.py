# SPDX-License-Identifier: BSD-3-Clause
"""A cluster with PBS Pro or OpenPBS: copy this file to config/systems/yours.py, and go through it line by line.

Here stands what PBS has differently. What is the same with every scheduler, above all each of the extras, is explained
in generic_slurm.py. `ci/run --system generic_pbs` runs it as it stands, where `qsub` and `qstat` are and the folder of
results (FABRIC_RESULTS) is on a file system that the nodes share.
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
}

# Environments by the process manager of their MPI. Each finds the job's hosts, and how many processes are to be on
# each, in PBS's node file (PBS_NODEFILE), and starts its daemons by ssh, or by PBS where it was built with it.
LAUNCHED_BY = {"mpich": "hydra", "impi": "hydra", "openmpi": "prrte"}
LAUNCHER = {"hydra": "mpiexec", "prrte": "mpirun"}
# Options of each launcher for fewer processes than the job has room for; see generic_slurm.py.
LAUNCH_OPTIONS = {"hydra": ["-ppn {ppn}"], "prrte": ["--map-by ppr:{ppn}:node"]}
mpis = selected_mpis() if selected_stack() in (None, "wheels") else []


def partition(name):
    """Return a partition; one is enough where every MPI is launched in the same way."""
    return {
        # What results and references call it: generic_pbs:hydra.
        "name": name,
        "descr": f"Nodes of one kind on one fabric, MPIs by {name}",
        # Jobs ask for `select=NODES:mpiprocs=PPN:ncpus=PPN`: a chunk for each node. ReFrame's `pbs`, which
        # also knows why a job failed: that needs job history on the server (job_history_enable). Torque is `torque`.
        "scheduler": "fabric-pbs",
        "launcher": LAUNCHER[name],
        # What every job is submitted with. An option begins with a dash; anything else is added to each chunk, as
        # "model=milan" would be. `scatter` puts each chunk on a host of its own, and `exclhost` keeps other people's
        # jobs off these hosts; `scatter:exclhost:group=switch` also stays on one switch, where yours has that resource.
        # Yours may need "-q queue", "-A account" or "-P project".
        "access": ["-l place=scatter:exclhost"],
        "max_jobs": 1,
        "environs": [mpi for mpi in mpis if LAUNCHED_BY[mpi] == name],
        # Where processes are to be bound, this is the place: ["I_MPI_PIN_DOMAIN", "core"], ["HYDRA_BINDING", "core"],
        # ["PRTE_MCA_hwloc_default_binding_policy", "core"]. A PBS that confines jobs by cgroups gives them `ncpus` CPUs
        # a node, a CPU being what your PBS counts: hardware threads or cores. Ranks that must share a core fail.
        "env_vars": [],
        "features": [],
        "extras": {**EXTRAS, "launch_options": LAUNCH_OPTIONS[name]},
    }


systems = [
    {
        # What `--system` takes, and the name of the file of references.
        "name": "generic_pbs",
        "descr": "A cluster with PBS Pro, to be copied",
        "hostnames": ["(?!)"],  # matches no name
        "modules_system": "nomod",
        "partitions": [partition("hydra"), partition("prrte")],
    }
]

# SPDX-License-Identifier: BSD-3-Clause
"""A cluster with IBM Spectrum LSF: copy this file to config/systems/yours.py, and go through it line by line.

Here stands what LSF has differently. What is the same with every scheduler, above all each of the extras, is explained
in generic_slurm.py. `ci/run --system generic_lsf` runs it as it stands, where `bsub` and `bjobs` are and the folder of
results (FABRIC_RESULTS) is on a file system that the nodes share.

There are two kinds of LSF: where a job asks for slots (partitions `hydra` and `prrte`), and machines with IBM's Cluster
System Manager, where it asks for nodes and `jsrun` starts the processes (partition `jsm`). Delete what you do not have.
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

# Environments by what launches their MPI. MPICH and Intel MPI find the job's hosts in LSF's variables and start their
# daemons by blaunch. jsrun is a PMIx server, as Open MPI and Spectrum MPI need.
LAUNCHED_BY = {"hydra": ["mpich", "impi"], "prrte": ["openmpi"], "jsm": ["openmpi"]}
LAUNCHER = {"hydra": "mpiexec", "prrte": "mpirun", "jsm": "jsrun"}
# Options of each launcher for fewer processes than the job has room for; see generic_slurm.py. jsrun always gets them.
LAUNCH_OPTIONS = {"hydra": ["-ppn {ppn}"], "prrte": ["--map-by ppr:{ppn}:node"], "jsm": []}
# `fabric-lsf` is ReFrame's `lsf`, but asks for slots and for slots a host, `-n TASKS -R "span[ptile=PPN]"`; ReFrame's
# asks by `-nnodes NODES`, which only an LSF with CSM takes.
SCHEDULER = {"hydra": "fabric-lsf", "prrte": "fabric-lsf", "jsm": "lsf"}
# -x: no other job on the job's hosts; the queue has to allow it (EXCLUSIVE in lsb.queues). With CSM nodes are always
# exclusive. Yours may need "-q queue", "-P project", "-alloc_flags smt1", or '-R "cu[maxcus=1]"' for one switch.
ACCESS = {"hydra": ["-x"], "prrte": ["-x"], "jsm": []}
ENV_VARS = {
    "hydra": [],
    # For an Open MPI that was built without LSF, as the wheel was: which hosts, and how to reach them.
    "prrte": [["PRTE_MCA_prte_default_hostfile", "$LSB_DJOB_HOSTFILE"], ["PRTE_MCA_plm_ssh_agent", "blaunch"]],
    "jsm": [],
}
mpis = selected_mpis() if selected_stack() in (None, "wheels") else []


def partition(name):
    """Return a partition; one is enough where every MPI is launched in the same way."""
    return {
        # What results and references call it: generic_lsf:hydra.
        "name": name,
        "descr": f"Nodes of one kind on one fabric, MPIs by {LAUNCHER[name]}",
        "scheduler": SCHEDULER[name],
        "launcher": LAUNCHER[name],
        # What every job is submitted with.
        "access": ACCESS[name],
        "max_jobs": 1,
        "environs": [mpi for mpi in mpis if mpi in LAUNCHED_BY[name]],
        # Where processes are to be bound, this is the place, as in generic_pbs.py. jsrun binds each to a core.
        "env_vars": ENV_VARS[name],
        "features": [],
        "extras": {**EXTRAS, "launch_options": LAUNCH_OPTIONS[name]},
    }


systems = [
    {
        # What `--system` takes, and the name of the file of references.
        "name": "generic_lsf",
        "descr": "A cluster with LSF, to be copied",
        "hostnames": ["(?!)"],  # matches no name
        "modules_system": "nomod",
        "partitions": [partition("hydra"), partition("prrte"), partition("jsm")],
    }
]

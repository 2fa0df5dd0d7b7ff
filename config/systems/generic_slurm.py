# SPDX-License-Identifier: BSD-3-Clause
"""A cluster with Slurm: `fabric-checks init` writes such a file; what each line means, and may be, stands here.

It matches no host by itself; `ci/run --system generic_slurm` runs it as it stands, where `sbatch` and `sacct` are and
the folder of results (FABRIC_RESULTS) is on a file system that the nodes share. A copy needs another `name`, and a file
config/references/yours.yaml next to that of this system.
"""

from fabric_checks.software.stacks import selected_mpis, selected_stack

# ---------------------------------------------------------------------------------------------- what the fabric is
# ReFrame hands `extras` on as they are; these are the ones that the collection knows. A check asks for none by name of
# the system, so what is not given is not used, and nothing fails for it.
EXTRAS = {
    # How many nodes the checks may use, at most; multi-node checks use 1, 2, 4, ... and this number. Without it: 1.
    "nodes": 4,
    # Physical cores of a node: the most processes that any check starts on one. Without it, the partition's
    # `processor`, or what ReFrame detects, decides.
    "cores": 32,
    # On a test machine that pretends to more cores than it has, "oversubscribed": True lets ranks share a core. Not on
    # yours: without it a case whose ranks cannot have a core each fails.
    # How many processes a node; "full" is one on every core. 1, 2 and "full" are always among them. Without it: 1, 2,
    # 4, ... and all cores, which are many cases.
    "ppn": [1, 2, "full"],
    # What one direction of a node's link carries, in MB/s (10^6 bytes a second): 25000 for 200 Gbit/s. Rotate counts
    # the pairs that have a link for themselves by it. Without it the fastest pairs say what a link is.
    "link_MBps": 25000.0,
    # How many such links, network interfaces, a node has. References that are derived from the line rate count it.
    "nics": 1,
    # Which ports have to carry the traffic between nodes, as patterns: ["mlx5_*"], ["hsn*"], ["eth0"]. If others do, as
    # when MPI falls back to TCP, the case fails; of several, one that idles is a finding. docs/ports.md. Without it the
    # record names what carried it.
    "fabric": [],
    # The map of the fabric, as files: the output of ibnetdiscover and dump_lfts.sh, or Slurm's topology.conf; relative
    # names are below config/systems. Without it a job asks `scontrol show topology`. With a map a slow switch or cable
    # is named, without one its pairs. The log of OpenSM among them tells whether routing is adaptive.
    "topology": [],
    # How switches choose routes: "static", "adaptive" or "hashed"; cables are named if it is static. docs/trust.md.
    # "routing": "static",
    # How long a job may wait in the queue before it is cancelled and its case fails, in ReFrame's notation: 30m, 12h,
    # 2d. Without it: 1d. A job for which too few nodes are in service does not wait.
    "max_pending_time": "12h",
    # The options of the launcher to start fewer processes than the job has room for, with {nodes}, {ppn} and
    # {tasks} for the numbers. The checks that compare one process a node with more start their program several times in
    # one job; without it they are left out. The list of nodes keeps a program on those of the probe before it: where
    # there are more, Slurm passes over nodes that have not yet ended their part of the step before.
    "launch_options": [
        *("--nodes={nodes}", "--ntasks={tasks}", "--ntasks-per-node={ppn}"),
        "--nodelist=$(scontrol show hostnames | head -n{nodes} | paste -sd,)",
    ],
}

# ------------------------------------------------------------------------------------------------ what runs on it
# Environments by the way their MPI is launched; `srun --mpi=list` shows what your Slurm has. These are the wheels of
# `ci/run`, which use TCP unless the node has a provider that they know. Yours come from modules, a prefix or Spack:
# config/templates/modules.py and config/environments/spack.py say how; list their names in `environs` below.
LAUNCHED_BY = {"mpich": "pmi2", "impi": "pmi2", "openmpi": "pmix"}
mpis = selected_mpis() if selected_stack() in (None, "wheels") else []


def partition(name):
    """Return a partition; one is enough where every MPI is launched in the same way."""
    return {
        # What results and references call it: generic_slurm:pmi2.
        "name": name,
        "descr": f"Nodes of one kind on one fabric, MPIs by srun --mpi={name}",
        # ReFrame's `slurm`, which takes the state of jobs from sacct, and where that fails or is behind from the
        # controller; it knows why a job failed, and on which node.
        "scheduler": "fabric-slurm",
        # In the job, the probe of the placement and the program are started by this. `mpirun` works too where the MPI
        # was built with Slurm; then there is no need for SLURM_MPI_TYPE, nor for two partitions.
        "launcher": "srun",
        # What every job is submitted with. Whole nodes, because other people's jobs on them are measured too. Yours may
        # need "--partition=...", "--account=...", "--constraint=..." or "--switches=1"; "--reservation=..." for all its
        # runs, or `ci/run --reservation` for one, is taken also while that reservation is for maintenance.
        "access": ["--exclusive"],
        # Ask for a number of nodes, not only of tasks: with it Slurm cannot spread a layout over more nodes.
        "sched_options": {"use_nodes_option": True},
        # How many jobs of this partition may be queued or run at a time. 1 keeps the collection's jobs from each
        # other's traffic; with more, values of a shared fabric are not to be trusted.
        "max_jobs": 1,
        # ReFrame runs each check in those of these that offer what it asks for.
        "environs": [mpi for mpi in mpis if LAUNCHED_BY[mpi] == name],
        # Exported in every job, before what the environment exports. Where tasks are to be bound, this is the place,
        # too: ["SLURM_CPU_BIND", "cores"]. What ranks were bound to is in every record, under `binding` in a word and
        # under `placement` the CPUs of each, and a case whose ranks cannot have a core each fails.
        "env_vars": [
            ["SLURM_MPI_TYPE", name],
            # A rank that ends in an error ends the others, which would wait for it until the time limit.
            ["SLURM_KILL_BAD_EXIT", "1"],
            # With Slurm 22.05 and PMIx_Fence over a tree, Open MPI 5.0.11 crashed in MPI_Init now and then, over a ring
            # hardly ever (open-mpi/ompi#12495 is the same crash); leave it out where yours does not need it.
            *([["SLURM_PMIX_FENCE", "ring"]] if name == "pmix" else []),
        ],
        # Checks for buffers in device memory run on partitions with "cuda" or "rocm", with programs that were built
        # for it. No other feature of a partition is asked for.
        "features": [],
        "extras": EXTRAS,
    }


systems = [
    {
        # What `--system` takes, and the name of the file of references.
        "name": "generic_slurm",
        "descr": "A cluster with Slurm, to be copied",
        # Regular expressions of the names of the hosts on which this is the system without being asked for: its login
        # nodes, such as "login[0-9]+[.]yours[.]example". This one matches no name.
        "hostnames": ["(?!)"],
        # Where `environs` are modules, which command loads them: lmod, envmod (Environment Modules 4
        # and later; tmod4 with ReFrame before 4.10), spack. nomod: none.
        "modules_system": "nomod",
        "partitions": [partition("pmi2"), partition("pmix")],
    }
]

# SPDX-License-Identifier: BSD-3-Clause
"""Clusters with Slurm, PBS, LSF and Flux: what each line of a system's file means, and may be.

`fabric-checks init` writes such a file for a machine. The systems here match no host by themselves: `ci/run
--system generic_slurm` (or generic_pbs, generic_lsf, generic_flux) runs one as it stands, where its
scheduler's commands are and the folder of results (FABRIC_RESULTS) is on a file system that the nodes share.
A copy needs another `name`, and a file config/references/yours.yaml next to that of the system that it is of.
"""

from fabric_checks.software.stacks import selected_mpis, selected_stack

# ---------------------------------------------------------------------------------------- what the fabric is
# ReFrame hands `extras` on as they are; these are the ones that the collection knows. A check asks for none
# by name of the system, so what is not given is not used, and nothing fails for it.
EXTRAS = {
    # How many nodes the checks may use, at most; multi-node checks use 1, 2, 4, ... and this number. Without
    # it: 1.
    "nodes": 4,
    # Physical cores of a node: the most processes that any check starts on one. Without it, the partition's
    # `processor`, or what ReFrame detects, decides.
    "cores": 32,
    # On a test machine that pretends to more cores than it has, "oversubscribed": True lets ranks share a
    # core. Not on yours: without it a case whose ranks cannot have a core each fails.
    # How many processes a node; "full" is one on every core. 1, 2 and "full" are always among them. Without
    # it: 1, 2, 4, ... and all cores, which are many cases.
    "ppn": [1, 2, "full"],
    # What one direction of a node's link carries, in MB/s (10^6 bytes a second): 25000 for 200 Gbit/s. Rotate
    # counts the pairs that have a link for themselves by it. Without it the fastest pairs say what a link is.
    "link_MBps": 25000.0,
    # How many such links, network interfaces, a node has. References that are derived from the line rate
    # count it.
    "nics": 1,
    # Which ports have to carry the traffic between nodes, as patterns: ["mlx5_*"], ["hsn*"], ["eth0"]. If
    # others do, as when MPI falls back to TCP, the case fails; of several, one that idles is a finding.
    # docs/ports.md. Without it the record names what carried it.
    "fabric": [],
    # The map of the fabric, as files: the output of ibnetdiscover and dump_lfts.sh, or Slurm's topology.conf;
    # relative names are below config/systems. Without it a job of Slurm asks `scontrol show topology`. With a
    # map a slow switch or cable is named, without one its pairs. The log of OpenSM among them tells whether
    # routing is adaptive.
    "topology": [],
    # How switches choose routes: "static", "adaptive" or "hashed"; cables are named if it is static.
    # docs/trust.md. "routing": "static",
    # How long a job may wait in the queue before it is cancelled and its case fails, in ReFrame's notation:
    # 30m, 12h, 2d. Without it: 1d. A job for which too few nodes are in service does not wait.
    "max_pending_time": "12h",
    # The options of the launcher to start fewer processes than the job has room for, with {nodes}, {ppn} and
    # {tasks} for the numbers; they are with each launcher below. The checks that compare one process a node
    # with more start their program several times in one job; without the options they are left out.
    "launch_options": [],
}

# ------------------------------------------------------------------------------------ how jobs are submitted
SLURM = {
    # ReFrame's `slurm`, which asks the controller about its jobs instead of sacct; it knows why a job failed,
    # and on which node.
    "scheduler": "fabric-slurm",
    # What every job is submitted with. Whole nodes, because other people's jobs on them are measured too.
    # Yours may need "--partition=...", "--account=...", "--constraint=..." or "--switches=1";
    # "--reservation=..." for all its runs, or `ci/run --reservation` for one, is taken also while that
    # reservation is for maintenance.
    "access": ["--exclusive"],
    # Ask for a number of nodes, not only of tasks: with it Slurm cannot spread a layout over more nodes.
    "sched_options": {"use_nodes_option": True},
}
PBS = {
    # Jobs ask for `select=NODES:mpiprocs=PPN:ncpus=PPN`: a chunk for each node. ReFrame's `pbs`, which also
    # knows why a job failed: that needs job history on the server (job_history_enable). Torque is `torque`.
    "scheduler": "fabric-pbs",
    # An option begins with a dash; anything else is added to each chunk, as "model=milan" would be. `scatter`
    # puts each chunk on a host of its own, and `exclhost` keeps other people's jobs off these hosts;
    # `scatter:exclhost:group= switch` also stays on one switch, where yours has that resource. Yours may need
    # "-q queue", "-A account" or "-P project". A PBS that confines jobs by cgroups gives them `ncpus` CPUs a
    # node, a CPU being what your PBS counts: hardware threads or cores. Ranks that must share a core fail.
    "access": ["-l place=scatter:exclhost"],
}
LSF = {
    # ReFrame's `lsf`, but asks for slots and for slots a host, `-n TASKS -R "span[ptile=PPN]"`.
    "scheduler": "fabric-lsf",
    # -x: no other job on the job's hosts; the queue has to allow it (EXCLUSIVE in lsb.queues). Yours may need
    # "-q queue", "-P project", or '-R "cu[maxcus=1]"' for one switch.
    "access": ["-x"],
}
FLUX = {
    # ReFrame's `flux` gives every job one core, whatever it asks for; this one submits by `flux batch`, with
    # nodes and slots, so that each job is a Flux instance on nodes of its own, and knows why a job failed. It
    # runs under a system instance, or in an allocation of your own (`flux alloc -N 4`).
    "scheduler": "fabric-flux",
    # Options of `flux batch`. Yours may need "--queue=...", "--bank=..." or "--requires=...".
    "access": ["--exclusive"],
}

# ------------------------------------------------------------------------------------ how an MPI is launched
# In the job, the probe of the placement and the program are started by the launcher. With Slurm `mpirun`
# works too where the MPI was built for it; then there is no need for SLURM_MPI_TYPE, nor for two partitions.
# The list of nodes keeps a program on those of the probe before it: where there are more, Slurm passes over
# nodes that have not yet ended their part of the step before.
SRUN = {
    "launcher": "srun",
    "launch_options": [
        *("--nodes={nodes}", "--ntasks={tasks}", "--ntasks-per-node={ppn}"),
        "--nodelist=$(scontrol show hostnames | head -n{nodes} | paste -sd,)",
    ],
}
# A rank that ends in an error ends the others, which would wait for it until the time limit.
KILL = ["SLURM_KILL_BAD_EXIT", "1"]
# Exported in every job, before what the environment exports. `srun --mpi=list` shows what your Slurm has.
SRUN_PMI2 = SRUN | {"env_vars": [["SLURM_MPI_TYPE", "pmi2"], KILL]}
# With Slurm 22.05 and PMIx_Fence over a tree, Open MPI 5.0.11 crashed in MPI_Init now and then, over a ring
# hardly ever (open-mpi/ompi#12495 is the same crash); leave it out where yours does not need it.
SRUN_PMIX = SRUN | {
    "env_vars": [["SLURM_MPI_TYPE", "pmix"], KILL, ["SLURM_PMIX_FENCE", "ring"]]
}
# Process managers that find the job's hosts in the scheduler's variables and files, and start their daemons
# by ssh, or by PBS or blaunch of LSF where they were built with it.
HYDRA = {"launcher": "mpiexec", "launch_options": ["-ppn {ppn}"]}
PRRTE = {"launcher": "mpirun", "launch_options": ["--map-by ppr:{ppn}:node"]}
# For an Open MPI that was built without LSF, as the wheel was: which hosts, and how to reach them.
PRRTE_ON_LSF = PRRTE | {
    "env_vars": [
        ["PRTE_MCA_prte_default_hostfile", "$LSB_DJOB_HOSTFILE"],
        ["PRTE_MCA_plm_ssh_agent", "blaunch"],
    ],
}
# `flux run --nodes=NODES --ntasks=TASKS`: Flux has PMI-1 itself; for PMIx it needs the plugin flux-pmix. It
# binds the tasks on a node to as many cores as there are tasks, together; each can have one.
FLUX_PMI, FLUX_PMIX = (
    {"launcher": name, "launch_options": []} for name in ("flux-run", "flux-run-pmix")
)

# ------------------------------------------------------------------------------------------- what runs on it
# Environments by the way their MPI is launched. These are the wheels of `ci/run`, which use TCP unless the
# node has a provider that they know. Yours come from modules, a prefix or Spack: config/templates/modules.py
# and config/environments/spack.py say how; list their names in `environs`.
MPICH_AND_INTEL, OPEN_MPI = ("mpich", "impi"), ("openmpi",)
# The partitions of each system, one for each way in which an MPI is launched; one is enough where there is
# one way.
SYSTEMS = {
    "generic_slurm": {
        "pmi2": (SLURM, SRUN_PMI2, MPICH_AND_INTEL),
        "pmix": (SLURM, SRUN_PMIX, OPEN_MPI),
    },
    "generic_pbs": {
        "hydra": (PBS, HYDRA, MPICH_AND_INTEL),
        "prrte": (PBS, PRRTE, OPEN_MPI),
    },
    "generic_lsf": {
        "hydra": (LSF, HYDRA, MPICH_AND_INTEL),
        "prrte": (LSF, PRRTE_ON_LSF, OPEN_MPI),
    },
    "generic_flux": {
        "pmi": (FLUX, FLUX_PMI, MPICH_AND_INTEL),
        "pmix": (FLUX, FLUX_PMIX, OPEN_MPI),
    },
}
mpis = selected_mpis() if selected_stack() in (None, "wheels") else []


def partition(name, scheduler, launch, launched):
    """Return a partition."""
    return {
        # What results and references call it: generic_slurm:pmi2.
        "name": name,
        "descr": f"Nodes of one kind on one fabric, MPIs by {launch['launcher']} ({name})",
        **scheduler,
        "launcher": launch["launcher"],
        # How many jobs of this partition may be queued or run at a time. 1 keeps the collection's jobs from
        # each other's traffic; with more, values of a shared fabric are not to be trusted.
        "max_jobs": 1,
        # ReFrame runs each check in those of these that offer what it asks for.
        "environs": [mpi for mpi in mpis if mpi in launched],
        # Where tasks are to be bound, this is the place, too: ["SLURM_CPU_BIND", "cores"],
        # ["I_MPI_PIN_DOMAIN", "core"], ["HYDRA_BINDING", "core"], ["PRTE_MCA_hwloc_default_binding_policy",
        # "core"]. What ranks were bound to is in every record, under `binding` in a word and under
        # `placement` the CPUs of each, and a case whose ranks cannot have a core each fails.
        "env_vars": launch.get("env_vars", []),
        # Checks for buffers in device memory run on partitions with "cuda" or "rocm", with programs that were
        # built for it. No other feature of a partition is asked for.
        "features": [],
        "extras": EXTRAS | {"launch_options": launch["launch_options"]},
    }


systems = [
    {
        # What `--system` takes, and the name of the file of references.
        "name": name,
        "descr": "A cluster, to be copied",
        # Regular expressions of the names of the hosts on which this is the system without being asked for:
        # its login nodes, such as "login[0-9]+[.]yours[.]example". This one matches no name.
        "hostnames": ["(?!)"],
        # Where `environs` are modules, which command loads them: lmod, envmod (Environment Modules 4 and
        # later; tmod4 with ReFrame 4.9), spack. nomod: none.
        "modules_system": "nomod",
        "partitions": [partition(each, *parts) for each, parts in partitions.items()],
    }
    for name, partitions in SYSTEMS.items()
]

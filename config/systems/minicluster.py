# SPDX-License-Identifier: BSD-3-Clause
"""The test cluster of `ci/cluster`: real Slurm, Flux or OpenPBS whose nodes are network namespaces of this
machine.

`ci/run --system minicluster` starts one, runs in it and ends it; within one that is up, it runs in that:

    FABRIC_CLUSTER_NODES=8 FABRIC_CLUSTER_RATE=2.5gbit ci/run --system minicluster --mode nightly
    ci/cluster run --nodes 2 --rate 1gbit --shape n2=100mbit -- ci/run --system minicluster -n Rotate
    FABRIC_CLUSTER_SCHEDULER=flux ci/run --system minicluster --mode smoke
    ci/cluster run --nodes 4 --rails 2 --rate 100mbit -- env FABRIC_USED_RAILS=1 ci/run --system minicluster

It is chosen by name only. Its values are meaningful for bandwidth between nodes, against the rate of their
links: the nodes share the machine's cores, so latencies, and everything within a node, are those of a crowded
machine.
"""

import os
import re

from fabric_checks.core.errors import FabricError
from fabric_checks.software.stacks import selected_mpis, selected_stack


def count(name, default):
    """Return a number from the environment."""
    text = os.environ.get(name) or default
    if not re.fullmatch(r"[1-9]\d*", text):
        raise FabricError(f"{name} is {text!r}; give a number of 1 or more")
    return int(text)


def link_MBps(rate):
    """Return a rate as `ci/cluster` writes it in MB/s, or None where there is no limit."""
    if rate == "none":
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)bit", rate)
    if match is None:
        raise FabricError(
            f"FABRIC_CLUSTER_RATE is {rate!r}; write it as 1gbit, 2.5gbit or 100mbit, or none for no limit"
        )
    return (
        float(match[1])
        * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}[match[2]]
        / 8e6
    )


# `ci/cluster` sets the size of the cluster that a command runs in; `ci/run` starts one of this size.
nodes = count("FABRIC_CLUSTER_NODES", "4")
cores = count("FABRIC_CLUSTER_CORES", "2")
rate = os.environ.get("FABRIC_CLUSTER_RATE") or "1gbit"
# Links of each node, and over how many of them an MPI is to go, with how many connections each.
rails = count("FABRIC_CLUSTER_RAILS", "1")
used_rails = count("FABRIC_USED_RAILS", str(rails))
queue_pairs = count("FABRIC_QUEUE_PAIRS", "1")
if used_rails > rails:
    raise FabricError(
        f"FABRIC_USED_RAILS is {used_rails}, but the nodes have {rails}; give fewer, or start more"
    )

scheduler = os.environ.get("FABRIC_CLUSTER_SCHEDULER") or "slurm"
if scheduler not in ("slurm", "flux", "pbs"):
    raise FabricError(
        f"FABRIC_CLUSTER_SCHEDULER is {scheduler!r}; give slurm, flux or pbs"
    )

RSH = os.environ.get("FABRIC_CLUSTER_RSH", "")
# The nodes together have more cores than the machine: a rank that polls has to let its partner run.
YIELDING = {
    "mpich": [],
    "impi": [["I_MPI_THREAD_YIELD", "3"]],
    "openmpi": [["OMPI_MCA_mpi_yield_when_idle", "1"]],
}
# Without these all of them take what they find: UCX both rails of two, Intel MPI one. It has no setting for
# several over TCP; Open MPI alone can have several connections for a rail.
DEVICES = ",".join(f"eth{rail}" for rail in range(used_rails))
RAILS = {
    "mpich": [
        ["UCX_NET_DEVICES", DEVICES],
        ["UCX_MAX_EAGER_RAILS", f"{used_rails}"],
        ["UCX_MAX_RNDV_RAILS", f"{used_rails}"],
    ],
    "impi": [["FI_TCP_IFACE", "eth0"]],
    "openmpi": [
        ["OMPI_MCA_btl_tcp_if_include", DEVICES],
        ["OMPI_MCA_btl_tcp_links", f"{queue_pairs}"],
    ],
}
# How each MPI is launched, which is the name of its partition.
LAUNCHED_BY = {
    "slurm": {"mpich": "pmi2", "impi": "pmi2", "openmpi": "pmix"},
    # Open MPI needs the plugin flux-pmix.
    "flux": {"mpich": "pmi", "impi": "pmi"},
    "pbs": {"mpich": "hydra", "impi": "hydra", "openmpi": "prrte"},
}[scheduler]
DESCRIPTION = {
    "pmi2": "srun with PMI2",
    "pmix": "srun with PMIx",
    "pmi": "flux run",
    "hydra": "mpiexec",
    "prrte": "mpirun",
}
LAUNCHER = {
    "pmi2": "srun",
    "pmix": "srun",
    "pmi": "flux-run",
    "hydra": "mpiexec",
    "prrte": "mpirun",
}
# The `launch_options` of generic.py; `flux run` needs none.
SRUN = [
    *("--nodes={nodes}", "--ntasks={tasks}", "--ntasks-per-node={ppn}"),
    "--nodelist=$(scontrol show hostnames | head -n{nodes} | paste -sd,)",
]
LAUNCH_OPTIONS = {
    **{"pmi2": SRUN, "pmix": SRUN, "pmi": []},
    **{"hydra": ["-ppn {ppn}"], "prrte": ["--map-by ppr:{ppn}:node"]},
}
# Whole nodes, as many as asked for. One job of the whole cluster at a time, of any partition, because all
# nodes are this one machine; Slurm and Flux go by the job's name for that.
ACCESS = {
    "slurm": ["--exclusive", "--job-name=fabric-checks", "--dependency=singleton"],
    "flux": ["--exclusive", "--job-name=fabric-checks", "--dependency=singleton"],
    # Its server gets that.
    "pbs": ["-l place=scatter:exclhost"],
}[scheduler]
VARIABLES = {
    "pmi2": [
        ["SLURM_MPI_TYPE", "pmi2"],
        # MPICH 5.0.2 announces 4 KiB from where an address of 261 B begins, in lines of up to 1076 B; Slurm
        # takes 1024. What is in memory behind the address decides, and so do lengths of paths: with 5 of 60
        # of a program's it could not start, and with all of them without the C library's cache, from which it
        # takes its buffers.
        ["GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"],
    ],
    "pmix": [
        ["SLURM_MPI_TYPE", "pmix"],
        # With PMIx_Fence over a tree, 26 of 100 starts of Open MPI 5.0.11 on eight nodes crashed in MPI_Init,
        # over a ring none of 100 did; but one was seen to (mca_pml_ob1_recv_frag_callback_match,
        # open-mpi/ompi#12495).
        ["SLURM_PMIX_FENCE", "ring"],
    ],
    "pmi": [],
    # There is no ssh from host to host: a program of the cluster's starts processes by PBS.
    "hydra": [
        ["HYDRA_LAUNCHER", "rsh"],
        ["HYDRA_LAUNCHER_EXEC", RSH],
        ["I_MPI_HYDRA_BOOTSTRAP", "rsh"],
        ["I_MPI_HYDRA_BOOTSTRAP_EXEC", RSH],
        # The nodes are one machine: what binds the first rank of each binds them all to one core.
        ["I_MPI_PIN", "off"],
    ],
    "prrte": [
        ["PRTE_MCA_plm_ssh_agent", RSH],
        ["PRTE_MCA_prte_default_hostfile", "$PBS_NODEFILE"],
        ["PRTE_MCA_hwloc_default_binding_policy", "none"],
    ],
}

mpis = selected_mpis() if selected_stack() in (None, "wheels") else []


def partition(name):
    """Return the partition of all nodes for the MPIs that are launched in one way."""
    extras = {
        "nodes": nodes,
        "cores": cores,
        "nics": used_rails,
        "fabric": ["eth*"],
        # Longer than any job of another session may run: only one runs at a time.
        "max_pending_time": "20m",
        "launch_options": LAUNCH_OPTIONS[name],
    }
    if cores > len(os.sched_getaffinity(0)):
        extras["oversubscribed"] = (
            True  # a node has the machine's cores, whatever its setting
        )
    if link_MBps(rate) is not None:
        extras["link_MBps"] = link_MBps(rate)
    of_slurm = (
        {"sched_options": {"use_nodes_option": True}} if scheduler == "slurm" else {}
    )
    return {
        **of_slurm,
        "name": name,
        "descr": f"All nodes, by {DESCRIPTION[name]}",
        "scheduler": f"fabric-{scheduler}",
        "launcher": LAUNCHER[name],
        "access": ACCESS,
        "max_jobs": 1,
        "environs": [mpi for mpi in mpis if LAUNCHED_BY.get(mpi) == name],
        "env_vars": variables(name),
        "extras": extras,
    }


def variables(name):
    """Return the variables of the MPIs that are launched in one way."""
    of_mpis = [mpi for mpi, by in LAUNCHED_BY.items() if by == name]
    yielding = [pair for mpi in of_mpis for pair in YIELDING[mpi]]
    over_rails = [pair for mpi in of_mpis for pair in RAILS[mpi]] if rails > 1 else []
    return [*VARIABLES[name], *yielding, *over_rails]


systems = [
    {
        "name": "minicluster",
        "descr": f"ci/cluster: {nodes} nodes on this machine, links of {rate}",
        "hostnames": ["(?!)"],  # matches no name
        "partitions": [partition(name) for name in dict.fromkeys(LAUNCHED_BY.values())],
    }
]

# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster on one machine, for tests: real daemons, real host names, a real network between them.

Three kinds of processes, each the parent of the next, so that nothing can be left behind:

    keeper      outside; removes the folder when the cluster ends, for whatever reason
    supervisor  the head: process 1 of a PID namespace, with its own network, mounts and host name.
                When it dies, and it dies with the keeper, the kernel kills every daemon and job
    host        process 1 of a PID namespace below it, one for each node: slurmd and what it starts

Namespaces, bridges, links and mounts have no names outside: they go when the last process in them goes.
The folder of a keeper that was killed is removed by the next command.
"""

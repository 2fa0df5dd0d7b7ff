# SPDX-License-Identifier: BSD-3-Clause
"""Why a program failed, by what launchers, MPI libraries and the system printed: cause, suspect node,
remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from fabric_checks.core.errors import cut, quoted
from fabric_checks.core.text import names_text, one_line, plural_text

#: The node that begins a line of Open MPI, UCX or MVAPICH; the pattern of what it printed follows.
_HERE = r"(?:\[(?P<node>[A-Za-z][\w.-]{0,253}):(?:mpi_rank_)?\d+[^\]\n]{0,40}\][^\n]{0,200}?)?"
#: What follows the time limit is the effect of being killed.
_TIME_LIMIT = re.compile(r"CANCELLED AT \S+ DUE TO TIME LIMIT")


#: Lines that say themselves that nothing fails for them; Open MPI 6 prints the last one for every window.
_NOT_A_CAUSE = re.compile(
    r"(?m)^.*(?:\bUCX +(?:WARN|DIAG|INFO)\b|\(ignored\)\s*$|osc_ucx_component\.c:\d+ +Error:).*$",
)

Table = tuple[tuple[str, str, str], ...]

#: What is printed, as a pattern, the cause, and the remedy. The group ``node`` is a suspect, others are in
#: the cause.
KNOWN: Table = (
    # The process manager
    (
        r"\bmpi/pmi2: (?:request not begin with 'cmd='|invalid client request)",
        "MPICH could not start, which is not the fault of a node: Slurm's PMI cuts lines of over 1024 bytes",
        "use an MPICH with PMIx, under `srun --mpi=pmix`, which has no such limit (MPICH's issue 6924)",
    ),
    (
        r"(?:OMPI|Open MPI) was not built with slurm'?s? PMI|direct launched using \"srun\""
        r"|^No PMIx server was reachable, but a PMI1/2 was detected",
        "Open MPI cannot talk to the process manager of this srun",
        "take `srun --mpi=pmix` and an Open MPI that was built with PMIx, or the launcher `mpirun`",
    ),
    (
        r"can ?not load PMIx library|cannot create (?:MPI )?context for mpi/\w+|cannot find mpi plugin"
        r"|invalid MPI type|Couldn't (?:find|load) (?:the )?specified plugin name for mpi/",
        "Slurm has no plugin for the MPI type that was asked for, or cannot load it on this node",
        "take a type of `srun --mpi=list` that works, or have libpmix installed on all nodes",
    ),
    (
        r"Framework: *psec\s+Component: *munge|pmix_psec_base_open failed",
        "PMIx cannot use the security of the host (munge), as in a container without it",
        "set PMIX_MCA_psec=native, or mount /run/munge and install libmunge there",
    ),
    (
        r"inet_listen_socket_setup:[^\n]*bind(?:\(\))? failed|bind failed port \d+ listen_sock",
        "the port of Cray's PMI is in use by another step on the same node",
        "give each step PMI_CONTROL_PORT of its own, or run one at a time",
    ),
    (
        r"PMI2?_(?:Init|Job_GetId|Get_\w+|KVS_\w+)\b[^\n]*(?:failed|returned)|PMI2 init failed|PMII_singinit"
        r"|write_line error; fd=-?\d+ buf=:cmd=|Unrecognized PMI command",
        "MPI cannot talk to its process manager (PMI)",
        (
            "launch with the launcher of the same MPI, or with the type of `srun --mpi=list` that it was"
            " built for"
        ),
    ),
    (
        r"not enough slots available in the system to\s+satisfy the\s+(?P<count>\d+)"
        r"|more processes than the ppr for\s[\s\S]{0,200}?Number of procs: +(?P<count_>\d+)",
        "the launcher was asked for {count} processes, more than the slots that it was given",
        "give the job as many tasks as processes; in a test, allow more by `--map-by :OVERSUBSCRIBE`",
    ),
    (
        r"Missing requested host: +(?P<host>\S+)",
        "the launcher was asked for {host}, which the job does not have",
        "compare `--host` and the hostfile with the nodes of the job",
    ),
    (
        r"has detected an attempt to run as root",
        "Open MPI does not start as root",
        "run as a user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the "
        "environment",
    ),
    (
        r"unrecognized (?:argument|option):? (?:was included[\s\S]{0,80}?Option: +)?['\"]?(?P<text>[\w-]+)",
        "the launcher does not know {text}",
        "compare the launcher and its options in the system's file with the manual of this MPI's launcher",
    ),
    (
        r"PMIX ERROR: (?:UNREACH|UNPACK|NOT-|OUT-OF-RESOURCE|INIT)|pmix_init failed"
        r"|PMIX_ERR_(?!JOB_FAILED_TO_)\w+",
        "the PMIx of MPI and that of the launcher do not fit each other",
        "build both with the same PMIx, or launch with the `mpirun` of this MPI",
    ),
    (
        (
            r"(?:this (?:test|benchmark|program) requires|must be run with) (?:exactly |at least"
            r" )?(?:two|\d+) process"
        ),
        "the program sees fewer processes than were launched: each is a world of its own, rank 0 of 1",
        "launch with the launcher of the MPI that the program was built with",
    ),
    # The network
    (
        r"^(?:(?P<host>[\w.-]+):\d+:\d+ )?[^\n]*NCCL WARN NET/IB ?: Got completion from peer "
        r"(?P<peer>[^\s<]+)\S*"
        r" with status=(?P<status>\d+)[^\n]*?vendor err (?P<vendor>\d+)(?:[^\n]*?\bhca (?P<hca>\S+))?",
        "{host} had no answer from {peer} over {hca} (status {status}, vendor error {vendor})",
        "look at the links of both nodes' adapters and at the switch between; for RoCE at PFC and the GID "
        "index",
    ),
    (
        r"NCCL WARN (?P<text>[^\n]{10,160})",
        "NCCL failed: {text}",
        "see the lines of that rank in nccl/, and NCCL's settings in the environment of the job",
    ),
    (
        r"are unable to reach each other for\s+MPI communication[\s\S]{0,500}?is on host: "
        r"(?P<node>\S+)[\s\S]{0,80}?"
        r"is on host: (?P<peer>\S+)\s+BTLs attempted: (?P<btls>[^\n]+)",
        "Open MPI has no network to {peer} (it tried {btls})",
        "leave the choice of btl and pml to Open MPI; see whether both nodes have the same interfaces up,"
        " and btl_tcp_if_include in `ompi_info --all` (Debian's Open MPI 6 allows lo alone)",
    ),
    (
        r"couldn't open the help file:\s+(?P<file>\S+?): No such",
        "Open MPI's own files are not where it was built to have them: {file}",
        "set OPAL_PREFIX to where it is installed now, as its module does",
    ),
    (
        r"component was not found, or was unable to be opened[\s\S]{0,600}?Host: +(?P<node>\S+)\s+"
        r"Framework: +(?P<kind>\w+)\s+Component: +(?P<name>\S+)",
        "Open MPI cannot load {name}, which was asked for as its {kind}",
        "see `ompi_info` on that node, whether the libraries of {name} are found there, and OMPI_MCA_{kind}",
    ),
    (
        r"No components were able to be opened in the (?P<kind>\w+) framework[\s\S]{0,400}?Host: +"
        r"(?P<node>\S+)",
        "Open MPI cannot load any {kind}",
        "see `ompi_info` on that node, whether the network's libraries are found there, and OMPI_MCA_{kind}",
    ),
    (
        r"failed an OFI Libfabric library call \((?P<call>\w+)\)[\s\S]{0,200}?Local host: +(?P<node>\S+)"
        r"\s+Location:[^\n]*\s+Error: +(?P<text>[^\n]+)",
        "libfabric's {call} failed: {text}",
        "see `fi_info`; name a provider with FI_PROVIDER, or load the network's libfabric",
    ),
    (
        (
            r"OFI (?:fi_)?(?:addrinfo|getinfo|fabric|domain)\(?\)? ?fail|fi_getinfo failed|OFI get address"
            r" vector map"
        ),
        "libfabric has no provider that MPI can use",
        "see `fi_info`; name a provider with FI_PROVIDER, or load the network's libfabric",
    ),
    (
        _HERE
        + r"(?:no (?:active messages|usable|remote \w+|auxiliary|copy across memory types) transport|"
        r"UCX +ERROR.*no usable transports|network device '?[^'\n]*'? is not available|failed to create UCP"
        r" worker|ucx_init\.c \d+ \w+ No such device"
        r"|destination is unreachable|failed to resolve UCX endpoint)",
        "UCX has no transport to the other process",
        (
            "compare UCX_TLS and UCX_NET_DEVICES with `ucx_info -d` on all nodes, and see whether their links"
            " are up"
        ),
    ),
    (
        r"\b(?P<node>\w[\w-]{0,62})[.:][\w.:]{0,80}?:? ?PSM\d? (?:can't open|no) (?:hfi|nic|efa)\w* units?|"
        r"PSM\d? was unable to open an endpoint|hfi_wait_for_device|/dev/(?:hfi1|ipath)\S* device failed to"
        r" appear"
        r"|OFI (?:endpoint|ep) \w+ failed|create_(?:vni|vci)_context"
        r"|unrecoverable error occurred while communicating with the driver",
        "the adapter cannot be opened: it is missing, its link is down, or all its contexts are taken",
        "see `fi_info`, `opainfo` or `ibstat` there, and `ulimit -l`; FI_PROVIDER=tcp does without it",
    ),
    (
        r"(?:\[(?P<node>[A-Za-z][\w.-]*)\] - Abort[^\n]*)?GTL library is not linked",
        "Cray MPICH is to handle GPU memory, but its GPU transport layer (GTL) is not linked",
        (
            "load the accelerator's module (craype-accel-...) before compiling, or set"
            " MPICH_GPU_SUPPORT_ENABLED=0"
        ),
    ),
    (
        (
            r"cxil_map: write error|cxil_map\(\) failed|cxip_\w+\(\):\d+<\w+>.*?failed to (?:map|acquire"
            r" mapping)"
        ),
        "the Slingshot adapter cannot map the memory of a message",
        (
            "raise `ulimit -l`; for GPU buffers set FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD=0 or"
            " MPICH_GPU_SUPPORT_ENABLED=1"
        ),
    ),
    (
        r"to the fork\(\) system call|(?:RDMAV|FI_EFA)_FORK_SAFE",
        "the program forked, and EFA's memory would not be safe",
        "set FI_EFA_FORK_SAFE=1 and RDMAV_FORK_SAFE=1",
    ),
    (
        _HERE + r"(?:Transport retry count(?:er)? exceeded|RETRY EXCEEDED ERROR"
        r"|remote (?:access|operation) error on|Local (?:protection|QP operation) (?:error )?on"
        r"|got completion with error)",
        "a message was not answered by the other end of an InfiniBand or RoCE connection",
        "look at the links of the job's nodes and at the switch between; for RoCE at PFC and the GID index",
    ),
    (
        _HERE
        + r"(?:(?:ibv_|mlx5dv_|UCX +ERROR).*Cannot allocate memory|ibv_\w*reg_mr\([^\n]*failed: Resource "
        r"temp|locked memory|RLIMIT_MEMLOCK)",
        (
            "memory or queues cannot be registered with the adapter: locked memory is limited, or too many"
            " ranks use it"
        ),
        (
            "set `ulimit -l unlimited` on the nodes, for slurmd (LimitMEMLOCK=infinity) too, or run fewer"
            " processes a node"
        ),
    ),
    (
        _HERE + r"ibv_\w*reg_mr\([^\n]*\) failed: (?P<text>[^\n]+)",
        "the adapter cannot use the memory of a message: {text}",
        "for memory of GPUs load its peer memory module (nvidia-peermem), or set UCX_IB_GPU_DIRECT_RDMA=no",
    ),
    (
        r"(?:failed to (?:TCP connect|handshake)|unable to complete a TCP connection)[\s\S]{0,200}?"
        r"Local host: *(?P<node>\S+)"
        r"|connect\(\) to \S+ failed|_tcp\w*: [^\n]*(?:No route to host|Connection (?:refused|timed out))",
        "two nodes cannot reach each other by TCP",
        "check firewall and routes, and name the network: `--mca btl_tcp_if_include`, `oob_tcp_if_include`",
    ),
    (
        (
            r"(?:Read|Write) -1, expected \d+, errno = 1\b|process_vm_(?:readv|writev)\W[^\n]*(?:not"
            r" permitted|EPERM)"
        ),
        "processes on a node may not read each other's memory, as in a container",
        (
            "allow ptrace (--cap-add SYS_PTRACE), or set OMPI_MCA_btl_vader_single_copy_mechanism=none,"
            " UCX_TLS=^cma"
        ),
    ),
    # Nodes and daemons
    (
        r"time limit for job execution has been reached:\s+Timeout: +(?P<text>\d+ \w+)",
        "the launcher's own time limit was reached: {text}",
        "raise `--timeout` or MPIEXEC_TIMEOUT, and see what the program waits for",
    ),
    (
        r"does not support recursive calls of mpi(?:exec|run)",
        "the launcher was called by a process that a launcher had started",
        "launch the program itself, once",
    ),
    (
        (
            r"lost communication with [\s\S]{0,200}?(?:Remote daemon *: \S+ on node|hostname:)"
            r" +(?P<node>[\w.-]+)"
        ),
        "Open MPI lost its daemon on a node",
        (
            "see whether the node is up, whether its memory was exhausted, and whether the network between"
            " drops packets"
        ),
    ),
    (
        r"(?:failed on node (?P<node>[\w.-]+): )?(?:Invalid job credential|Job credential (?:exp|rev|repl))",
        "a node did not accept Slurm's job credential",
        "compare its clock, munge key, slurm.conf and Slurm version with the controller's",
    ),
    (
        r"More processors requested than permitted",
        "the step asks for more processors than its job has",
        "compare nodes, tasks and CPUs a task of the launcher with those of the job",
    ),
    (
        r"Unable to layout tasks on given cpus|failed to distribute tasks",
        "Slurm cannot lay out the tasks on the CPUs that the job asked for, which is not the fault of a node",
        "compare tasks, CPUs a task and the binding of the layout with the cores of a node",
    ),
    (
        r"Task launch for \S+ failed on node (?P<node>[\w.-]+)(?![^\n]*Unable to layout)",
        "a node failed or could not be reached",
        "see `scontrol show node` and its slurmd log",
    ),
    (
        # These lines name the node that prints them; only some releases name the one that failed.
        r"Node failure on |CANCELLED AT \S+ DUE TO NODE FAILURE",
        "a node of the job failed, perhaps another one than is printed",
        "see FailedNode of `scontrol show job`, or `sinfo -R`",
    ),
    (
        r"Host key verification failed|(?:ssh|kex)_exchange_identification|Permission denied \(\S*publickey"
        r"|ssh: (?:connect to host |Could not resolve hostname )(?P<node>[\w.-]+)[^\n]*",
        "the launcher cannot log in to a node by ssh",
        "make `ssh NODE true` work without a question from the first node, or launch by the scheduler",
    ),
    (
        r"unable to (?:reliably )?(?:start|run) (?:one or more daemons|(?:bstrap_)?proxy(?: on"
        r" (?P<node>[\w.-]+))?)"
        r"|unable to connect from \"[^\"]*\" to \"(?P<node_>[^\"]*)\"|daemon on node (?P<node__>[\w.-]+)"
        r" (?:fail|died)"
        r"|unexpectedly (?:died|failed)|HYDU_sock_connect",
        "the launcher's daemon could not start on a node, or died",
        "see whether the MPI and its libraries are at the same path there, and whether a firewall is between",
    ),
    (
        r"(?:CUDA|HIP|GPU)[^\n]{0,120}out of memory|(?:cudaErrorMemoryAllocation|hipErrorOutOfMemory)",
        "the memory of a GPU was exhausted",
        "see `nvidia-smi` or `rocm-smi` there for what else is on it, or take smaller sizes",
    ),
    (
        r"no (?:CUDA|ROCm)-capable device|CUDA-capable devices?[^\n]{0,20}busy or unavailable",
        "the program sees no GPU that it can use",
        "ask for GPUs in the job, and see them on its nodes by `nvidia-smi`; without any: "
        "MPIR_CVAR_ENABLE_GPU=0",
    ),
    (
        r"oom[-_]kill|out of memory|exceeded (?:step |job )?memory limit",
        "the memory of the job or of a node was exhausted",
        "ask for more (`--mem=0`), or run fewer processes on a node",
    ),
    (
        r"shm_open\([^\n]*failed|PSM\d? could not set up shared memory|not enough space (?:for|on|in) "
        r"/dev/shm|/dev/shm[^\n]*No space left"
        r"|(?:\[(?P<node_>[A-Za-z][\w.-]*):\d+\] )?Signal: Bus error"
        r"|SIGNAL: 7 \(|on\s+signal\s+7\b|Caught signal 7"
        r"|srun: error: (?P<node>[\w.-]+): tasks? \S+: Bus error",
        "the shared memory of a node (/dev/shm) is full or too small",
        "remove what was left there, or give the container a larger one (--shm-size)",
    ),
    # The program
    (
        r"(?P<file>\S*/(?:lmod|modulecmd(?:\.tcl)?)): No such file",
        "there is no `module` on a node: {file} is missing",
        "install it on all nodes; what follows is the effect of modules that were not loaded",
    ),
    (
        r"Unable to locate a modulefile for '(?P<file>[^'\n]+)"
        r"|module\(s\) (?:are unknown|exist but cannot be loaded as requested):\s*\"?(?P<file_>[^\"\n]+)"
        r"|Cannot load module (?P<file__>\"[^\"]+\" without\s+these module\(s\) loaded:\s+[^\n]+)",
        "a module cannot be loaded: {file}",
        "see `module spider` on a node, and correct the modules of the environment in the system's file",
    ),
    (
        r"(?:could not\s+(?:access(?:\s+or execute)?|find) an executable|unable to find the specified"
        r" executable file"
        r"|system couldn't find the executable)[\s\S]{0,500}?^ *Executable: *(?P<file>\S+)"
        r"|Application name: +(?P<file__>\S+)|execvp? error on file (?P<file_>\S+)"
        r"|execve\(\): (?P<file___>\S+): (?:No such file|Perm)|unable to execute (?P<file____>\S+):"
        r"|\b(?P<file_____>[\w./+-]{1,200}): command not found",
        "the program {file} is missing on a node, or cannot be executed",
        (
            "see whether the software is on a file system that all nodes mount, and its environment is loaded"
            " in the job"
        ),
    ),
    (
        (
            r"loading shared libraries: (?P<file>[^:\s]+)|\b(?P<file_>lib[\w.+-]{1,80}\.so[.\d]{0,20}):"
            r" cannot open shared"
        ),
        "the library {file} is not found on a node",
        "load the modules that the program was built with, or set LD_LIBRARY_PATH for the nodes as well",
    ),
    (
        _HERE
        + r"(?:\*\*\* An error occurred in MPI_Win_(?:allocate|create)\w*[\s\S]{0,400}?\*\*\* MPI_ERR_WIN: "
        r"|OSC pt2pt component does not support)",
        "Open MPI's one-sided component (osc) does not work between these processes",
        "take another one by OMPI_MCA_osc, such as ^rdma or ^pt2pt; `ompi_info | grep osc` lists them",
    ),
    (
        _HERE
        + r"\*\*\* An error occurred in (?P<call>(?!MPI_Init)\w+)[\s\S]{0,400}?\*\*\* (?P<code>MPI_ERR_\w+): "
        r"(?P<text>[^\n]+)",
        "{call} failed with {code}: {text}",
        "run the case with another MPI or release: it is an error of the program or of MPI",
    ),
    (
        (
            r"error stack:\s*(?:\w+\(\d+\)[. ]*:.*\n\s*){0,20}?\w+\(\d+\)[. ]*:"
            r" *(?P<text>\S.*)$(?!\s*\w+\(\d+\)[. ]*:)"
        ),
        "MPI failed: {text}",
        "see the lines before it, and the MPI's settings in the environment of the job",
    ),
    (
        r"Local host: +(?P<node>\S+)\n(?: *[A-Z][\w ]+: [^\n]*\n){0,4} *Error: +(?P<text>[^\n]+)",
        "a call of Open MPI failed: {text}",
        "see the lines before it, and what that node has less than others: space in /tmp, memory, devices",
    ),
    (
        r"The (?P<call>MPI_\w+)\(\) function was called (?P<text>after MPI_FINALIZE|before MPI_INIT) was",
        "the program called {call} {text}",
        "it is an error of the program, or of a library that it uses",
    ),
    (
        r"^ *(?P<text>\S[^\n]*)\n+ *--> Returned (?:value )?(?P<code>[^\n]+?) instead of",
        "Open MPI could not start: {text} gave {code}",
        "see the lines before it; launch with the `mpirun` of this MPI, or `srun --mpi=pmix`",
    ),
    (
        r"process\s+rank\s+(?P<rank>\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+(?P<node>\S+)\s+exiting"
        r"\s+improperly",
        "rank {rank} ended without MPI_Finalize, or before MPI_Init",
        "see what it printed last; it may have ended by itself, with an exit status of 0",
    ),
    (
        r"(?:srun: error: (?P<node>[\w.-]+): tasks? \S+:|signal\s+4\s+\(|SIGNAL: 4 \(|EXIT STRING:"
        r"|Signal:) *Illegal instruction"
        r"|on\s+node\s+(?P<node_>\S+)\s+exited\s+on\s+signal\s+4\b|(?P<node__>[\w.-]+): rank \d+ died from "
        r"signal 4\b",
        "the program crashed by an illegal instruction: it was built for another processor",
        "build it on a node of this partition, or for the oldest of its processors",
    ),
    (
        r"process\s+rank\s+(?P<rank>\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+(?P<node>\S+)\s+exited\s+on"
        r"\s+signal\s+"
        r"(?P<text>9 \(Killed\))|(?:RUNNING AT (?P<node_>\S+)\s+=\s+EXIT CODE: 9\s[\s\S]{0,400}?)?"
        r"EXIT STRING: Killed \(signal (?P<text_>9)\)",
        "a process was killed by signal {text}",
        "see in the kernel's log of the node whether its memory was exhausted, and who else could have "
        "ended it",
    ),
    (
        r"terminate called [^\n]*\n(?:terminate called [^\n]*\n)*\s+what\(\): +(?P<text>[^\n]+)",
        "the program ended by an exception: {text}",
        "see the lines before it; if other cases end so too, suspect the libraries that it uses",
    ),
    (
        r"^(?P<node>[\w.-]+): rank \d+ died from signal (?!(?:9|15)\b)(?P<text>\d+)"
        r"|srun: error: (?P<node_>[\w.-]+): tasks? \S+: (?P<text_>(?:Segm|Abor|Floa)[\w ]+)"
        r"|on\s+node\s+(?P<node__>\S+)\s+exited\s+on\s+signal\s+(?P<text__>(?!9\b|15\b)\d+)"
        r"|exit status of rank \d+: killed by signal (?!9\b|15\b)(?P<text___>\d+)",
        "the program crashed: signal {text}",
        "see the backtrace in the output; if other cases crash too, suspect the MPI or its modules",
    ),
    (
        _HERE
        + r"(?:Signal: (?P<text>(?:Segm|Abor|Floa)[^\n(]+)|Caught signal \d+ \((?P<text_>[A-Z][\w ]+)"
        r"|(?P<text__>Segmentation fault)"
        r"|(?:RUNNING AT (?P<node__>\S+)\s+=\s+EXIT CODE: (?:6|8|11)\s[\s\S]{0,400}?)?"
        r"EXIT STRING: (?P<text___>(?:Segm|Abor|Floa)[\w ]+)"
        r"|(?:RUNNING AT (?P<node_>\S+)\s+)?=\s+(?P<text____>EXIT CODE: 13[1-9])\b"
        r"|(?P<text_____>Assertion [`'][^\n]{1,160}' failed))",
        "the program crashed: {text}",
        "see the backtrace in the output; if other cases crash too, suspect the MPI or its modules",
    ),
)
#: What only says that a rank ended, and not why: told where nothing else was printed.
ENDINGS: Table = (
    (
        r"application called MPI_Abort\([^,\n]*, (?P<code>-?\d+)\) - process (?P<rank>\d+)"
        r"|MPI_ABORT was invoked on rank (?P<rank_>\d+)[\s\S]{0,120}?errorcode:? (?P<code_>-?\d+)"
        r"|MPI processes was aborted\.\(rank=(?P<rank__>\d+)\)[^\n]*?CODE=(?P<code__>\d+)",
        "rank {rank} called MPI_Abort with code {code}, and printed no reason",
        "see the program's own output and log files, and its manual for that code",
    ),
    (
        r"Process name: \[\S+,(?P<rank>\d+)\]\s+Exit code: +(?P<code>\d+)",
        "rank {rank} ended first, with exit status {code}, and printed no reason",
        "see the program's own output and log files",
    ),
    (
        r"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>[\d,-]+): Killed"
        r"|^(?P<host_>[\w.-]+): rank (?P<rank_>\d+) died from signal 9\b",
        "task {rank} on {host} was killed first, by signal 9",
        "see in the kernel's log of that node whether its memory was exhausted, and who else could have "
        "ended it",
    ),
    (
        r"KILLED BY SIGNAL: 9 \(Killed\)|EXIT CODE: 9$",
        "a process was killed by signal 9, or another one failed without a word and the launcher killed it",
        "see in the kernel's logs of the nodes whether memory was exhausted, and run the program alone",
    ),
    (
        r"EXIT STRING: Terminated \(signal 15\)|exited\s+on\s+signal\s+15\b",
        "the processes were ended from outside (signal 15)",
        "see what ended the job: a limit, a cancellation, or a process that failed without a word",
    ),
    (
        r"peer process has unexpectedly disconnected[\s\S]{0,900}?Peer host: +(?P<node>\S+)",
        "a process ended, or its node, and others lost it",
        "see what that process printed last, and the kernel's log of its node",
    ),
)
_PATTERNS: dict[Table, list[re.Pattern[str]]] = {
    table: [re.compile(f"(?im){pattern}") for pattern, _, _ in table]
    for table in (KNOWN, ENDINGS)
}

#: What launchers print of a job that already failed: effects, and advice.
_FAREWELL = re.compile(
    r"(?i)^(?:srun: |slurmstepd\S*: |\[[-\d]+T[\d:.]+\] )(?:error: )?(?:.*\btasks? [-\d,\[\]]+: "
    r"|\*\*\* (?:STEP|JOB)|Terminating|got SIG|Job step aborted|forcing|Timed out waiting|Force Terminated"
    r"|launch/slurm|Application launch failed|First task exited)"
    r"|primary job +terminated normally|a non-zero exit code|job has been aborted|(?:mpi"
    r"|prte)run (?:noticed|detected)|thus causing|process name: \[|errorcode: |exit code: |^=  |MPI_ABORT "
    r"was invoked"
    r"|with errorcode|invoking MPI_ABORT|you may or may not see|when (?:Open MPI|PRTE) kills|proc: \[\["
    r"|exiting improperly|MPI_Finalize|MPI_ERRORS_ARE_FATAL|potentially your (?:MPI )?job"
    r"|MPI will try to terminate|reported by process|application called MPI_Abort|exited on$|^signal \d+ \("
    r"|^.abort.\. This may|signals sent by|^In: PMI_Abort|on communicator |on a NULL communicator"
    r"|local abort before|^(?:\[\w+\]: )?aborting job|^YOUR"
    r" APPLICATION|^\[(?:proxy:|mpiexec@)|^\s*\(Other MPI"
    r"|^\[[\w.-]+:\d+\] +\[ ?\d+\] |^Invalid error code \(-\d"
    r"|spank: \S+: Plugin file not found|\*\*\* End of error message|process killed \(SIGTERM\)"
    r"|^This typically refers to a problem|^Please see the FAQ page"
    r"|\*\*\* (?:An error occurred in Socket closed|Unknown error)|failure (?:in|of) the peer"
    r"|^Abort is in progress|more processes? ha(?:s|ve) sent help message|orte_base_help_aggregate"
    r"|^make(?:\[\d+\])?: |mpi4py.run",
)
_ERROR = re.compile(
    r"(?i)error|fail|fatal|abort|cannot|can't|could not|unable|not (?:be )?found|not enough|no"
    r" such|denied|invalid|illegal"
    r"|refused|unreachable|exception|undefined|segmentation|assertion|killed|terminated|panic|missing|not"
    r" available",
)
_HARMLESS = re.compile(
    r"(?i)\bwarn(?:ing)?\b|\binfo\b(?! for details)|\bdebug\b|^\s*#|^\s*-->|^[+$] "
)
#: The exception of Python that ended a program.
_EXCEPTION = re.compile(
    r"(?m)^Traceback \(most recent call last\):\n(?:(?:[ \t]|Traceback \().*\n)*(\S.*)"
)
#: So much of the beginning and the end of an output is searched.
_SEARCHED = 100_000
#: What launchers put before each line: `srun --label`, and Open MPI's `--output` with tags and times.
_LABEL = re.compile(
    r"(?m)^(?:(?:(?:\w{3} \w{3} +\d+ [\d:]{8} \d{4})?(?:\[[^]\n]{1,300}\]){1,2}<std\w+>: ?)+|\d+: (?=\D))"
)
_ENDED = re.compile(r"srun: error: (\S+): tasks? (\S+): Exited with exit code (\d+)")
_UNNAMED = {"hca": "an adapter that is not named"}
_LONG_LINE = re.compile(r"[^\n]{2000,}")


def explained(what: str, texts: Mapping[str, str]) -> str:
    """Return a message about a failure with its cause: a known one before it, or else the first printed
    error.

    :param what: what failed, in words; :param texts: what the job printed, by name of the file, standard
        error first.
    """
    return (
        _known_of(what, texts, KNOWN)
        or _first_error_of(what, texts)
        or _known_of(what, texts, ENDINGS)
        or _last_line_of(what, texts)
        or what
    )


def _known_of(what: str, texts: Mapping[str, str], table: Table) -> str | None:
    causes = (known(text, table) for text in texts.values())
    return next((f"{cause} ({what})" for cause in causes if cause), None)


def _first_error_of(what: str, texts: Mapping[str, str]) -> str | None:
    for name, text in texts.items():
        if line := first_error(text):
            return f"{what}; the first error in {name} is {quoted(line.strip(), 200)}"
    return None


def _last_line_of(what: str, texts: Mapping[str, str]) -> str | None:
    for farewells in (False, True):
        for name, text in texts.items():
            if found := _lines(text, farewells=farewells):
                last = f"{what}; the last line of {name} is {quoted(found[-1].strip(), 200)}"
                return last if farewells else last + _first_to_end(texts.values())
    return None


def _first_to_end(texts: Iterable[str]) -> str:
    """Return which task srun saw end first with an error; nothing if it printed none."""
    found = _ENDED.search("\n".join(texts))
    return (
        f"; task {found[2]} on {found[1]} ended first, with exit status {found[3]}"
        if found
        else ""
    )


def known(text: str, table: Table = KNOWN) -> str | None:
    """Return the first known cause in what a job printed, suspect nodes, the remedy, and the line, or
    None."""
    text, patterns = _before_the_limit(text), _PATTERNS[table]
    first = [(pattern.search(text), rank) for rank, pattern in enumerate(patterns)]
    # A pattern over several lines ends where the cause is. Of those in one line the first of the table
    # counts.
    found = [
        (text.rfind("\n", 0, match.end() - 1) + 1, rank)
        for match, rank in first
        if match
    ]
    if not found:
        return None
    begin, rank = min(found)
    _, cause, remedy = table[rank]
    groups = list(map(_groups, patterns[rank].finditer(text)))
    nodes = list(dict.fromkeys(each["node"] for each in groups if "node" in each))
    cause, remedy = (
        re.sub(
            r"\{(\w+)\}",
            lambda name: groups[0].get(name[1], _UNNAMED.get(name[1], "not named")),
            each,
        )
        for each in (cause, remedy)
    )
    where = f" ({plural_text(len(nodes), 'node')} {names_text(nodes)})" if nodes else ""
    line = text[begin:].partition("\n")[0].strip()
    return f"{cause}{where}; {remedy}; it printed {quoted(line, 120)}"


def _groups(match: re.Match[str]) -> dict[str, str]:
    """Return what the groups of a match have, by their names without the underscores that tell them apart."""
    found = match.groupdict().items()
    return {name.rstrip("_"): one_line(value).strip() for name, value in found if value}


def first_error(text: str) -> str | None:
    """Return the first line that reports an error and is not only a launcher's farewell; None if there is
    none."""
    text = _before_the_limit(text)
    if exception := _EXCEPTION.search(text):
        return exception[1]
    return next(
        (
            line
            for line in _lines(text)
            if _ERROR.search(line) and not _HARMLESS.search(line)
        ),
        None,
    )


def _lines(text: str, *, farewells: bool = False) -> list[str]:
    """Return the lines that say something, with a launcher's farewell or without; rules of dashes are
    none."""
    found = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    return [line for line in found if farewells or not _FAREWELL.search(line)]


def _before_the_limit(text: str) -> str:
    text = (
        text
        if len(text) <= 2 * _SEARCHED
        else f"{text[:_SEARCHED]}\n{text[-_SEARCHED:]}"
    )
    text = _LONG_LINE.sub(lambda line: cut(line[0], 1000), _LABEL.sub("", text))
    return _NOT_A_CAUSE.sub("", _TIME_LIMIT.split(text, maxsplit=1)[0])

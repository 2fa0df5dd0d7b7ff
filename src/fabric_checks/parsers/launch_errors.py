# SPDX-License-Identifier: BSD-3-Clause
"""Why a program failed, by what launchers, MPI libraries and the system printed: cause, suspect node, remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.core.errors import cut, quoted
from fabric_checks.core.text import names_text, one_line

#: The node that begins a line of Open MPI, UCX or Slurm's step daemon; the pattern of what it printed follows.
_HERE = (
    r"(?:(?:\[(?P<node>[A-Za-z][\w.-]{0,253}):\d+[^\]\n]{0,40}\]|slurmstepd-(?P<node_>[\w.-]{1,253}):)[^\n]{0,200}?)?"
)
#: What follows the time limit is the effect of being killed.
_TIME_LIMIT = re.compile(r"CANCELLED AT \S+ DUE TO TIME LIMIT")


@dataclass(frozen=True)
class LaunchError:
    """One way in which a start or a run fails.

    :param pattern: matches what is printed; the group ``node`` is a suspect, other groups can be in the cause.
    :param cause: what is wrong; :param remedy: the action for the user.
    """

    pattern: str
    cause: str
    remedy: str


KNOWN = (
    # The process manager
    LaunchError(
        r"\bmpi/pmi2: (?:request not begin with 'cmd='|invalid client request)",
        "MPICH could not start, which is not the fault of a node: Slurm's PMI takes 1024 bytes a line and cut a longer "
        "one (MPICH's issue 6924)",
        "use an MPICH with PMIx, under `srun --mpi=pmix`, which has no such limit",
    ),
    LaunchError(
        r"(?:OMPI|Open MPI) was not built with slurm'?s? PMI|direct launched using \"srun\"",
        "Open MPI cannot talk to the process manager of this srun",
        "take `srun --mpi=pmix` and an Open MPI that was built with PMIx, or the launcher `mpirun`",
    ),
    LaunchError(
        r"can ?not load PMIx library|cannot create (?:MPI )?context for mpi/(?P<type>\w+)|cannot find mpi plugin"
        r"|invalid MPI type|Couldn't (?:find|load) (?:the )?specified plugin name for mpi/",
        "Slurm has no plugin for the MPI type that was asked for, or cannot load it on this node",
        "take a type of `srun --mpi=list` that works, or have libpmix installed on all nodes",
    ),
    LaunchError(
        r"Framework: *psec\s+Component: *munge|pmix_psec_base_open failed",
        "PMIx cannot use the security of the host (munge), as in a container without it",
        "set PMIX_MCA_psec=native, or mount /run/munge and install libmunge there",
    ),
    LaunchError(
        r"inet_listen_socket_setup:[^\n]*bind(?:\(\))? failed|bind failed port \d+ listen_sock",
        "the port of Cray's PMI is in use by another step on the same node",
        "give each step PMI_CONTROL_PORT of its own, or run one at a time",
    ),
    LaunchError(
        r"PMI2?_(?:Init|Job_GetId|Get_\w+|KVS_\w+)\b[^\n]*(?:failed|returned)|PMI2 init failed|PMII_singinit"
        r"|write_line error; fd=-?\d+ buf=:cmd=",
        "MPI cannot talk to its process manager (PMI)",
        "launch with the launcher of the same MPI, or with the type of `srun --mpi=list` that it was built for",
    ),
    LaunchError(
        r"PMIX ERROR.*?(?:UNREACHABLE|UNPACK-\w+|NOT-SUPPORTED|OUT-OF-RESOURCE|INIT|NOT-FOUND)"
        r"|pmix_init failed|PMIx_Init failed|PMIX_ERR_\w+",
        "the PMIx of MPI and that of the launcher do not fit each other",
        "build both with the same PMIx, or launch with the `mpirun` of this MPI",
    ),
    LaunchError(
        r"this (?:test|benchmark|program) requires (?:exactly |at least )?(?:two|2|\d+) processes"
        r"|must be run with (?:exactly |at least )?\w+ process",
        "the program sees fewer processes than were launched: each is a world of its own, rank 0 of 1",
        "launch with the launcher of the MPI that the program was built with",
    ),
    # The network
    LaunchError(
        r"OFI (?:fi_)?(?:addrinfo|getinfo|fabric|domain)\(?\)? ?fail\w*|OFI fi_\w+ fail\w*|fi_getinfo failed"
        r"|OFI get address vector map failed|provider (?P<provider>\w+) not found",
        "libfabric has no provider that MPI can use",
        "see `fi_info`; name a provider with FI_PROVIDER, or load the network's libfabric",
    ),
    LaunchError(
        _HERE + r"(?:no (?:active messages|usable|remote \w+|auxiliary|copy across memory types) transport|"
        r"UCX +ERROR.*no usable transports|network device '?[^'\n]*'? is not available|failed to create UCP worker"
        r"|destination is unreachable|failed to resolve UCX endpoint)",
        "UCX has no transport to the other process",
        "compare UCX_TLS and UCX_NET_DEVICES with `ucx_info -d` on all nodes, and see whether their links are up",
    ),
    LaunchError(
        r"\b(?P<node>[A-Za-z][\w-]{0,62})[.:][\w.:]{0,80}?:? ?PSM\d? can't open (?:hfi|nic|efa)\w* unit|"
        r"PSM\d? was unable to open an endpoint|hfi_wait_for_device|/dev/(?:hfi1|ipath)\S* device failed to appear",
        "the adapter for PSM cannot be opened: it is missing, its link is down, or all its contexts are taken",
        "see `opainfo` or `ibstat` there; elsewhere exclude it with FI_PROVIDER=tcp or `--mca mtl ^psm2`",
    ),
    LaunchError(
        r"OFI (?:endpoint|ep) \w+ failed|OFI (?:EP|endpoint) enable failed|create_(?:vni|vci)_context",
        "libfabric cannot open the adapter",
        "compare FI_PROVIDER with `fi_info`, and see `ulimit -l` and whether other jobs have all its contexts",
    ),
    LaunchError(
        r"(?:\[(?P<node>[A-Za-z][\w.-]*)\] - Abort[^\n]*)?GTL library is not linked",
        "Cray MPICH is to handle GPU memory, but its GPU transport layer (GTL) is not linked",
        "load the accelerator's module (craype-accel-...) before compiling, or set MPICH_GPU_SUPPORT_ENABLED=0",
    ),
    LaunchError(
        r"cxil_map: write error|cxil_map\(\) failed|cxip_\w+\(\):\d+<\w+>.*?failed to (?:map|acquire mapping)",
        "the Slingshot adapter cannot map the memory of a message",
        "raise `ulimit -l`; for GPU buffers set FI_CXI_SAFE_DEVMEM_COPY_THRESHOLD=0 or MPICH_GPU_SUPPORT_ENABLED=1",
    ),
    LaunchError(
        r"to the fork\(\) system call|(?:RDMAV|FI_EFA)_FORK_SAFE",
        "the program forked, and EFA's memory would not be safe",
        "set FI_EFA_FORK_SAFE=1 and RDMAV_FORK_SAFE=1, or leave out benchmarks that fork, such as latency_mp",
    ),
    LaunchError(
        _HERE + r"(?:Transport retry count exceeded|RETRY EXCEEDED ERROR|remote (?:access|operation) error on"
        r"|Local (?:protection|QP operation) (?:error )?on|got completion with error)",
        "a message was not answered by the other end of an InfiniBand or RoCE connection",
        "look at the links of the job's nodes and at the switch between; for RoCE at PFC and the GID index",
    ),
    LaunchError(
        _HERE + r"(?:(?:ibv_(?:create_\w+|reg_mr)\w*|mlx5dv_devx\w*)[^\n]*(?:fail|Cannot allocate memory|error)"
        r"|allocate some locked memory|RLIMIT_MEMLOCK|max locked memory)",
        "memory cannot be registered with the adapter: the limit of locked memory is too low",
        "set `ulimit -l unlimited` on the nodes, for slurmd (LimitMEMLOCK=infinity) too",
    ),
    LaunchError(
        r"(?:Open MPI failed to TCP connect|unable to complete a TCP connection)[\s\S]{0,200}?"
        r"Local host: *(?P<node>\S+)|connect\(\) to \S+ failed"
        r"|_tcp\w*: [^\n]*(?:No route to host|Connection (?:refused|timed out))",
        "two nodes cannot reach each other by TCP",
        "check firewall and routes, and name the network: `--mca btl_tcp_if_include`, `oob_tcp_if_include`",
    ),
    LaunchError(
        r"(?:Read|Write) -1, expected \d+, errno = 1\b|process_vm_(?:readv|writev)\W[^\n]*(?:not permitted|EPERM)",
        "processes on a node may not read each other's memory, as in a container",
        "allow ptrace (--cap-add SYS_PTRACE), or set OMPI_MCA_btl_vader_single_copy_mechanism=none, UCX_TLS=^cma",
    ),
    LaunchError(
        r"No components were able to be opened in the (?P<framework>\w+) framework|PML \w+ cannot be selected"
        r"|(?:unable|not able) to find a usable \w+ (?:component|module)",
        "Open MPI has none of the components that were asked for",
        "see `ompi_info`, and correct OMPI_MCA_pml, OMPI_MCA_btl and `--mca` in the launcher's options",
    ),
    # Nodes and daemons
    LaunchError(
        r"lost communication with (?:a remote|its) daemon[\s\S]{0,200}?(?:Remote daemon *: \S+ on node|hostname:) +"
        r"(?P<node>[\w.-]+)",
        "Open MPI lost its daemon on a node",
        "see whether the node is up, whether its memory was exhausted, and whether the network between drops packets",
    ),
    LaunchError(
        r"(?:Task launch for \S+ failed on node (?P<node>[\w.-]+): )?(?:Invalid job credential|Job credential "
        r"(?:expired|revoked|replayed))|generating job credential",
        "a node did not accept Slurm's job credential",
        "compare its clock, munge key, slurm.conf and Slurm version with the controller's",
    ),
    LaunchError(
        r"Task launch for \S+ failed on node (?P<node>[\w.-]+)|Node failure on (?P<node_>[\w.-]+)"
        r"|ON (?P<node__>[\w.-]+) CANCELLED AT \S+ DUE TO NODE FAILURE",
        "a node failed or could not be reached",
        "see `scontrol show node` and its slurmd log",
    ),
    LaunchError(
        r"Host key verification failed|(?:ssh|kex)_exchange_identification|Permission denied \(\S*publickey"
        r"|ssh: (?:connect to host |Could not resolve hostname )(?P<node>[\w.-]+)[^\n]*",
        "the launcher cannot log in to a node by ssh",
        "make `ssh NODE true` work without a question from the first node, or launch by the scheduler",
    ),
    LaunchError(
        r"unable to (?:reliably )?(?:start|run) (?:one or more daemons|(?:bstrap_)?proxy(?: on (?P<node>[\w.-]+))?)"
        r"|unable to connect from \"[^\"]*\" to \"(?P<node_>[^\"]*)\"|daemon on node (?P<node__>[\w.-]+) (?:fail|died)"
        r"|unexpectedly died|HYDU_sock_connect",
        "the launcher's daemon could not start on a node, or died",
        "see whether the MPI and its libraries are at the same path there, and whether a firewall is between",
    ),
    LaunchError(
        r"(?:requested .*node configuration is not available|More processors requested than permitted"
        r"|Memory required by task is not available|Unable to create step for job \d+: [^\n]+)",
        "Slurm cannot start the step in this allocation",
        "compare tasks, CPUs, memory and GPUs of the step with those of the job (`scontrol show job`)",
    ),
    LaunchError(
        r"not enough slots available|All nodes which are allocated for this job are already filled",
        "there are fewer slots than processes",
        "give the nodes enough slots (`slots=N`), or oversubscribe: `extras: oversubscribed` of the partition",
    ),
    LaunchError(
        r"binding more processes than cpus|Unable to satisfy (?:cpu bind request|the requested binding)"
        r"|CPU binding outside of job step allocation|not enough (?:processing elements|cpus) to bind",
        "processes cannot be bound as asked for: the job has fewer cores on a node than processes",
        "ask for whole nodes, and compare cores and threads of a node in the system's file with `lscpu`",
    ),
    LaunchError(
        r"attempt to run as root|running as the superuser",
        "mpirun does not run as root",
        "run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in a container",
    ),
    LaunchError(
        r"oom[-_]kill|Out of memory|OOM Killed|exceeded (?:step |job )?memory limit"
        r"|Killed by signal 9 \(Out",
        "the memory of the job or of a node was exhausted",
        "ask for more (`--mem=0`), or run fewer processes on a node",
    ),
    LaunchError(
        r"shm_open\([^\n]*failed|not enough space (?:for|on|in) /dev/shm|/dev/shm[^\n]*No space left"
        r"|Signal: Bus error|Caught signal 7"
        r"|srun: error: (?P<node>[\w.-]+): tasks? \S+: Bus error",
        "the shared memory of a node (/dev/shm) is full or too small",
        "remove what was left there, or give the container a larger one (--shm-size)",
    ),
    LaunchError(
        r"No space left on device|Disk quota exceeded",
        "a disk is full",
        "free space in the stage folder and in TMPDIR of the nodes",
    ),
    # The program
    LaunchError(
        r"Unable to locate a modulefile for '(?P<file>[^'\n]+)"
        r"|module\(s\) (?:are unknown|exist but cannot be loaded as requested):\s*\"?(?P<file_>[^\"\n]+)",
        "a module cannot be loaded: {file}",
        "see `module spider` on a node, and correct the modules of the environment in the system's file",
    ),
    LaunchError(
        r"(?:could not (?:access\s+or execute|find) an executable|unable to find the specified executable file"
        r"|system couldn't find the executable)[\s\S]{0,500}?^Executable: *(?P<file>\S+)"
        r"|Application name: +(?P<file__>\S+)|execvp? error on file (?P<file_>\S+)"
        r"|execve\(\): (?P<file___>\S+): No such file|unable to execute (?P<file____>\S+):"
        r"|\b(?P<file_____>[\w./+-]{1,200}): command not found",
        "the program {file} is missing on a node, or cannot be executed",
        "see whether the software is on a file system that all nodes mount, and its environment is loaded in the job",
    ),
    LaunchError(
        r"loading shared libraries: (?P<file>[^:\s]+)|\b(?P<file_>lib[\w.+-]{1,80}\.so[.\d]{0,20}): cannot open shared",
        "the library {file} is not found on a node",
        "load the modules that the program was built with, or set LD_LIBRARY_PATH for the nodes as well",
    ),
    LaunchError(
        r"version [`'](?P<file>[\w.]+)' not found|symbol lookup error: [^\n]*undefined symbol: (?P<file_>\w+)"
        r"|undefined symbol: (?P<file__>\w+)",
        "a library is of another version than the program was built with: {file} is missing",
        "build the program where it runs, or load the same modules",
    ),
    LaunchError(
        r"exec format error|illegal instruction|Signal: Illegal|Caught signal 4|only be executed on .* CPU"
        r"|Please verify that both the operating system and the processor support",
        "the program was built for another processor",
        "build it on the nodes that run it",
    ),
    LaunchError(
        r"CUDA driver version is insufficient|no CUDA-capable device|hipErrorNoDevice|CUDA_ERROR_(?P<code>\w+)"
        r"|cuInit[^\n]*fail|libcuda\.so[.\d]*: cannot",
        "the program finds no GPU, or its driver is too old",
        "ask for GPUs (`--gres`), and compare `nvidia-smi` or `rocm-smi` on the node with the version of the toolkit",
    ),
    LaunchError(
        r"^[ \t]*(?-i:ERROR)(?: on proc \d+)?: (?P<text>[^\n]+)",
        "the program stopped: {text}",
        "see its input and its options",
    ),
    LaunchError(
        _HERE + r"\*\*\* An error occurred in (?P<call>(?!MPI_Init)\w+)[\s\S]{0,400}?\*\*\* (?P<code>MPI_ERR_\w+): "
        r"(?P<text>[^\n]+)",
        "{call} failed with {code}: {text}",
        "run the case with another MPI or release: it is an error of the program or of MPI",
    ),
    LaunchError(
        r"Fatal error in (?:internal_|P?MPI_)(?P<call>(?!Init|Finalize)\w+): (?P<text>(?!Other MPI)[^\n,]+)",
        "MPI_{call} failed: {text}",
        "run the case with another MPI or release: it is an error of the program or of MPI",
    ),
    LaunchError(
        _HERE + r"(?:Signal: (?P<text>(?:Segm|Abor|Floa)[^\n(]+)|Caught signal \d+ \((?P<text_>[A-Z][\w ]+)"
        r"|(?P<text__>Segmentation fault)|EXIT STRING: (?P<text___>[\w ]+))",
        "the program crashed: {text}",
        "see the backtrace in the output; if other cases crash too, suspect the MPI or its modules",
    ),
)
_COMPILED = [(re.compile(error.pattern, re.IGNORECASE | re.MULTILINE), error) for error in KNOWN]

#: What launchers print of a job that already failed: effects, and advice.
_FAREWELL = re.compile(
    r"^(?:srun|slurmstepd\S*): (?:error: )?(?:.*\btasks? [-\d,\[\]]+: |\*\*\* (?:STEP|JOB)|Terminating|Job step aborted"
    r"|forcing|Timed out waiting|Force Terminated|launch/slurm|Application launch failed|First task exited)"
    r"|primary job +terminated normally|a non-zero exit code|job has been aborted|(?:mpi|prte)run (?:noticed|detected)"
    r"|thus causing|process name: \[\[|exit code: |^=  |MPI_ABORT was invoked|with errorcode|invoking MPI_ABORT"
    r"|you may or may not see|when (?:Open MPI|PRTE) kills|proc: \[\[|exiting improperly|MPI_Finalize"
    r"|MPI_ERRORS_ARE_FATAL|potentially your (?:MPI )?job|MPI will try to terminate|reported by process|^In: PMI_Abort"
    r"|on communicator |on a NULL communicator|local abort before|^aborting job|^\[(?:proxy:|mpiexec@)|^\s*\(Other MPI"
    r"|more processes? ha(?:s|ve) sent help message|orte_base_help_aggregate|^make(?:\[\d+\])?: |mpi4py.run",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"error|fail|fatal|abort|cannot|can't|could not|unable|not (?:be )?found|no such|denied|invalid|illegal|refused"
    r"|unreachable|exception|undefined|segmentation|assertion|killed|terminated|panic|missing|not available",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\bwarn(?:ing)?\b|\binfo\b|\bdebug\b|^\s*#|^\s*-->|^[+$] ", re.IGNORECASE)
#: The exception of Python that ended a program.
_EXCEPTION = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)", re.MULTILINE)
#: So much of the beginning and the end of an output is searched.
_SEARCHED = 100_000
_LONG_LINE = re.compile(r"[^\n]{2000,}")


def explained(what: str, texts: Mapping[str, str]) -> str:
    """Return a message about a failure with its cause: a known one before it, or else the first printed error.

    :param what: what failed, in words; :param texts: what the job printed, by name of the file, standard error first.
    """
    for text in texts.values():
        if cause := known(text):
            return f"{cause} ({what})"
    for name, text in texts.items():
        if line := first_error(text):
            return f"{what}; the first error in {name} is {quoted(line.strip(), 200)}"
    for farewells in (False, True):
        for name, text in texts.items():
            if found := _lines(text, farewells=farewells):
                return f"{what}; the last line of {name} is {quoted(found[-1].strip(), 200)}"
    return what


def known(text: str) -> str | None:
    """Return the first known cause in what a job printed, the suspect nodes, the remedy, and the line that shows it.

    None if no cause is known.
    """
    text = _before_the_limit(text)
    found = [(match.start(), rank) for rank, (pattern, _) in enumerate(_COMPILED) if (match := pattern.search(text))]
    if not found:
        return None
    start, rank = min(found)
    pattern, error = _COMPILED[rank]
    nodes: dict[str, None] = {}
    groups: dict[str, str] = {}
    for match in pattern.finditer(text):
        of_match = {name.rstrip("_"): one_line(value).strip() for name, value in match.groupdict().items() if value}
        groups = groups or of_match
        if node := of_match.get("node"):
            nodes[node] = None
    cause = re.sub(r"\{(\w+)\}", lambda name: groups.get(name[1], "(not named)"), error.cause)
    where = f" (node{'s' if len(nodes) > 1 else ''} {names_text(list(nodes))})" if nodes else ""
    line = text[text.rfind("\n", 0, start) + 1 :].lstrip("\n").partition("\n")[0].strip()
    return f"{cause}{where}; {error.remedy}; it printed {quoted(line, 120)}"


def first_error(text: str) -> str | None:
    """Return the first line that reports an error and is not only a launcher's farewell; None if there is none."""
    text = _before_the_limit(text)
    if exception := _EXCEPTION.search(text):
        return exception[1]
    return next((line for line in _lines(text) if _ERROR.search(line) and not _HARMLESS.search(line)), None)


def _lines(text: str, *, farewells: bool = False) -> list[str]:
    """Return the lines that say something, with a launcher's farewell or without; rules of dashes are none."""
    found = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    return [line for line in found if farewells or not _FAREWELL.search(line)]


def _before_the_limit(text: str) -> str:
    text = text if len(text) <= 2 * _SEARCHED else f"{text[:_SEARCHED]}\n{text[-_SEARCHED:]}"
    text = _LONG_LINE.sub(lambda line: cut(line[0], 1000), text)
    return _TIME_LIMIT.split(text, maxsplit=1)[0]

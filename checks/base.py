# SPDX-License-Identifier: BSD-3-Clause
"""The base of every check that runs something."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, run_before, variable

from fabric_checks.reframe_ext.internals import without_deprecated_alias
from fabric_checks.reframe_ext.mixins import (
    ContainerMixin,
    LayoutMixin,
    PlacementMixin,
    PortsMixin,
    RecordMixin,
    ReferencesMixin,
    SettingsMixin,
    TopologyMixin,
)
from fabric_checks.reframe_ext.mixins.record import AFTER, BEFORE
from fabric_profile.mixin import ProfileMixin

from .builds import FabricPrograms

#: The files in the stage folder that values follow from, with the job's own output: outputs of the other
#: launches, of the placement probes and of the ports, the topology, and the times at which the job began and
#: ended.
EVIDENCE = (
    "placement*.txt",
    "validation.txt",
    "launch-*.out",
    "ports*",
    "topology.txt",
    BEFORE,
    AFTER,
)


@without_deprecated_alias
class FabricCheck(
    LayoutMixin,
    ContainerMixin,
    PortsMixin,
    TopologyMixin,
    PlacementMixin,
    ProfileMixin,
    ReferencesMixin,
    RecordMixin,  # it begins the facts that those above fill: ReFrame runs the last one's hooks first
    SettingsMixin,
    rfm.RunOnlyRegressionTest,
):
    """One launch of one program in one layout, with declared metrics, verified placement and references.

    Subclasses declare the parameter ``layout``, ``family``, ``levels``, ``needs`` and ``headlines``, and
    three methods, which are called from the phase setup on and may use system and environment: ``metrics()``,
    ``command()`` and ``measure(text)``. ``command()`` returns a list of the executable and its options. It is
    called once for each launch, so it depends on ``current_layout`` and ``num_tasks`` and changes nothing.

    The hooks run in this order; later ones depend on the results of earlier ones. OWN are those of suites and
    of checks, in the order of the classes; a star marks those that several launches in one job add or
    replace::

        phase               hook                        by its end there is
        ------------------  --------------------------  ----------------------------------------------------
        after init          apply_layout                num_tasks, num_tasks_per_node, valid_systems,
                                                        valid_prog_environs
                            OWN                         fewer of them, tags, dependencies
                            allow_time_for_all *        time_limit
                            tag_comparison *            the tag of comparisons
                            ask_for_launch_options *    valid_systems without those that cannot launch fewer
                            keep_to_repeats             in a session that repeats misses: their environments
                            add_tags                    the tags of family and levels: all that selects cases
        after setup         check_settings              settings that the program can take
                            begin_facts                 facts: the session, the check, its output, its metrics
                            require_packages            the Python packages of its analysis
                            read_references             reference; facts: no_reference, evidence
                            skip_what_has_no_profile    with a profile, comparisons, simulations are skipped
                            keep_profile                the file of the profile among those that are kept
                            enter_by_launcher           options of the launcher, where it enters an image
                            join_allocation             options of the launcher, in an allocation of several
                            bound_pending_time          max_pending_time
                            find_program                facts: program, program_version, stack
                            OWN                         the same for our own programs; lines in prerun_cmds
                            set_command                 executable, executable_opts
        before run          probe_placement             the probe behind prerun_cmds; * every launch but the
                                                        last, too
                            ask_for_topology            the topology behind it, of checks that use it
                            take_the_same_nodes         the nodes of a miss, in a session that repeats misses
                            keep_evidence               keep_files: the files that values follow from
                            look_for_program            a case whose program the suite lacks is skipped
                            OWN                         a case of our own whose program was not built fails
                            wrap_launch                 commands around the launch behind it, postrun_cmds
                            wait_for_host               the host of a partition that is this host: free
                            leave_time_to_the_launcher  no time_limit where the launcher has one
                            note_times                  uptime and load before all of prerun_cmds
        before sanity       note_job                    facts: elapsed_s, job_state, job_began, load
                            note_ports                  facts: ports, findings, of a program that failed, too
                            note_image                  facts: container, image, image_digest
                            note_build                  facts: spec, spec_hash, spack
        sanity              validate                    facts: node_faults, mpi, placement, binding,
                                                        ports; values
        before performance  declare_performance         perf_variables
        after performance   require_references          a failure, if the file of references is wrong
        before cleanup      require_records             a failure, if the perflog does not have the records

    That makes this script. Lines in brackets may be there, once or several times::

        #!/bin/bash
        [#SBATCH ...]                            the scheduler, from the layout and the limits
        [PREPARE]                                the partition's prepare_cmds
        [export ...]                             the partition, then the environment
        fabric_folder=$PWD                       note_times
        fabric_snapshot() ...
        trap ... EXIT                            at the script's end, however it ends
        fabric_snapshot cost-before.txt || :
        [OWN]                                    prerun_cmds by the end of setup
        LAUNCH PROBE > placement.txt || exit $?  probe_placement; it fails if the ranks are elsewhere
        [BEFORE]                                 around_launch()
        LAUNCH [PORTS ]PROGRAM                   the job's command: its output and exit status are the job's
        [BEHIND]                                 around_launch()

    With several launches in one job, from the probe on; the first two lines for each launch but the last,
    whose own command the job's is. L is the layout of a launch::

        LAUNCH PROBE > placement-L.txt || exit $?
        { [BEFORE; ]LAUNCH [PORTS ]PROGRAM[; BEHIND]; } > launch-L.out || exit $?
        LAUNCH PROBE > placement-L.txt || exit $?
        [BEFORE]
        LAUNCH [PORTS ]PROGRAM
        [BEHIND]

    PORTS is our program that records the port counters and starts the other one; only between nodes
    (PortsMixin). Where an image is named, PROBE and PROGRAM begin with the command that enters it
    (ContainerMixin).
    """

    #: The kinds of GPU that it is about, ``cuda`` and ``rocm``. Where no partition has one of them, the class
    #: is not registered. Other checks can have buffers in the memory of those that
    #: ``needs_of`` names under ``device``: then there is a variant with them (``checks/registration.py``).
    only_on: tuple[str, ...] = ()

    fabric_programs = fixture(FabricPrograms, scope="environment")
    #: Whether transferred data is verified where the program supports it, in a launch of its own.
    #:
    #: :type: :class:`bool`
    #: :default: ``False``; the modes ``acceptance`` and ``procurement`` set it
    verify_data = variable(bool, value=False)

    require_reference = True
    sourcesdir = None
    time_limit = "10m"
    maintainers = ["fabric-checks"]

    @run_after("setup", always_last=True)
    def set_command(self):
        """Run the check's ``command()``, with its ports recorded."""
        self.executable, *self.executable_opts = self.recorded(
            self.profiled(self.command())
        )

    def further_options(self, program):
        """Return the options of a program in the partition's ``extras['program_options']``, and those of
        ``-S``."""
        return [
            *self.extras.program_options.get(program, []),
            *self.program_options,
        ]

    @property
    def own_parameters(self):
        """The parameters of the test but its layout, and the settings that were changed, by name."""
        return super().own_parameters | self.changed_parameters

    @property
    def display_name(self):
        """The name of the test; from its set-up on with the changed settings, which are a series of their
        own."""
        changed = self.changed_parameters if self.facts else {}
        return " ".join(
            [
                super().display_name,
                *(f"%{name}={value}" for name, value in changed.items()),
            ]
        )

    def around_launch(self):
        """Return the commands before and after a launch: two lists of shell commands, none by default.

        Those after it have to keep its exit status.
        """
        return [], []

    @run_before("run")
    def keep_evidence(self):
        """Keep all files from which every value can be computed again."""
        self.keep_files = [*self.keep_files, *EVIDENCE]

    @run_before("run", always_last=True)
    def wrap_launch(self):
        """Put the commands around the job's own launch, behind the placement probe."""
        before, behind = self.around_launch()
        self.prerun_cmds = [*self.prerun_cmds, *before]
        self.postrun_cmds = [*behind, *self.postrun_cmds]

    @property
    def placement_probe(self):
        """The command of the placement probe; it fails, and so ends the job, if the ranks are not as in the
        layout."""
        layout = self.current_layout
        shared = " --shared" if self.extras.oversubscribed else ""
        probe = Path(self.fabric_programs.stagedir) / "placement"
        return " ".join(
            self.inside([f"{probe} --nodes {layout.nodes} --ppn {layout.ppn}{shared}"])
        )

    @property
    def ports_program(self):
        """The path of the program that records the port counters, built for this environment."""
        return Path(self.fabric_programs.stagedir) / "ports"

    @property
    def profile_library(self):
        """The path of the library that profiles a program, built for this environment."""
        return Path(self.fabric_programs.stagedir) / "profile.so"

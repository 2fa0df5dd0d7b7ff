# SPDX-License-Identifier: BSD-3-Clause
"""One of our programs, built by one MPI, for the tests of a single program."""

from tests import programs
from tests.fabric import builds
from tests.fabric.builds import STRICT, environment

#: C source of an MPI that does something before each message with data is sent: `before`, which it is to
#: define.
BEFORE_SENDS = """
#define _GNU_SOURCE
#include <mpi.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void before(const void *buffer);
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (count > 0) {
        before(buffer);
    }
    return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (count > 0) {
        before(buffer);
    }
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
"""


class OneProgram:
    """A program and the MPI it was built by.

    :param shim: C source that stands between the program and the MPI library, or None.
    """

    def __init__(self, mpi, program, folder, *, flags=(), shim=None):
        self.mpi, self.program, self.path, self.env = (
            mpi,
            program,
            folder / program,
            environment(mpi),
        )
        sources = []
        if shim is not None:
            sources.append(folder / "shim.c")
            sources[-1].write_text(shim)
        builds.make(mpi, program, self.path, flags=[*STRICT, *flags], sources=sources)

    def run(self, ranks, *arguments, **settings):
        """Run on so many ranks, with these environment variables added."""
        command = ["mpirun", "-np", str(ranks), str(self.path), *arguments]
        return programs.run(command, env=self.env | settings)

    def output(self, ranks, *arguments, **settings):
        """Return the standard output of a run that went well."""
        done = self.run(ranks, *arguments, **settings)
        assert done.returncode == 0, done.stderr
        assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
        return done.stdout

    def refuses(self, message, ranks, *arguments, **settings):
        """Assert that a run ends with one line that has this message, and prints no complete output."""
        done = self.run(ranks, *arguments, **settings)
        assert done.returncode != 0
        lines = [
            line
            for line in done.stderr.splitlines()
            if line.startswith(f"{self.program}: ")
        ]
        assert len(lines) == 1, done.stderr
        assert message in lines[0]
        assert "# complete" not in done.stdout

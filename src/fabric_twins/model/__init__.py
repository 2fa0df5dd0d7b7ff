# SPDX-License-Identifier: BSD-3-Clause
"""A cluster as it is described: its nodes and links, the ways between them, and SimGrid's platform of it."""

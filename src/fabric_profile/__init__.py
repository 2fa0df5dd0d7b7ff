# SPDX-License-Identifier: BSD-3-Clause
"""What a program asks MPI for: profiles and traces of our library ``profile.so``, and what they say of it."""

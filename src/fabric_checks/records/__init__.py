# SPDX-License-Identifier: BSD-3-Clause
"""The record and its writer, and what a session is called."""

# SPDX-License-Identifier: BSD-3-Clause
"""The latency of every pair: who is near whom, who is not where its name says, and which node or way is slow."""

# SPDX-License-Identifier: BSD-3-Clause
"""What the ports and hosts of a job say, as our program ``ports`` reads them.

How counters grew, who is unlike the others, what carried the bytes.
"""

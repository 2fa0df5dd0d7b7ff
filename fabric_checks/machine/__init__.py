# SPDX-License-Identifier: BSD-3-Clause
"""What the tools of a machine say of it: its nodes, its queues, its links, its modules.

A parser takes the text of one tool and returns facts with types. Names come out as they are: whoever writes them
anywhere has to see that they are names. A text that is of another form raises ``OutputError``.
"""

# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's own `httpjson`, a POST a case: append these lines to the file of your system."""

import functools

import requests

# ReFrame 4.10 gives its requests no time limit: a server that takes a connection and does not answer would hold the
# session for ever, and no setting of the handler ends that. This one is for connecting, and for a pause in an answer.
requests.api.request = functools.partial(requests.api.request, timeout=10)

handlers_perflog = [
    {
        "type": "httpjson",
        "level": "info",
        "url": "https://store.example/reframe",
        # Without it, a server that answers 429 is asked again for ever.
        "retry_timeout": 10,
    }
]

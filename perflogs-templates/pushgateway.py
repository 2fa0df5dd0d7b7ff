# SPDX-License-Identifier: BSD-3-Clause
"""A Pushgateway, from which any Prometheus collects the latest run of each case.

The address is FABRIC_PUSHGATEWAY_URL or else `url`; for credentials see README.md.
"""

from fabric_checks.results.perflogs.http_fragment import http_fragment


def fragment(url=None, credentials=None, timeout_s=30):
    """Return the fragment.

    :param url: scheme, host, port and path, as in `https://host.example:9091`.
    :param credentials: the path of a file that only its owner can read.
    :param timeout_s: how long a connection, and any pause in an answer, may take.
    """
    return http_fragment("pushgateway", url, credentials, timeout_s)

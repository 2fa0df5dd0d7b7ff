# SPDX-License-Identifier: BSD-3-Clause
"""VictoriaMetrics, one node or the vminsert of a cluster: series with the times of measurement.

The address is FABRIC_VICTORIAMETRICS_URL or else `url`; for credentials see README.md.
"""

from fabric_checks.results.perflogs.http_fragment import http_fragment


def fragment(url=None, credentials=None, timeout_s=30, path="/api/v1/import/prometheus"):
    """Return the fragment.

    :param url: scheme, host, port and path, as in `https://host.example:8428`.
    :param credentials: the path of a file that only its owner can read.
    :param timeout_s: how long a connection, and any pause in an answer, may take.
    :param path: behind the URL; a cluster has `/insert/0/prometheus/api/v1/import/prometheus`.
    """
    return http_fragment("victoriametrics", url, credentials, timeout_s, path=path)

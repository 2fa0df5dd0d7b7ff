# SPDX-License-Identifier: BSD-3-Clause
"""Prometheus 2.47 or later, or another receiver of OTLP: series with the times of measurement.

The address is FABRIC_PROMETHEUS_URL or else `url`; for credentials see README.md.
"""

from fabric_checks.results.perflogs.http_fragment import http_fragment


def fragment(url=None, credentials=None, timeout_s=30, path="/api/v1/otlp/v1/metrics"):
    """Return the fragment.

    :param url: scheme, host, port and path, as in `https://host.example:9090`.
    :param credentials: the path of a file that only its owner can read.
    :param timeout_s: how long a connection, and any pause in an answer, may take.
    :param path: behind the URL; an OpenTelemetry collector has `/v1/metrics`.
    """
    return http_fragment("prometheus", url, credentials, timeout_s, path=path)

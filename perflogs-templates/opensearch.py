# SPDX-License-Identifier: BSD-3-Clause
"""OpenSearch 1.0 or later, or Elasticsearch 7.8 or later: a document a record, in an index a month.

The address is FABRIC_OPENSEARCH_URL or else `url`; for credentials see README.md.
"""

from fabric_checks.results.perflogs.http_fragment import http_fragment


def fragment(url=None, credentials=None, timeout_s=30, index="fabric-checks"):
    """Return the fragment.

    :param url: scheme, host, port and path, as in `https://host.example:9200`.
    :param credentials: the path of a file that only its owner can read.
    :param timeout_s: how long a connection, and any pause in an answer, may take.
    :param index: what the names of the indices begin with, and the name of their template.
    """
    return http_fragment("opensearch", url, credentials, timeout_s, index=index)

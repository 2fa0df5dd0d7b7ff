# SPDX-License-Identifier: BSD-3-Clause
"""Print the package repositories that an environment uses, as one line of JSON: folders by namespace.

`spack -e ENVIRONMENT python inside.py` runs it, with Spack's Python and nothing of this library: only Spack
knows what all scopes together give, those of the instance and of conditional includes too.
"""

import json

import spack.repo

print(json.dumps({each.namespace: each.root for each in spack.repo.PATH.repos}))

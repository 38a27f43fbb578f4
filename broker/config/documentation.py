"""A sentence on each config, which DescribeConfigs returns on request.

The sentences are in `definitions/config-documentation.json`. Those of the broker's keys equal the
comments of `conf/server.properties`; a test compares them. A key that Ottla does not serve has
none. Follows KIP-569.
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache


@cache
def _sentences() -> dict[str, dict[str, str]]:
    """Return the sentences by number of the resource type and by config; read at the first call."""
    data = pkgutil.get_data("broker", "definitions/config-documentation.json")
    assert data is not None
    sentences: dict[str, dict[str, str]] = json.loads(data)
    return sentences


def config_documentation(resource_type: int, name: str) -> str | None:
    """Return the sentence on config `name` of this type of resource; None if it has none."""
    return _sentences().get(str(resource_type), {}).get(name)

"""One sentence on each config, for people: what DescribeConfigs answers when it is asked to.

The sentences stand in `definitions/config-documentation.json`; those of the broker's keys are the
comments of `conf/server.properties`, and a test holds the two equal. A key that Ottla does not
serve has none. Follows KIP-569.
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache


@cache
def _sentences() -> dict[str, dict[str, str]]:
    """By number of the resource type, read when somebody asks first."""
    data = pkgutil.get_data("broker", "definitions/config-documentation.json")
    assert data is not None
    sentences: dict[str, dict[str, str]] = json.loads(data)
    return sentences


def config_documentation(resource_type: int, name: str) -> str | None:
    """What the config `name` of this type of resource is for; None where nobody wrote it."""
    return _sentences().get(str(resource_type), {}).get(name)

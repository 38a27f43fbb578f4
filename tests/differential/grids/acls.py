"""ACLs where no authorizer is set: every number that a part may have, in each version.

What a broker with an authorizer answers is kept in `tests/golden/acl_answers_kafka.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.generate import Versions
from tests.differential.sequence import Body, Sequence, Step

NUMBERS = (-128, -1, 0, 1, 2, 3, 4, 15, 16, 127)
OF_ACL: Body = {
    "resource_type": 2,
    "resource_name": "~t0",
    "resource_pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
OF_FILTER: Body = {
    "resource_type_filter": 2,
    "resource_name_filter": "~t0",
    "pattern_type_filter": 3,
    "principal_filter": "User:a",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def grid(_versions: Versions) -> Iterator[Sequence]:
    for version in (1, 2, 3):
        creations = [{"creations": [OF_ACL, one]} for one in _changed(OF_ACL)]
        deletions = [{"filters": [one, OF_FILTER]} for one in _changed(OF_FILTER)]
        for api, bodies in (
            ("CREATE_ACLS", [{"creations": []}, *creations]),
            ("DELETE_ACLS", [{"filters": []}, *deletions]),
            ("DESCRIBE_ACLS", [OF_FILTER, *_changed(OF_FILTER)]),
        ):
            yield Sequence(f"{api} {version}", [Step(api, version, body) for body in bodies])


def _changed(body: Body) -> Iterator[Body]:
    for name, value in body.items():
        others = NUMBERS if isinstance(value, int) else ("", "x", "*", *_null(name))
        yield from ({**body, name: other} for other in others)


def _null(name: str) -> tuple[None, ...]:
    return (None,) if name.endswith("_filter") else ()

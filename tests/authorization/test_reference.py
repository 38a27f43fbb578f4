"""The standard authorizer says what thirty lines say; a rule left out of it is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controller.authorization import standard_authorizer
from controller.metadata.acl import ALL, AclsImage, PatternType, Permission
from ottla.plugins.authorizer import Operation
from tests.authorization.evaluation import compare, standard

SETS, SETS_OF_A_MUTANT = 2_000, 3_000


@pytest.mark.parametrize("seed", range(2))
def test_the_authorizer_says_what_the_reference_says(seed: int) -> None:
    compared = compare(seed, SETS)
    assert compared.disagreed[:3] == []
    assert len(compared.answers) == 4
    assert all(count > 1_000 for count in compared.answers.values()), compared.answers


def _without(left_out: Callable[[Any], bool]) -> Callable[[AclsImage, bool], Any]:
    """An authorizer that does not see some entries."""

    def judge(acls: AclsImage, everyone: bool) -> Any:
        kept = {acl_id: acl for acl_id, acl in acls.by_id.items() if not left_out(acl)}
        return standard(AclsImage().changed(kept), everyone)

    return judge


def _applies_to(
    principal: bool = True, anybody: bool = True, host: bool = True, anywhere: bool = True
) -> Callable[[Any, Any, Any], bool]:
    def applies_to(acl: Any, asker: Any, _acls: Any) -> bool:
        who = not principal or acl.principal == asker.principal
        where = not host or acl.host == asker.host
        return (who or (anybody and acl.principal == "User:*")) and (
            where or (anywhere and acl.host == "*")
        )

    return applies_to


IMPLIED = standard_authorizer._IMPLIED_BY
PATCHED: dict[str, dict[str, Any]] = {
    "whoever it names": {"_applies_to": _applies_to(principal=False)},
    "wherever it is from": {"_applies_to": _applies_to(host=False)},
    "nobody is everybody": {"_applies_to": _applies_to(anybody=False)},
    "nowhere is everywhere": {"_applies_to": _applies_to(anywhere=False)},
    "nothing implies Describe": {
        "_IMPLIED_BY": {k: v for k, v in IMPLIED.items() if k != Operation.DESCRIBE}
    },
    "nothing implies DescribeConfigs": {
        "_IMPLIED_BY": {k: v for k, v in IMPLIED.items() if k != Operation.DESCRIBE_CONFIGS}
    },
    "Create implies Describe": {
        "_IMPLIED_BY": {**IMPLIED, 8: (*IMPLIED[Operation.DESCRIBE], Operation.CREATE)}
    },
    **{
        f"{left_out.name} does not imply Describe": {
            "_IMPLIED_BY": {**IMPLIED, 8: tuple(one for one in IMPLIED[8] if one != left_out)}
        }
        for left_out in (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
    },
    "All is no operation": {"ALL": -1, "_IMPLIED_BY": {}},
    "each name that is allowed is denied": {"_is_covered": lambda *_: True},
    "no name that is allowed is denied": {"_is_covered": lambda *_: False},
    "silence allows": {"_DEFAULT_DENY": standard_authorizer._DEFAULT_ALLOW},
    "silence denies": {"_DEFAULT_ALLOW": standard_authorizer._DEFAULT_DENY},
    "nobody is a super user": {"_SUPER_USER": standard_authorizer._DEFAULT_DENY},
}


@pytest.mark.parametrize("mutant", PATCHED)
def test_a_rule_left_out_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PATCHED[mutant].items():
        monkeypatch.setattr(standard_authorizer, name, value)
    assert compare(1, SETS_OF_A_MUTANT, stops=True).disagreed


def _each_host(changed: Callable[[str], str]) -> Callable[[AclsImage, bool], Any]:
    """An authorizer for which the hosts of entries are others."""

    def judge(acls: AclsImage, everyone: bool) -> Any:
        made = {acl_id: acl._replace(host=changed(acl.host)) for acl_id, acl in acls.by_id.items()}
        return standard(AclsImage().changed(made), everyone)

    return judge


HOSTS: dict[str, Callable[[str], str]] = {
    "a range is its first address": lambda host: host.partition("/")[0],
    "a range is everywhere": lambda host: "*" if "/" in host else host,
    "an IPv4 range is everywhere": lambda host: "*" if "/" in host and ":" not in host else host,
    "everywhere in one family is everywhere": lambda host: "*" if host.endswith("/0") else host,
    "a range is half of it": lambda host: host.replace("/0", "/1").replace("/31", "/32"),
    "a range is twice of it": lambda host: host.replace("/23", "/22").replace("/127", "/126"),
}


@pytest.mark.parametrize("mutant", HOSTS)
def test_another_range_is_seen(mutant: str) -> None:
    assert compare(3, SETS_OF_A_MUTANT, _each_host(HOSTS[mutant]), stops=True).disagreed


UNSEEN: dict[str, Callable[[Any], bool]] = {
    "prefixes": lambda acl: acl.pattern == PatternType.PREFIXED,
    "wildcards": lambda acl: acl.pattern == PatternType.LITERAL and acl.name == "*",
    "denials": lambda acl: acl.permission == Permission.DENY,
    "denials of all": lambda acl: acl.permission == Permission.DENY and acl.operation == ALL,
    "ranges": lambda acl: "/" in acl.host,
    "ranges that deny": lambda acl: "/" in acl.host and acl.permission == Permission.DENY,
    "ranges of IPv6": lambda acl: "/" in acl.host and ":" in acl.host,
    "prefixes of a star": lambda acl: acl.pattern == PatternType.PREFIXED and acl.name == "*",
}


@pytest.mark.parametrize("unseen", UNSEEN)
def test_an_entry_that_is_not_seen_is_seen(unseen: str) -> None:
    assert compare(2, SETS_OF_A_MUTANT, _without(UNSEEN[unseen]), stops=True).disagreed

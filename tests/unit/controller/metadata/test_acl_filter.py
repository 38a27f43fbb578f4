"""`acl_filter`: what each part of a filter means, and that looking up finds what looking at all
finds. What Kafka answers to the same filters: `test_acl_requests_kafka`."""

from __future__ import annotations

import itertools
import random

from controller.metadata.acl import Acl, AclsImage, PatternType
from controller.metadata.acl_filter import ANY, MATCH, AclFilter
from ground.sliced_work import Pace, in_one_go

LITERAL, PREFIXED = PatternType
TOPIC, GROUP = 2, 3
READ, WRITE, ALL = 3, 4, 2
DENY, ALLOW = 2, 3
ONE = Acl(TOPIC, "orders", LITERAL, "User:a", "*", READ, ALLOW)
NO_ACLS = AclsImage()
ALL_OF = AclFilter(ANY, None, ANY, None, None, ANY, ANY)


def test_each_part_is_equal_or_any() -> None:
    exact = AclFilter(*ONE)
    assert exact.matches(ONE, NO_ACLS)
    assert ALL_OF.matches(ONE, NO_ACLS)
    others = AclFilter(GROUP, "order", PREFIXED, "User:b", "127.0.0.1", WRITE, DENY)
    for part in AclFilter._fields:
        other = {part: getattr(others, part)}
        assert not exact._replace(**other).matches(ONE, NO_ACLS), part
        assert not ALL_OF._replace(**other).matches(ONE, NO_ACLS), part
        assert exact._replace(**{part: getattr(ALL_OF, part)}).matches(ONE, NO_ACLS), part


def test_all_is_an_operation_like_others_and_a_star_a_text_like_others() -> None:
    assert not AclFilter(*ONE)._replace(operation=ALL).matches(ONE, NO_ACLS)
    assert not AclFilter(*ONE).matches(ONE._replace(operation=ALL), NO_ACLS)
    assert not AclFilter(*ONE)._replace(host="*").matches(ONE._replace(host="127.0.0.1"), NO_ACLS)
    assert not AclFilter(*ONE)._replace(name="*").matches(ONE, NO_ACLS)
    assert not AclFilter(*ONE)._replace(principal="User:*").matches(ONE, NO_ACLS)


def test_match_means_all_that_speaks_about_the_name() -> None:
    match = ALL_OF._replace(name="orders", pattern=MATCH)
    speaking = [
        (LITERAL, "orders"), (LITERAL, "*"), (PREFIXED, "orders"), (PREFIXED, "o"), (PREFIXED, ""),
    ]  # fmt: skip
    silent = [(LITERAL, "o"), (PREFIXED, "*"), (PREFIXED, "orders2"), (LITERAL, "Orders"), (9, "*")]
    for pattern, name in speaking:
        assert match.matches(ONE._replace(pattern=pattern, name=name), NO_ACLS), (pattern, name)
    for pattern, name in silent:
        assert not match.matches(ONE._replace(pattern=pattern, name=name), NO_ACLS), (pattern, name)


def test_what_is_looked_up_is_what_a_look_at_all_finds() -> None:
    draw = random.Random(36).choice
    names = ("a", "ab", "abc", "*", "")
    acls = {
        number.to_bytes(16): Acl(
            draw((TOPIC, GROUP)), draw(names), draw((LITERAL, PREFIXED)),
            draw(("User:a", "User:b")), draw(("*", "h", "::1", "0:0:0:0:0:0:0:1")),
            draw((READ, WRITE, ALL)), draw((DENY, ALLOW)),
        )
        for number in range(200)
    }  # fmt: skip
    image = AclsImage().changed(acls)
    parts = itertools.product(
        (ANY, TOPIC, GROUP), (None, *names, "abcd"), (ANY, MATCH, LITERAL, PREFIXED),
        (None, "User:a"), (None, "h", "0:0:0:0:0:0:0:1"), (ANY, READ), (ANY, DENY),
    )  # fmt: skip
    for one in itertools.starmap(AclFilter, parts):
        expected = sorted(acl for acl in acls.values() if one.matches(acl, image))
        assert sorted(in_one_go(one.matching(image, Pace()))) == expected, one


def test_a_host_is_meant_in_each_spelling_of_its_address() -> None:
    hosts = ("::1", "0:0:0:0:0:0:0:1", "0::0001", "::2", "10.0.0.1", "::ffff:10.0.0.1", "a:b", "*")
    acls = {bytes([at]): ONE._replace(host=host) for at, host in enumerate(hosts)}
    image = AclsImage().changed(acls)

    def found(host: str) -> list[str]:
        return [acl.host for acl in in_one_go(ALL_OF._replace(host=host).matching(image, Pace()))]

    assert found("0:0:0:0:0:0:0:1") == ["::1", "0:0:0:0:0:0:0:1", "0::0001"]
    assert found("10.0.0.1") == ["10.0.0.1", "::ffff:10.0.0.1"]
    assert found("a:b") == ["a:b"] and found("*") == ["*"] and found("0:0:0:0:0:0:0:3") == []

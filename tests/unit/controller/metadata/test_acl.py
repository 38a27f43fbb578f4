"""`acl`: what is found of all entries, before and after changes, and on the way through a snapshot.
Who may do what by them: `tests/unit/controller/authorization`."""

from __future__ import annotations

import random

from controller.metadata.acl import Acl, AclsImage, PatternType
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from controller.metadata.loader import delta_between
from controller.metadata.snapshot import acl_record, image_records
from protocol.address_range import address_range
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import image_of

LITERAL, PREFIXED = PatternType
TOPIC, GROUP = 2, 3


def acl(name: str, pattern: int = LITERAL, resource: int = TOPIC, principal: str = "User:a") -> Acl:
    return Acl(resource, name, pattern, principal, "*", 3, 3)


def number(index: int) -> bytes:
    return index.to_bytes(16)


def image(*acls: Acl) -> AclsImage:
    return AclsImage().changed({number(index): one for index, one in enumerate(acls)})


def test_an_entry_speaks_about_its_name_and_all_names_and_those_that_begin_so() -> None:
    acls = image(
        acl("orders"),
        acl("*"),
        acl("ord", PREFIXED),
        acl("orders", PREFIXED),
        acl("orders", resource=GROUP),
        acl("ord"),
        acl("ore", PREFIXED),
        acl("*", PREFIXED),
        acl("orders-2", PREFIXED),
        acl("orders", pattern=9),
    )
    about = list(acls.about(TOPIC, "orders"))
    assert about == [acl("orders"), acl("*"), acl("ord", PREFIXED), acl("orders", PREFIXED)]
    assert list(acls.about(GROUP, "orders")) == [acl("orders", resource=GROUP)]
    assert list(acls.about(TOPIC, "*")) == [acl("*"), acl("*", PREFIXED)]
    assert list(acls.about(GROUP, "x")) == []


def test_a_prefix_of_nothing_begins_each_name() -> None:
    acls = image(acl("", PREFIXED))
    assert list(acls.about(TOPIC, "orders")) == list(acls.about(TOPIC, "")) == [acl("", PREFIXED)]


def test_an_image_stays_as_it_was() -> None:
    first = image(acl("a"))
    second = first.changed({number(0): None, number(1): acl("b", PREFIXED)})
    assert list(first.by_id.values()) == list(first.about(TOPIC, "a")) == [acl("a")]
    assert list(second.about(TOPIC, "a")) == []
    assert list(second.about(TOPIC, "bc")) == [acl("b", PREFIXED)]
    assert first.changed({}) is first


def test_nothing_is_left_of_what_was_removed() -> None:
    acls = image(acl("a"), acl("a", principal="User:b"), acl("ab", PREFIXED), acl("cd", PREFIXED))
    acls = acls.changed({number(0): None, number(2): None, number(9): None})
    assert list(acls.about(TOPIC, "a")) == [acl("a", principal="User:b")]
    assert acls.prefix_lengths == {(TOPIC, 2): 1}
    assert acls.changed({number(1): None, number(3): None}) == AclsImage({}, {}, {})


def test_an_id_that_comes_again_stands_for_the_later_entry() -> None:
    acls = image(acl("a")).changed({number(0): acl("b", PREFIXED)})
    assert acls == image(acl("b", PREFIXED))
    assert list(acls.about(TOPIC, "a")) == []


def test_one_entry_by_two_ids_stays_until_both_are_gone() -> None:
    acls = image(acl("a", PREFIXED), acl("a", PREFIXED)).changed({number(0): None})
    assert list(acls.about(TOPIC, "a")) == [acl("a", PREFIXED)]
    assert acls.changed({number(1): None}) == AclsImage({}, {}, {})


def test_changes_one_by_one_make_what_all_at_once_makes() -> None:
    rng = random.Random(290)
    acls, kept = AclsImage(), dict[bytes, Acl]()
    for _ in range(300):
        acl_id = number(rng.randrange(40))
        name = rng.choice(("a", "ab", "abc", "*", ""))
        who = rng.choice(("User:a", "User:b", "User:*"))
        kind, resource = rng.choice((LITERAL, PREFIXED)), rng.choice((TOPIC, GROUP))
        change = acl(name, kind, resource, principal=who)
        made = rng.choice((change, None))
        acls = acls.changed({acl_id: made})
        kept.pop(acl_id, None)
        if made is not None:
            kept[acl_id] = made
        expected = AclsImage().changed(kept)
        assert acls.by_id == kept
        assert acls.prefix_lengths == expected.prefix_lengths
        assert {key: sorted(some) for key, some in acls.by_pattern.items()} == {
            key: sorted(some) for key, some in expected.by_pattern.items()
        }
        for who in ("User:a", "User:b"):
            wanted = [one for one in acls.about(TOPIC, "abc") if one.principal in (who, "User:*")]
            assert sorted(acls.for_principal(TOPIC, "abc", who)) == sorted(wanted)


def test_addresses_come_and_go_with_the_entries_that_have_them() -> None:
    there = {host: acl("a")._replace(host=host) for host in ("::1", "::2", "10.0.0.1", "*")}
    acls = image(*there.values(), there["::1"])
    spelled = {"::1": "0:0:0:0:0:0:0:1", "::2": "0:0:0:0:0:0:0:2"}
    assert acls.addresses == spelled
    assert [acls.address_of(one) for one in there.values()] == [*spelled.values(), "10.0.0.1", "*"]
    acls = acls.changed({number(0): None, number(1): there["*"]})
    assert acls.addresses == {"::1": spelled["::1"]}
    assert acls.changed({number(4): None}).addresses == {}
    assert list(acls.about(TOPIC, "a"))[-1].host == "*"


def test_ranges_come_and_go_with_the_entries_that_have_them() -> None:
    hosts = ("10.0.0.0/8", "2001:DB8::/32", "10.0.0.0/99", "2001:db8::/129")
    there = {host: acl("a")._replace(host=host) for host in hosts}
    acls = image(*there.values())
    ranges = {host: address_range(host) for host in hosts[:2]}
    # A host with a colon that is no range is kept as the text that it is.
    assert acls.addresses == {**ranges, "2001:db8::/129": "2001:db8::/129"}
    assert [acls.address_of(entry) for entry in there.values()] == list(hosts)
    v4, v6, no_v4, no_v6 = there.values()
    assert acls.is_for_host(v4, "10.1.2.3") and not acls.is_for_host(v4, "11.1.2.3")
    assert acls.is_for_host(v6, "2001:db8:0:0:0:0:0:7%2")
    assert not acls.is_for_host(no_v4, "10.1.2.3")
    assert not acls.is_for_host(no_v6, "2001:db8:0:0:0:0:0:7")
    acls = acls.changed({number(1): None, number(3): None})
    assert acls.addresses == {"10.0.0.0/8": ranges["10.0.0.0/8"]}
    assert acls.changed({number(0): None}).addresses == {}


def test_records_make_them_and_a_snapshot_has_them() -> None:
    one, other = acl("a"), acl("b", PREFIXED, GROUP)
    records = [acl_record(number(0), one), acl_record(number(1), other), acl_record(number(2), one)]
    made = image_of(*records, m.RemoveAccessControlEntryRecord(number(2)))
    assert made.acls.by_id == {number(0): one, number(1): other}
    again = image_of(*image_records(made))
    assert again.acls == made.acls


def test_a_delta_tells_which_have_changed() -> None:
    before = image_of(acl_record(number(0), acl("a")), acl_record(number(1), acl("b")))
    delta = MetadataDelta(before)
    assert delta.is_empty
    delta.replay(m.RemoveAccessControlEntryRecord(number(0)))
    delta.replay(acl_record(number(2), acl("c")))
    assert not delta.is_empty
    after = delta.apply(9, 1, 0)
    assert delta.changed_acls == {number(0): None, number(2): acl("c")}
    assert delta_between(before, after).changed_acls == delta.changed_acls
    back = delta_between(after, before).changed_acls
    assert back == {number(0): acl("a"), number(2): None}
    assert delta_between(after, after).is_empty
    assert delta_between(MetadataImage(), MetadataImage()).changed_acls == {}
    replaced = MetadataDelta(before)
    replaced.replay(acl_record(number(0), acl("z")))
    found = delta_between(before, replaced.apply(9, 1, 0)).changed_acls
    assert found == {number(0): acl("z")}

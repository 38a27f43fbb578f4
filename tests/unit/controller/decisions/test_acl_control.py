"""`acl_control`: records and limits. What each wrong value answers: `test_acl_requests_kafka`."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from controller.decisions import acl_control
from controller.decisions.acl_control import AclControl
from controller.metadata.acl import Acl, AclsImage, PatternType
from controller.metadata.acl_filter import ANY, AclFilter
from controller.metadata.image import MetadataImage
from controller.random_ids import random_uuid
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from tests.unit.controller.decision_fixture import after, view

EVERYTHING = AclFilter(ANY, None, ANY, None, None, ANY, ANY)


def control(seed: int = 1) -> AclControl:
    return AclControl(random.Random(seed).randbytes)


def acl(name: str = "t", **changed: object) -> Acl:
    return Acl(2, name, PatternType.LITERAL, "User:a", "*", 3, 3)._replace(**changed)


def created(*acls: Acl, before: MetadataImage | None = None, seed: int = 1) -> MetadataImage:
    image = before or MetadataImage()
    return after(image, in_one_go(control(seed).create(view(image), acls)).records)


def test_an_acl_is_written_once() -> None:
    decision = in_one_go(control().create(view(MetadataImage()), [acl(), acl("u"), acl()]))
    assert decision.reply == [None, None, None]
    assert len(decision.records) == 2
    image = after(MetadataImage(), decision.records)
    assert sorted(image.acls.by_id.values()) == [acl("t"), acl("u")]
    again = in_one_go(control(2).create(view(image), [acl(), acl("v"), acl("t", permission=2)]))
    assert again.reply == [None, None, None]
    assert sorted(after(image, again.records).acls.by_id.values()) == [
        acl("t", permission=2), acl("t"), acl("u"), acl("v"),
    ]  # fmt: skip


def test_an_id_that_is_taken_is_not_taken_again() -> None:
    image = created(acl())
    (taken,) = image.acls.by_id
    assert taken == random_uuid(random.Random(1).randbytes)
    assert len(created(acl("u"), before=image).acls.by_id) == 2


def test_what_is_wrong_with_one_stops_no_other() -> None:
    wrong = [acl(""), acl("x", resource=4), acl(principal="a"), acl(resource=0), acl(pattern=2),
             acl(operation=1), acl(permission=1)]  # fmt: skip
    decision = in_one_go(control().create(view(MetadataImage()), [*wrong, acl()]))
    assert isinstance(decision.reply, list)
    assert [error and error.code for error in decision.reply] == [
        *([ErrorCode.INVALID_REQUEST] * len(wrong)),
        None,
    ]
    assert len({error.message for error in decision.reply[:-1]}) == len(wrong)
    assert len(decision.records) == 1
    filters = [EVERYTHING._replace(**{part: 99}) for part in
               ("resource", "pattern", "operation", "permission")]  # fmt: skip
    image = created(acl())
    removal = in_one_go(control().delete(view(image), [*filters, EVERYTHING]))
    assert isinstance(removal.reply, list)
    assert [one.code for one in removal.reply[:-1]] == [ErrorCode.INVALID_REQUEST] * 4
    assert removal.reply[-1] == [acl()]


def test_what_two_filters_mean_is_removed_once_and_told_twice() -> None:
    image = created(acl("t"), acl("u"), acl("v"))
    t, u = EVERYTHING._replace(name="t"), EVERYTHING._replace(name="u")
    decision = in_one_go(control().delete(view(image), [t, t, u, EVERYTHING._replace(name="x")]))
    assert decision.reply == [[acl("t")], [acl("t")], [acl("u")], []]
    assert len(decision.records) == 2
    assert list(after(image, decision.records).acls.by_id.values()) == [acl("v")]


def test_what_another_log_holds_twice_goes_as_a_whole() -> None:
    """Kafka writes no ACL twice; a log that has one all the same can be cleaned up."""
    image = MetadataImage(acls=AclsImage().changed({b"1" * 16: acl(), b"2" * 16: acl()}))
    decision = in_one_go(control().delete(view(image), [EVERYTHING]))
    assert after(image, decision.records).acls == AclsImage({}, {}, {})


@pytest.mark.parametrize(
    "decide",
    [
        lambda image: in_one_go(control().create(view(image), [acl(name) for name in "cdef"])),
        lambda image: in_one_go(control().create(view(image), [acl("n" * 100)])),
        lambda image: in_one_go(
            control().create(view(image), [acl(principal="User:" + "n" * 100)])
        ),
        lambda image: in_one_go(control().create(view(image), [acl(host="n" * 100)])),
        lambda image: in_one_go(control().delete(view(image), [EVERYTHING] * 4)),
    ],
)
def test_more_than_one_batch_should_hold_is_refused_whole(
    decide: Callable[[MetadataImage], acl_control.Decision[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acl_control, "MAX_RECORDS_PER_OPERATION", 3)
    monkeypatch.setattr(acl_control, "MAX_CONFIG_BYTES_PER_OPERATION", 100)
    monkeypatch.setattr(acl_control, "MAX_ACLS_LOOKED_AT", 6)
    image = created(acl("a"), acl("b"))
    assert in_one_go(control().create(view(image), [acl("a"), acl("c"), acl("d")])).records
    by_name = EVERYTHING._replace(resource=2, name="x")
    assert in_one_go(control().delete(view(image), [EVERYTHING, *[by_name] * 10])).records
    reply = decide(MetadataImage(acls=image.acls)).reply
    assert isinstance(reply, ApiError)
    assert reply.code is ErrorCode.POLICY_VIOLATION


def test_no_more_are_removed_at_once_than_one_batch_should_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(acl_control, "MAX_RECORDS_PER_OPERATION", 3)
    image = created(acl("a"), acl("b"))
    a = EVERYTHING._replace(name="a")
    decision = in_one_go(control().delete(view(image), [a, EVERYTHING, EVERYTHING, a]))
    assert isinstance(decision.reply, list)
    first, second, refused, last = decision.reply
    assert (first, second) == ([acl("a")], [acl("a"), acl("b")])
    assert refused.code is last.code is ErrorCode.INVALID_REQUEST
    assert len(decision.records) == 2

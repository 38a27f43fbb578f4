"""`scram_control`: keys, sizes and old levels. Each refusal's words: `test_controller_apis`."""

from __future__ import annotations

import pytest

from controller.decisions import scram_control
from controller.decisions.scram_control import CredentialDeletion, Upsertion, alter_credentials
from controller.metadata.image import MetadataImage
from controller.metadata.scram_credential import (
    ScramMechanism,
    credential_of,
    salted_password,
)
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import image_of
from tests.unit.controller.decision_fixture import after, view

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def image(level: int = 30) -> MetadataImage:
    return image_of(m.FeatureLevelRecord("metadata.version", level))


def upsertion(name: str = "u", mechanism: int = 1, salt: bytes = b"salt") -> Upsertion:
    return Upsertion(name, mechanism, 4096, salt, b"p" * 32)


def codes(outcome: object) -> dict[str, ErrorCode | None]:
    assert isinstance(outcome, dict)
    return {name: None if error is None else error.code for name, error in outcome.items()}


@pytest.mark.parametrize("mechanism", list(ScramMechanism))
def test_the_keys_are_derived_from_the_salted_password(mechanism: ScramMechanism) -> None:
    salted = salted_password(mechanism, "secret", b"salt", 5000)
    before = image()
    change = Upsertion("u", mechanism, 5000, b"salt", salted)
    decision = in_one_go(alter_credentials(view(before), [change]))
    assert decision.reply == {"u": None}
    kept = after(before, decision.records).scram.credential(mechanism, "u")
    assert kept == credential_of(mechanism, salted, b"salt", 5000)
    assert salted not in (kept.salt, kept.stored_key, kept.server_key)


def test_a_credential_is_replaced_and_deleted() -> None:
    first = after(image(), in_one_go(alter_credentials(view(image()), [upsertion()])).records)
    other = Upsertion("u", 1, 6000, b"other", b"q" * 32)
    second = after(first, in_one_go(alter_credentials(view(first), [other])).records)
    kept = second.scram.credential(SHA_256, "u")
    assert kept is not None
    assert (kept.iterations, kept.salt) == (6000, b"other")
    third = after(
        second, in_one_go(alter_credentials(view(second), [CredentialDeletion("u", 1)])).records
    )
    assert third.scram.users == {}


def test_what_one_user_gets_wrong_stops_no_other() -> None:
    changes = [
        CredentialDeletion("x", 1),
        upsertion("a"),
        upsertion("b", 3),
        upsertion("c"),
        upsertion("c"),
    ]
    decision = in_one_go(alter_credentials(view(image()), changes))
    assert codes(decision.reply) == {
        "x": ErrorCode.RESOURCE_NOT_FOUND,
        "a": None,
        "b": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "c": ErrorCode.DUPLICATE_RESOURCE,
    }
    assert [record.name for record in decision.records] == ["a"]


def test_an_empty_salted_password_is_refused() -> None:
    """Kafka answers UNKNOWN_SERVER_ERROR."""
    decision = in_one_go(alter_credentials(view(image()), [Upsertion("u", 1, 4096, b"salt", b"")]))
    assert codes(decision.reply) == {"u": ErrorCode.UNACCEPTABLE_CREDENTIAL}
    assert not decision.records


def test_a_cluster_that_is_too_old_for_scram() -> None:
    """3.5-IV2 is 11. The answer is Kafka's at 3.5-IV1: every user, whatever is wrong with it."""
    changes = [CredentialDeletion("x", 1), upsertion("a"), upsertion("")]
    decision = in_one_go(alter_credentials(view(image(level=10)), changes))
    assert codes(decision.reply) == dict.fromkeys(("x", "a", ""), ErrorCode.UNSUPPORTED_VERSION)
    assert not decision.records
    assert in_one_go(alter_credentials(view(image(level=11)), [upsertion()])).reply == {"u": None}


def test_more_than_one_batch_should_hold_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scram_control, "MAX_RECORDS_PER_OPERATION", 3)
    monkeypatch.setattr(scram_control, "MAX_CONFIG_BYTES_PER_OPERATION", 100)
    three = [upsertion(name) for name in "abc"]
    assert len(in_one_go(alter_credentials(view(image()), three)).records) == 3
    salty = [upsertion("a", salt=b"s" * 60), upsertion("b" * 60)]
    for changes in ([*three, upsertion("d")], salty):
        decision = in_one_go(alter_credentials(view(image()), changes))
        assert isinstance(decision.reply, ApiError)
        assert decision.reply.code is ErrorCode.POLICY_VIOLATION
        assert not decision.records


def test_a_change_does_not_show_its_secret() -> None:
    assert repr(upsertion()) == "Upsertion('u', 1, 4096, [hidden])"

"""What a broker was at first: told, taken back, and compared."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

from controller.metadata.acl import Acl, AclsImage
from controller.metadata.image import MetadataImage, ResourceType, ScramImage
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from testbed.initial_state import InitialState, LogLevels

CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)
ACL = Acl(2, "orders", 3, "User:alice", "*", 3, 3)
IMAGE = MetadataImage(
    configs={
        (ResourceType.BROKER, ""): {"log.retention.ms": "1"},
        (ResourceType.TOPIC, "orders"): {"retention.ms": "1"},
    },
    features={"metadata.version": 25},
    scram=ScramImage({"alice": {ScramMechanism.SCRAM_SHA_256: CREDENTIAL}}),
    acls=AclsImage().changed({b"1": ACL}),
)


def test_it_is_the_same_on_its_way_and_back() -> None:
    first = InitialState.of(IMAGE)
    assert dict(first.configs) == {(ResourceType.BROKER, ""): {"log.retention.ms": "1"}}
    assert list(first.users) == [("alice", 1)] and first.acls == {ACL}
    told = json.loads(json.dumps(first.to_channel()))
    assert InitialState.from_channel(told) == first
    assert "stored" not in str(told)


def test_what_no_request_brings_back() -> None:
    first = InitialState.of(IMAGE)
    assert first.irrevocable(first) == []
    assert first.irrevocable(replace(first, configs={}, acls=frozenset())) == []
    more = ScramImage({**IMAGE.scram.users, "bob": {ScramMechanism.SCRAM_SHA_512: CREDENTIAL}})
    assert first.irrevocable(InitialState.of(IMAGE._replace(scram=more))) == []
    another = ScramImage({"alice": {ScramMechanism.SCRAM_SHA_256: replace(CREDENTIAL, salt=b"t")}})
    assert first.irrevocable(InitialState.of(IMAGE._replace(scram=another))) == [
        "a user that was there at first was changed"
    ]
    changed = replace(first, users={}, features={}, tokens=frozenset({"t"}))
    assert len(first.irrevocable(changed)) == 3


def test_levels_of_logging_are_restored() -> None:
    one, later = logging.getLogger("ottla.test-as-new"), "ottla.test-as-new.later"
    one.setLevel(logging.ERROR)
    levels = LogLevels()
    one.setLevel(logging.DEBUG)
    logging.getLogger(later).setLevel(logging.DEBUG)
    levels.restore()
    assert (one.level, logging.getLogger(later).level) == (logging.ERROR, logging.NOTSET)
    one.setLevel(logging.NOTSET)

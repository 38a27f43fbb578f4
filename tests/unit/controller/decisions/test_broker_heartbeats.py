"""`controller.decisions.broker_heartbeats`: sessions, and who has read what."""

from __future__ import annotations

from controller.decisions.broker_heartbeats import BrokerHeartbeats
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of

THREE = image_of(broker_record(1), broker_record(2), broker_record(3, fenced=True))


def active() -> BrokerHeartbeats:
    heartbeats = BrokerHeartbeats(9_000)
    heartbeats.activate(THREE, 0)
    return heartbeats


def test_the_first_session_to_end() -> None:
    heartbeats = active()
    heartbeats.touch(2, 5_000)
    assert heartbeats.next_end_ms(THREE, 6_000) == 9_000
    heartbeats.touch(1, 6_000)
    assert heartbeats.next_end_ms(THREE, 6_000) == 14_000
    nobody = image_of(broker_record(3, fenced=True))
    assert heartbeats.next_end_ms(nobody, 7_000) == 16_000


def test_expired() -> None:
    heartbeats = active()
    heartbeats.touch(2, 5_000)
    assert heartbeats.expired(THREE, 8_999) == []
    assert heartbeats.expired(THREE, 14_000) == [1, 2], "the longest silent first"
    heartbeats.grant_all(14_000)
    assert heartbeats.expired(THREE, 22_999) == []


def test_sessions() -> None:
    heartbeats = active()
    assert heartbeats.has_session(1, 8_999)
    assert not heartbeats.has_session(1, 9_000)
    assert not heartbeats.has_session(3, 0)
    heartbeats.forget(1)
    assert not heartbeats.has_session(1, 0)


def test_a_shutdown_waits_for_who_is_active() -> None:
    leaving = m.BrokerRegistrationChangeRecord(1, 10, in_controlled_shutdown=1)
    image = image_of(broker_record(1), broker_record(2), broker_record(3, fenced=True), leaving)
    heartbeats = active()
    assert not heartbeats.shutdown_seen_by_all(image, 1)
    heartbeats.note_shutdown_offset(1, 50)
    heartbeats.note_shutdown_offset(1, 70)
    heartbeats.touch(2, 0, 49)
    assert not heartbeats.shutdown_seen_by_all(image, 1)
    heartbeats.touch(2, 0, 50)
    assert heartbeats.shutdown_seen_by_all(image, 1), "the first offset counts"
    heartbeats.forget(1)
    assert not heartbeats.shutdown_seen_by_all(image, 1)

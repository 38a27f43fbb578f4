"""Entities and the records of their values."""

from __future__ import annotations

from controller.metadata.client_quotas import entity_of, quota_entity, quota_record


def test_an_entity_is_the_same_in_whatever_order() -> None:
    parts = [("user", "u"), ("client-id", None)]
    assert quota_entity(parts) == quota_entity(parts[::-1]) == (("client-id", None), ("user", "u"))


def test_of_two_parts_of_one_type_the_last_one_counts() -> None:
    assert quota_entity([("user", "u"), ("user", "v")]) == (("user", "v"),)


def test_a_record_sets_or_removes_a_value() -> None:
    entity = quota_entity([("user", None)])
    record = quota_record(entity, "request_percentage", 2.5)
    assert (record.key, record.value, record.remove) == ("request_percentage", 2.5, False)
    assert entity_of(record) == entity
    gone = quota_record(entity, "request_percentage", None)
    assert (gone.key, gone.remove) == ("request_percentage", True)

"""Precedence, of one form above all that come after it."""

from __future__ import annotations

import pytest

from broker.quotas.limits import ClientEntity, SetLimits, Tags

FORMS = (
    ClientEntity("alice", "c1"),
    ClientEntity("alice", None),
    ClientEntity("alice", ""),
    ClientEntity(None, "c1"),
    ClientEntity(None, None),
    ClientEntity(None, ""),
    ClientEntity("", "c1"),
    ClientEntity("", None),
)


@pytest.mark.parametrize("first", range(8))
def test_the_first_form_that_is_set_counts(first: int) -> None:
    limits = SetLimits()
    for i in range(first, 8):
        limits.put(FORMS[i], float(i))
    assert limits.limit(limits.tags_of("User:alice", "c1")) == first


@pytest.mark.parametrize("form", FORMS)
def test_one_form_alone(form: ClientEntity) -> None:
    limits = SetLimits()
    assert not limits.any_set
    assert limits.put(form, 1.0)
    assert limits.any_set
    assert not limits.put(form, 1.0)
    assert limits.limit(limits.tags_of("User:alice", "c1")) == 1.0
    stranger = limits.limit(limits.tags_of("User:bob", "c2"))
    assert stranger == (1.0 if {form.user, form.client_id} <= {None, ""} else None)
    assert limits.put(form, None)
    assert not limits.any_set
    assert limits.limits == {}


def test_a_quota_of_a_user_is_one_for_all_its_clients() -> None:
    limits = SetLimits()
    limits.put(ClientEntity("alice"), 1.0)
    assert limits.tags_of("User:alice", "c1") == limits.tags_of("User:alice", "c2")
    limits.put(ClientEntity("", "c1"), 2.0)
    assert limits.tags_of("User:bob", "c1") == limits.tags_of("User:carol", "c1") == Tags("", "c1")
    limits.put(ClientEntity(None, None), 2.0)
    assert limits.tags_of("User:bob", "c1") == Tags("bob", "c1")


def test_a_client_without_an_id_has_the_quota_of_its_user_alone() -> None:
    limits = SetLimits()
    limits.put(ClientEntity("", None), 1.0)
    assert limits.limit(limits.tags_of("User:alice", "")) is None
    limits.put(ClientEntity(None, ""), 2.0)
    assert limits.limit(limits.tags_of("User:alice", "")) == 2.0


def test_a_name_with_a_colon_is_whole() -> None:
    limits = SetLimits()
    limits.put(ClientEntity("a:b"), 1.0)
    assert limits.tags_of("User:a:b", "c") == Tags("a:b", "")

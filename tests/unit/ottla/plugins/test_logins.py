"""A SCRAM credential that a plug-in makes is one as the controller makes it."""

from __future__ import annotations

import pytest

from controller.metadata.scram_credential import SCRAM_MECHANISMS, credential_of, salted_password
from ottla.plugins.logins import ScramCredential


@pytest.mark.parametrize("name", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_it_is_what_the_controller_would_keep(name: str) -> None:
    made = ScramCredential.of_password(name, "pässword", b"salt", 5000)
    mechanism = SCRAM_MECHANISMS[name]
    salted = salted_password(mechanism, "pässword", b"salt", 5000)
    kept = credential_of(mechanism, salted, b"salt", 5000)
    assert (made.stored_key, made.server_key) == (kept.stored_key, kept.server_key)
    assert (made.salt, made.iterations) == (b"salt", 5000)


def test_it_has_a_salt_of_its_own_and_is_not_shown() -> None:
    first, second = (ScramCredential.of_password("SCRAM-SHA-256", "p") for _ in range(2))
    assert first.salt != second.salt and first.stored_key != second.stored_key
    assert repr(first) == "ScramCredential([hidden], iterations=4096)"

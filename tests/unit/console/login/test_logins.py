"""A cookie belongs to a login, ends with its password, and cannot be made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.login.logins import WEEK_S, PasswordLogin, TokenLogin
from console.login.passwords import PasswordFile, add_user

PASSWORD = "correct horse"


class Clock:
    """A clock that a test sets."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def users(tmp_path: Path) -> Path:
    path = tmp_path / "users"
    add_user(path, "anna.b", PASSWORD)
    return path


def test_a_token_is_its_own_cookie() -> None:
    login = TokenLogin("secret")
    assert login.cookie_of({"token": " secret\n"}) == "secret"
    assert login.is_valid("secret")
    for wrong in ("", "secre", "secret ", "\udcff"):
        assert not login.is_valid(wrong)
    assert login.cookie_of({"token": "other"}) is None
    assert login.cookie_of({}) is None


def test_a_password_gives_a_cookie_for_a_week(users: Path) -> None:
    clock = Clock()
    login = PasswordLogin(PasswordFile(users), clock)
    cookie = login.cookie_of({"user": "anna.b", "password": PASSWORD})
    assert cookie is not None
    assert login.is_valid(cookie)
    assert PasswordLogin(PasswordFile(users), clock).is_valid(cookie), "after a restart"
    clock.now += WEEK_S + 1
    assert not login.is_valid(cookie)


def test_a_wrong_password_gives_none(users: Path) -> None:
    login = PasswordLogin(PasswordFile(users))
    for form in (
        {"user": "anna.b", "password": "wrong"},
        {"user": "bob", "password": PASSWORD},
        {"user": "anna.b"},
        {"token": PASSWORD},
        {},
    ):
        assert login.cookie_of(form) is None


def test_a_changed_password_and_a_logout_end_the_cookie(users: Path) -> None:
    login = PasswordLogin(PasswordFile(users))
    first, second = (
        login.cookie_of({"user": "anna.b", "password": PASSWORD}) or "" for _ in range(2)
    )
    login.log_out(first)
    assert not login.is_valid(first)
    assert login.is_valid(second)
    login.log_out("made up")
    add_user(users, "anna.b", "a new password")
    assert not login.is_valid(second)


def test_a_cookie_that_is_altered_is_rejected(users: Path) -> None:
    add_user(users, "bob", "another one")
    login = PasswordLogin(PasswordFile(users))
    cookie = login.cookie_of({"user": "bob", "password": "another one"})
    assert cookie is not None
    name, expires, nonce, signature = cookie.split(".")
    for altered in (
        f"YW5uYS5i.{expires}.{nonce}.{signature}",
        f"{name}.{int(expires) + 1}.{nonce}.{signature}",
        f"{name}.{expires}.{nonce}.",
        f"{name}.{expires}.{nonce}",
        f"{name}.x.{nonce}.{signature}",
        f"\udcff.{expires}.{nonce}.{signature}",
        "....",
        "",
    ):
        assert not login.is_valid(altered)

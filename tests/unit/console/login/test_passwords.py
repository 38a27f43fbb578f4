"""A password file has hashes only, is read again after a change, and says what is wrong with it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from broker.config.start_error import StartError
from console.login.passwords import PasswordFile, add_user, hash_of, hashes_in, with_user

PASSWORD = "correct horse"


def test_a_user_that_was_added_has_this_password(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "anna", PASSWORD)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert PASSWORD not in path.read_text()
    users = PasswordFile(path)
    kept = users.hash_of("anna")
    assert kept is not None
    assert kept.matches(PASSWORD)
    assert not kept.matches("correct horsf")
    assert users.hash_of("bob") is None


def test_a_change_of_the_file_counts_at_once(tmp_path: Path) -> None:
    path = tmp_path / "users"
    add_user(path, "anna", PASSWORD)
    users = PasswordFile(path)
    add_user(path, "bob", "another one")
    os.utime(path, ns=(1, 1))
    assert users.hash_of("bob") is not None
    before = users.hash_of("anna")
    add_user(path, "anna", "a new password")
    after = users.hash_of("anna")
    assert after is not None
    assert after != before
    path.unlink()
    assert users.hash_of("anna") is None, "without the file nobody logs in"


def test_comments_and_other_users_stay(tmp_path: Path) -> None:
    made = hash_of(PASSWORD)
    text = with_user(f"# admins\nanna:{made}\nbob:{made}\n", "anna", hash_of("other one"))
    assert text.startswith("# admins\n")
    assert hashes_in(text)["bob"] == made
    assert hashes_in(text)["anna"] != made
    assert text.count("anna:") == 1


@pytest.mark.parametrize(
    "line",
    [
        "anna",
        "anna:secret",
        ":scrypt$2$8$1$YQ==$YQ==",
        "anna:md5$2$8$1$YQ==$YQ==",
        "anna:scrypt$3$8$1$YQ==$YQ==",
        "anna:scrypt$1073741824$8$1$YQ==$YQ==",
        "anna:scrypt$2$8$1$?$YQ==",
        "anna:scrypt$2$8$1$$YQ==",
    ],
)
def test_a_line_that_is_no_user(line: str, tmp_path: Path) -> None:
    path = tmp_path / "users"
    path.write_text(f"\n{line}\n")
    with pytest.raises(StartError, match="line 2 is no NAME:scrypt"):
        PasswordFile(path)


def test_a_file_without_users(tmp_path: Path) -> None:
    path = tmp_path / "users"
    with pytest.raises(StartError, match="No such file"):
        PasswordFile(path)
    path.write_text("# nobody yet\n")
    with pytest.raises(StartError, match="has no user: add one with"):
        PasswordFile(path)


@pytest.mark.parametrize(
    ("name", "password", "reason"),
    [
        ("", PASSWORD, "a user's name has"),
        ("a:b", PASSWORD, "no colon"),
        ("a\nb", PASSWORD, "printable"),
        ("#a", PASSWORD, "not with #"),
        (" a", PASSWORD, "without a space"),
        ("anna", "short", "at least 8 characters"),
        ("anna", "x" * 2000, "at most 1024 bytes"),
    ],
)
def test_a_user_that_cannot_be(name: str, password: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match=reason):
        add_user(tmp_path / "users", name, password)
    assert not (tmp_path / "users").exists()

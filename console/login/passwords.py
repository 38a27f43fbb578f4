"""The password file of a console: a line for each user, with the scrypt hash of the password.

A line is `NAME:scrypt$N$R$P$SALT$HASH`; salt and hash are in base64. Blank lines and lines that
begin with `#` have no meaning. Pure but for `PasswordFile`, which reads the file again after it
has changed, so a new user can log in without a restart.

Follows RFC 7914 (scrypt).
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from broker.config.start_error import StartError

_N, _R, _P = 1 << 15, 8, 1
"""The cost of a new hash: 32 MiB, and about a tenth of a second."""
_COST_MAX = 1 << 20
_SALT_BYTES, _HASH_BYTES = 16, 32
FILE_BYTES_MAX = 1 << 20
PASSWORD_CHARACTERS_MIN, PASSWORD_BYTES_MAX = 8, 1024
NAME_CHARACTERS_MAX = 100


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """A hashed password with the parameters and the salt of scrypt."""

    n: int
    r: int
    p: int
    salt: bytes
    hash: bytes

    def matches(self, password: str) -> bool:
        """Return whether this is the hash of the password. Takes about a tenth of a second."""
        made = _scrypt(password, self.n, self.r, self.p, self.salt, len(self.hash))
        return hmac.compare_digest(made, self.hash)

    def __str__(self) -> str:
        parts = (self.n, self.r, self.p, _base64(self.salt), _base64(self.hash))
        return "scrypt$" + "$".join(map(str, parts))


def hash_of(password: str, random_bytes: Callable[[int], bytes] = os.urandom) -> PasswordHash:
    """Return a new hash of a password."""
    salt = random_bytes(_SALT_BYTES)
    return PasswordHash(_N, _R, _P, salt, _scrypt(password, _N, _R, _P, salt, _HASH_BYTES))


def check_new_user(name: str, password: str) -> None:
    """Raise StartError if a user cannot have this name or this password."""
    if not name or len(name) > NAME_CHARACTERS_MAX or not name.isprintable() or ":" in name:
        raise StartError(
            f"a user's name has 1 to {NAME_CHARACTERS_MAX} printable characters, and no colon"
        )
    if name != name.strip() or name.startswith("#"):
        raise StartError("a user's name begins and ends without a space, and not with #")
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise StartError(f"a password has at least {PASSWORD_CHARACTERS_MIN} characters")
    if len(password.encode("utf-8", "replace")) > PASSWORD_BYTES_MAX:
        raise StartError(f"a password has at most {PASSWORD_BYTES_MAX} bytes")


def hashes_in(text: str) -> dict[str, PasswordHash]:
    """Return the hashes in a password file by their users' names.

    Raises ValueError, whose text names the line.
    """
    hashes: dict[str, PasswordHash] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, packed = line.strip().rpartition(":")
        try:
            if not colon or not name or name in hashes:
                raise ValueError
            hashes[name] = _unpacked(packed)
        except ValueError:
            raise ValueError(
                f"line {number} is no NAME:scrypt$…: add users with ottla console --add-user"
            ) from None
    return hashes


def with_user(text: str, name: str, password_hash: PasswordHash) -> str:
    """Return the text of a password file with this user, whose old line is replaced."""
    kept = [line for line in text.splitlines() if line.strip().rpartition(":")[0] != name]
    return "\n".join([*kept, f"{name}:{password_hash}", ""])


class PasswordFile:
    """The users in a password file, as it is now."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises StartError if it is missing, invalid or without users."""
        self._path = path
        self._lock = Lock()
        self._version: tuple[int, int] | None = None
        self._hashes: dict[str, PasswordHash] = {}
        try:
            self._read()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise StartError(f"--password-file {path}: {reason}") from None
        if not self._hashes:
            raise StartError(
                f"--password-file {path} has no user: add one with "
                f"ottla console --password-file {path} --add-user NAME"
            )

    def hash_of(self, user: str) -> PasswordHash | None:
        """Return the user's hash, None if the file has no such user. If the file cannot be read
        any more, it has no users."""
        with self._lock:
            try:
                self._read()
            except (OSError, ValueError):
                self._version, self._hashes = None, {}
            return self._hashes.get(user)

    def _read(self) -> None:
        state = self._path.stat()
        version = (state.st_mtime_ns, state.st_size)
        if version == self._version:
            return
        if state.st_size > FILE_BYTES_MAX:
            raise ValueError(f"the file is larger than {FILE_BYTES_MAX >> 20} MiB")
        self._hashes = hashes_in(self._path.read_text("utf-8"))
        self._version = version


def add_user(path: Path, name: str, password: str) -> None:
    """Write a user with a hashed password to a password file, which is made if it is missing, with
    mode 600. Raises StartError."""
    check_new_user(name, password)
    try:
        text = path.read_text("utf-8") if path.exists() else ""
        hashes_in(text)
        changed = path.with_name(f"{path.name}.new")
        descriptor = os.open(changed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(with_user(text, name, hash_of(password)))
        changed.replace(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StartError(f"--password-file {path}: {reason}") from None


def _unpacked(packed: str) -> PasswordHash:
    """Return the hash in `scrypt$N$R$P$SALT$HASH`. Raises ValueError."""
    scheme, n, r, p, salt, made = packed.split("$")
    parsed = PasswordHash(
        int(n), int(r), int(p), b64decode(salt, validate=True), b64decode(made, validate=True)
    )
    is_power = parsed.n > 1 and parsed.n & (parsed.n - 1) == 0
    is_cheap = min(parsed.r, parsed.p) > 0 and parsed.n * parsed.r * parsed.p <= _COST_MAX
    if scheme != "scrypt" or not is_power or not is_cheap or not (parsed.salt and parsed.hash):
        raise ValueError
    return parsed


def _scrypt(password: str, n: int, r: int, p: int, salt: bytes, size: int) -> bytes:
    data = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=n, r=r, p=p, maxmem=132 * n * r * p, dklen=size)


def _base64(data: bytes) -> str:
    return b64encode(data).decode()

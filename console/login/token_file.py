"""The file with a console's token, which keeps its links and cookies valid over restarts."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from broker.config.start_error import StartError

TOKEN_CHARACTERS_MIN, TOKEN_CHARACTERS_MAX = 16, 1024
_TOKEN_BYTES = 24


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def token_in(path: Path) -> str:
    """Return the token in a file, which is made with a new token and mode 600 if it is missing.

    Raises StartError.
    """
    try:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            with path.open("rb") as file:
                text = file.read(TOKEN_CHARACTERS_MAX + 2).decode("utf-8", "replace")
            return checked_token(text.strip(), f"--token-file {path}")
        token = new_token()
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
        return token
    except OSError as error:
        raise StartError(f"--token-file {path}: {error.strerror}") from None


def checked_token(token: str, source: str) -> str:
    """Return the token. Raises StartError, which names the source, if the token is too short, too
    long or has other characters than those of a link."""
    is_plain = token.isascii() and all(sign.isalnum() or sign in "-_.~" for sign in token)
    if not is_plain or not TOKEN_CHARACTERS_MIN <= len(token) <= TOKEN_CHARACTERS_MAX:
        raise StartError(
            f"{source} must have a token of {TOKEN_CHARACTERS_MIN} to {TOKEN_CHARACTERS_MAX} "
            "letters, digits, and - _ . ~"
        )
    return token

"""The console's login at a schema registry: from the URL, or from a file of properties.

The keys are those of Confluent's clients of the registry. A file keeps the login out of the list of
processes, which shows the URL.
"""

from __future__ import annotations

import ssl
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from broker.config.properties import parse_properties
from broker.config.start_error import StartError

USER_INFO = "basic.auth.user.info"
BEARER_TOKEN = "bearer.auth.token"
CA_FILE = "ssl.ca.location"
_KEYS = (USER_INFO, BEARER_TOKEN, CA_FILE)


@dataclass(frozen=True, slots=True)
class RegistryLogin:
    """The value of the header Authorization, and the trust in certificates; None: the default."""

    authorization: str | None = None
    tls_context: ssl.SSLContext | None = None


def login_in_url(user: str | None, password: str | None) -> str | None:
    """Return the header for the user and the password of a URL; None without a user."""
    return None if user is None else _basic(f"{unquote(user)}:{unquote(password or '')}")


def login_in_file(path: str) -> RegistryLogin:
    """Return the login in a file of properties. Raises StartError."""
    try:
        properties = parse_properties(Path(path).read_text("utf-8"))
    except OSError as error:
        raise StartError(f"--registry-config {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StartError(f"--registry-config {path}: the file is not UTF-8") from None
    unknown = [key for key in properties if key not in _KEYS]
    if unknown:
        raise StartError(
            f"--registry-config {path}: unknown key {unknown[0]}: use {', '.join(_KEYS)}"
        )
    user_info, token = properties.get(USER_INFO), properties.get(BEARER_TOKEN)
    if user_info and token:
        raise StartError(f"--registry-config {path}: set {USER_INFO} or {BEARER_TOKEN}, not both")
    authorization = f"Bearer {token}" if token else None
    if user_info:
        if ":" not in user_info:
            raise StartError(f"--registry-config {path}: {USER_INFO} must be USER:PASSWORD")
        authorization = _basic(user_info)
    if authorization is not None and not authorization.isprintable():
        raise StartError(f"--registry-config {path}: the login has control characters")
    return RegistryLogin(authorization, _context(path, properties.get(CA_FILE)))


def _context(path: str, ca_file: str | None) -> ssl.SSLContext | None:
    if not ca_file:
        return None
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        reason = error.strerror or "no certificates in PEM"
        raise StartError(f"--registry-config {path}: {CA_FILE}={ca_file}: {reason}") from None


def _basic(user_info: str) -> str:
    return f"Basic {b64encode(user_info.encode()).decode()}"

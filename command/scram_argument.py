"""The argument of `ottla format --add-scram`: a user as text, made into a first metadata record.

    SCRAM-SHA-512=[name=alice,password=secret]
    SCRAM-SHA-256=[name=bob,iterations=8192,salt="c2FsdA==",saltedpassword="…"]

Owns the form of the text, which is that of `kafka-storage format --add-scram`, and the order of its
checks. A value may stand in double quotes, which do not protect a comma. An error never repeats
text that may be a part of a password. Follows KIP-900.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

from broker.config.start_error import StartError
from controller.metadata.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    SCRAM_MECHANISMS,
    ScramMechanism,
    credential_of,
    salted_password,
)
from controller.metadata.snapshot import credential_record
from ground.java_literals import integer, trim
from protocol.messages.metadata_records import UserScramCredentialRecord

OPTION = "--add-scram"
SALT_BYTES = 16
_KEYS = ("name", "password", "saltedpassword", "salt", "iterations")


def scram_record(text: str, random_bytes: Callable[[int], bytes]) -> UserScramCredentialRecord:
    """Return the metadata record of the user in `text`; `random_bytes` makes a salt if the text has
    none.

    Raises StartError if the text has another form or a wrong value.
    """
    mechanism_name, equals, configs = trim(text).partition("=")
    if not equals:
        raise _argument_error(
            "there is no equals sign in it: MECHANISM=[name=USER,password=PASSWORD]"
        )
    mechanism = SCRAM_MECHANISMS.get(mechanism_name)
    if mechanism is None:
        supported = " and ".join(SCRAM_MECHANISMS)
        raise _argument_error(f"this mechanism is not supported; {supported} are")
    return _checked_record(mechanism, _parsed_values(configs), random_bytes)


def _parsed_values(configs: str) -> dict[str, str]:
    """Return the keys and values of `[key=value,…]`, without quotes.

    Raises StartError if the text has another form.
    """
    if not configs.startswith("["):
        raise _argument_error("what follows the mechanism has to start with [")
    if not configs.endswith("]"):
        raise _argument_error("it has to end with ]")
    parts = configs[1:-1].split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    values: dict[str, str] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            raise _argument_error(
                "a part between commas has no equals sign; a password with a comma can be given by "
                "salt and saltedpassword only"
            )
        quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
        values[key] = value[1:-1] if quoted else value
    return values


def _checked_record(
    mechanism: ScramMechanism, values: dict[str, str], random_bytes: Callable[[int], bytes]
) -> UserScramCredentialRecord:
    """Return the credential's record; a missing salt is random.

    Raises StartError if a value is missing, wrong or unknown.
    """
    if not values.get("name"):
        raise _argument_error("it needs a name")
    password, salted = values.get("password"), _base64_value(values, "saltedpassword")
    salt = _base64_value(values, "salt")
    if not (password or (salted and password is None)):
        raise _argument_error("it needs a password or a saltedpassword, which must not be empty")
    if password is None and salt is None:
        raise _argument_error("saltedpassword needs its salt")
    iterations = _iterations(values)
    if any(key not in _KEYS for key in values):
        raise _argument_error(f"it has an unknown key; the known ones are {', '.join(_KEYS)}")
    salt = random_bytes(SALT_BYTES) if salt is None else salt
    if password is not None:
        salted = salted_password(mechanism, password, salt, iterations)
    assert salted is not None
    return credential_record(
        values["name"], mechanism, credential_of(mechanism, salted, salt, iterations)
    )


def _iterations(values: dict[str, str]) -> int:
    """Return the number of iterations, by default the least.

    Raises StartError outside the limits.
    """
    text = values.get("iterations", str(ITERATIONS_MIN))
    iterations = integer(text, 32)
    if iterations is None or not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise _argument_error(
            f"iterations has to be a number from {ITERATIONS_MIN} to {ITERATIONS_MAX}"
        )
    return iterations


def _base64_value(values: dict[str, str], key: str) -> bytes | None:
    """Return the bytes of a base64 value; None without the key.

    Raises StartError if it is not base64.
    """
    if key not in values:
        return None
    try:
        return base64.b64decode(values[key], validate=True)
    except (binascii.Error, ValueError) as error:
        raise _argument_error(f"{key} is not in base64") from error


def _argument_error(reason: str) -> StartError:
    """Return the error of the option, without raising it."""
    return StartError(f"{OPTION}: {reason}")

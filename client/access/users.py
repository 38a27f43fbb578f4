"""Users who log in by SCRAM, as a command sees them: the questions to a cluster and its answers.

A password never leaves the command: what is sent is its salted hash, as Kafka's own tools do. Owns
no connection; `call` puts a request through and gives the answer.

Follows KIP-554.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from client.refusals import Refused, why
from controller.metadata.scram_credential import ScramMechanism, salted_password
from protocol.errors import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

SALT_BYTES = 16

Call = Callable[[Any, Any], Any]
"""`Cluster.call`."""


class Credential(NamedTuple):
    """That a user can log in by a mechanism."""

    user: str
    mechanism: str
    iterations: int


def credentials(call: Call, names: Sequence[str] = ()) -> list[Credential]:
    """Those of the users named, or of all. Raises Refused."""
    asked = [UserName(name) for name in dict.fromkeys(names)] or None
    answer = call(DescribeUserScramCredentialsRequest(asked), DescribeUserScramCredentialsResponse)
    if answer.error_code:
        raise Refused(why(answer.error_code, answer.error_message, "Describe on the cluster"))
    unknown = [one.user for one in answer.results if one.error_code == ErrorCode.RESOURCE_NOT_FOUND]
    if unknown:
        raise Refused(f"no such user: {', '.join(unknown)} (ottla user list shows all)")
    for one in answer.results:
        if one.error_code:
            raise Refused(f"{one.user}: {why(one.error_code, one.error_message, '')}")
    found = [
        Credential(one.user, _name_of(info.mechanism), info.iterations)
        for one in answer.results
        for info in one.credential_infos
    ]
    return sorted(found)


def set_password(
    call: Call,
    user: str,
    mechanism: ScramMechanism,
    iterations: int,
    password: str,
    random_bytes: Callable[[int], bytes],
) -> None:
    """Make a user who can log in by `mechanism`, or give them another password. Raises Refused."""
    salt = random_bytes(SALT_BYTES)
    salted = salted_password(mechanism, password, salt, iterations)
    upsertion = ScramCredentialUpsertion(user, mechanism, iterations, salt, salted)
    _alter(call, AlterUserScramCredentialsRequest([], [upsertion]))


def delete(call: Call, user: str, mechanism: ScramMechanism) -> None:
    """Let a user no longer log in by `mechanism`. Raises Refused."""
    _alter(call, AlterUserScramCredentialsRequest([ScramCredentialDeletion(user, mechanism)], []))


def _alter(call: Call, request: AlterUserScramCredentialsRequest) -> None:
    for one in call(request, AlterUserScramCredentialsResponse).results:
        if one.error_code:
            reason = why(one.error_code, one.error_message, "Alter on the cluster")
            raise Refused(f"user {one.user}: {reason}")


def _name_of(mechanism: int) -> str:
    try:
        return ScramMechanism(mechanism).mechanism_name
    except ValueError:
        return f"mechanism {mechanism}"

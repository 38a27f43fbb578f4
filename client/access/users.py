"""SCRAM users of a cluster: their credentials listed, set and deleted.

A password never leaves the command, which sends the salted hash as Kafka's own tools do. Owns no
connection; `call` (`ClusterClient.call`) returns the response to a request.

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
"""The type of `ClusterClient.call`."""


class Credential(NamedTuple):
    """A SCRAM credential: a user, and a mechanism by which the user can log in."""

    user: str
    mechanism: str
    iterations: int


def credentials(call: Call, names: Sequence[str] = ()) -> list[Credential]:
    """Return the credentials of the named users, or of all users, sorted.

    Raises Refused, also for a user that does not exist.
    """
    user_names = [UserName(name) for name in dict.fromkeys(names)] or None
    answer = call(
        DescribeUserScramCredentialsRequest(user_names), DescribeUserScramCredentialsResponse
    )
    if answer.error_code:
        raise Refused(why(answer.error_code, answer.error_message, "Describe on the cluster"))
    unknown = [
        result.user
        for result in answer.results
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND
    ]
    if unknown:
        raise Refused(f"no such user: {', '.join(unknown)} (ottla user list shows all)")
    for result in answer.results:
        if result.error_code:
            raise Refused(f"{result.user}: {why(result.error_code, result.error_message, '')}")
    listed = [
        Credential(result.user, _name_of(info.mechanism), info.iterations)
        for result in answer.results
        for info in result.credential_infos
    ]
    return sorted(listed)


def set_password(
    call: Call,
    user: str,
    mechanism: ScramMechanism,
    iterations: int,
    password: str,
    random_bytes: Callable[[int], bytes],
) -> None:
    """Create a user's credential for `mechanism`, or replace its password. Only a salted hash, with
    a salt from `random_bytes`, is sent. Raises Refused."""
    salt = random_bytes(SALT_BYTES)
    salted = salted_password(mechanism, password, salt, iterations)
    upsertion = ScramCredentialUpsertion(user, mechanism, iterations, salt, salted)
    _alter(call, AlterUserScramCredentialsRequest([], [upsertion]))


def delete(call: Call, user: str, mechanism: ScramMechanism) -> None:
    """Delete a user's credential for `mechanism`. Raises Refused."""
    _alter(call, AlterUserScramCredentialsRequest([ScramCredentialDeletion(user, mechanism)], []))


def _alter(call: Call, request: AlterUserScramCredentialsRequest) -> None:
    """Send the request to the cluster. Raises Refused for the first user that the cluster
    rejects."""
    for result in call(request, AlterUserScramCredentialsResponse).results:
        if result.error_code:
            reason = why(result.error_code, result.error_message, "Alter on the cluster")
            raise Refused(f"user {result.user}: {reason}")


def _name_of(mechanism: int) -> str:
    """Return the mechanism's name in SASL, `mechanism N` if it is unknown."""
    try:
        return ScramMechanism(mechanism).mechanism_name
    except ValueError:
        return f"mechanism {mechanism}"

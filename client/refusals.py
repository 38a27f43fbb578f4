"""Errors in a cluster's responses as texts for users: what was rejected, and what to do.

`Refused` ends a command with exit code 1. A wrong command or a failed connection is a `StartError`,
with exit code 2. Pure text: never asks a broker anything.
"""

from __future__ import annotations

from protocol.errors import ErrorCode

EXIT_REFUSED_BY_CLUSTER = 1


class Refused(Exception):
    """The cluster rejected a request; `str()` is one line for the user."""


class Leaderless(Refused):
    """A partition has no leader: an election is under way, or its replicas are not available."""


_AUTHORIZATION = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ADVICE = {
    ErrorCode.SECURITY_DISABLED: (
        "the cluster has no authorizer, and so no ACLs: set authorizer.class.name="
        f"{_AUTHORIZATION} and super.users on every node"
    ),
    ErrorCode.NOT_CONTROLLER: "the controller is moving just now: try again",
    ErrorCode.REQUEST_TIMED_OUT: (
        "no active controller answered in time: ottla status tells whether there is one"
    ),
    ErrorCode.UNSUPPORTED_VERSION: "the cluster is too old for this",
    ErrorCode.INVALID_TOPIC_EXCEPTION: (
        "no topic can be called so, and names are no patterns (ottla topic list shows all)"
    ),
    ErrorCode.INVALID_GROUP_ID: "no group can be called so (ottla group list shows all)",
}


LOGIN_ADVICE = "use another login (--command-config), or grant the right with ottla acl add"
"""The advice for a user of a command whose login lacks a right."""


def why(error_code: int, message: str | None, needs: str) -> str:
    """Return the text for users that says why a response has this error, and what to do about it.

    `needs`: the right that the request needs, such as `Alter on the cluster`.
    """
    code = ErrorCode(error_code)
    if code.name.endswith("_AUTHORIZATION_FAILED"):
        return f"this takes {needs}, which this login does not have: {LOGIN_ADVICE}"
    advice = _ADVICE.get(code)
    if advice is not None:
        return advice
    return f"{code.name}: {message}" if message else code.name

"""AlterUserScramCredentials 0 as a command, and DescribeUserScramCredentials 0 from an image.

Describe returns mechanisms and iterations, nothing that helps to log in. A broker answers it from
its own image; so does every controller. Kafka's controllers list the API too, but answer
UNKNOWN_SERVER_ERROR.

Rights on the cluster: Alter to alter, Describe to describe.

Owns: the form of the responses. Never: checks a credential (`controller.decisions.scram_control`).
Follows KIP-554 and Kafka's `ControllerApis` and `ScramImage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

from controller.decisions.decision import Decision, DecisionView
from controller.decisions.scram_control import (
    CredentialDeletion,
    Upsertion,
    UserErrors,
    alter_credentials,
)
from controller.metadata.image import ScramImage
from controller.metadata.scram_credential import ScramCredential, ScramMechanism
from controller.quorum_controller import QuorumController
from controller.requests.long_requests import LongRequests, map_in_slices
from controller.requests.rights import RequestSender, if_allowed
from ground.sliced_work import Pace, Steps, in_bulk, in_one_go, in_order
from ottla.plugins.authorizer import Operation
from protocol.errors import ApiError, ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

Respond = Callable[[Any], None]

_DONE = ApiError(ErrorCode.NONE)


class ScramRequests:
    """The handlers of the two requests."""

    def __init__(self, controller: QuorumController, long: LongRequests) -> None:
        self._controller = controller
        self._long = long

    def alter(
        self, context: RequestSender, request: AlterUserScramCredentialsRequest, respond: Respond
    ) -> None:
        """Set and delete SCRAM credentials, and respond after the commit, with a result for each
        user. Needs Alter on the cluster."""

        def decide(view: DecisionView) -> Steps[Decision[UserErrors]]:
            """Return the decision on the request's deletions and upsertions."""
            changes = [
                *(yield from map_in_slices(request.deletions, _deletion)),
                *(yield from map_in_slices(request.upsertions, _upsertion)),
            ]
            return (yield from alter_credentials(view, changes))

        def answer(
            outcome: UserErrors | ApiError,
        ) -> Steps[AlterUserScramCredentialsResponse]:
            """Return the response: the result of each user, or the error in `outcome` for every
            user."""
            if isinstance(outcome, ApiError):
                return (yield from refused_credentials(request, outcome))
            return (yield from _alteration_response(outcome.items()))

        allowed = if_allowed(context, Operation.ALTER, decide)
        self._long.submit("alter SCRAM credentials", allowed, answer, respond)

    def describe(
        self, context: RequestSender, request: DescribeUserScramCredentialsRequest, respond: Respond
    ) -> None:
        """Respond at once with mechanisms and iterations of the requested users, without secrets.
        Needs Describe on the cluster. The image may have uncommitted records on the active
        controller."""
        respond(in_one_go(described_to(context, self._controller.image.scram, request)))


def refused_credentials(
    request: AlterUserScramCredentialsRequest, error: ApiError
) -> Steps[AlterUserScramCredentialsResponse]:
    """Return the response with `error` for every user, in the order of their names."""
    names: dict[str, None] = {}
    requested_names = chain(
        (deletion.name for deletion in request.deletions),
        (upsertion.name for upsertion in request.upsertions),
    )
    yield from in_bulk(lambda batch: names.update(dict.fromkeys(batch)), requested_names)
    users = yield from in_order(names)
    return (yield from _alteration_response((user, error) for user in users))


def _alteration_response(
    outcome: Iterable[tuple[str, ApiError | None]],
) -> Steps[AlterUserScramCredentialsResponse]:
    """Return the response with the error of each user, in slices; None: no error."""
    results = yield from map_in_slices(
        outcome,
        lambda altered: _result(altered[0], altered[1] or _DONE),
    )
    return AlterUserScramCredentialsResponse(results=results)


def _result(user: str, error: ApiError) -> AlterUserScramCredentialsResult:
    return AlterUserScramCredentialsResult(user, error.code, error.message)


def _deletion(deletion: ScramCredentialDeletion) -> CredentialDeletion | Upsertion:
    return CredentialDeletion(deletion.name, deletion.mechanism)


def _upsertion(upsertion: ScramCredentialUpsertion) -> CredentialDeletion | Upsertion:
    return Upsertion(
        upsertion.name,
        upsertion.mechanism,
        upsertion.iterations,
        upsertion.salt,
        upsertion.salted_password,
    )


def described_to(
    sender: RequestSender, scram: ScramImage, request: DescribeUserScramCredentialsRequest
) -> Steps[DescribeUserScramCredentialsResponse]:
    """Return the response with the requested credentials. If the client lacks Describe on the
    cluster, return an error that names no user; Kafka sends no response then if the request is for
    all users."""
    if not sender.rights.allows_on_cluster(Operation.DESCRIBE):
        return refuse_describe_user_scram_credentials(
            request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        )
    return (yield from described_credentials(scram, request))


def refuse_describe_user_scram_credentials(
    request: DescribeUserScramCredentialsRequest, error: ErrorCode
) -> DescribeUserScramCredentialsResponse:
    """Return the response with `error` at the top and, as Kafka does, a result with an empty name
    and the error for each requested user."""
    code = int(error)
    unnamed = DescribeUserScramCredentialsResult("", code, None)
    return DescribeUserScramCredentialsResponse(0, code, None, [unnamed] * len(request.users or ()))


def described_credentials(
    scram: ScramImage, request: DescribeUserScramCredentialsRequest
) -> Steps[DescribeUserScramCredentialsResponse]:
    """Return the response with mechanisms and iterations of the requested users, in the order of
    their first mention. If the request names no user, return all users, sorted by name."""
    counts, results, pace = Counter[str](), list[DescribeUserScramCredentialsResult](), Pace()
    if request.users:
        yield from in_bulk(counts.update, (user.name for user in request.users))
    else:
        counts.update((yield from in_order(scram.users)))
    for user, count in counts.items():
        if pace.is_full():
            yield None
        results.append(_description(scram, user, count))
    return DescribeUserScramCredentialsResponse(results=results)


def _description(scram: ScramImage, user: str, count: int) -> DescribeUserScramCredentialsResult:
    """Return the mechanisms and iterations of a user. RESOURCE_NOT_FOUND if the user has none;
    DUPLICATE_RESOURCE if `count`, how often the request names the user, is above 1."""
    if count > 1:
        code = ErrorCode.DUPLICATE_RESOURCE
        text = (
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
        return DescribeUserScramCredentialsResult(user, code, text)
    credentials = scram.users.get(user)
    if credentials is None:
        code = ErrorCode.RESOURCE_NOT_FOUND
        text = f"Attempt to describe a user credential that does not exist: {user}"
        return DescribeUserScramCredentialsResult(user, code, text)
    return DescribeUserScramCredentialsResult(user, credential_infos=_infos(credentials))


def _infos(credentials: Mapping[ScramMechanism, ScramCredential]) -> list[CredentialInfo]:
    """Return mechanism and iterations of each credential, sorted by mechanism."""
    return [
        CredentialInfo(mechanism, credentials[mechanism].iterations)
        for mechanism in sorted(credentials)
    ]

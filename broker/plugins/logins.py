"""Logins that call a user's plug-in, in a thread, to check passwords or tokens.

A login by PLAIN, SCRAM or OAUTHBEARER needs the plug-in once: after the client's first message. So
`PluginLogin` reads the user or token from that message, and has the plug-in called. Then it starts
the built-in mechanism, with the plug-in's answer in place of the built-in users or keys. All else
about the mechanism stays the same.

Never: a frame, or a deadline (`broker.plugins.bounded_calls`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Generic, NamedTuple, TypeVar, cast

from broker.plugins.loop_calls import LoopCalls
from broker.security.sasl.oauthbearer.jwt_compact import AcceptedToken
from broker.security.sasl.oauthbearer.jwt_compact import TokenRefused as Refused
from broker.security.sasl.oauthbearer.server import OAuthBearerServer, first_message
from broker.security.sasl.plain import PlainServer, read_plain
from broker.security.sasl.scram import ScramServer
from broker.security.sasl.scram_messages import MalformedScram, read_client_first
from broker.security.sasl.server_mechanism import BlockingCall, SaslRefused, ServerMechanism
from controller.metadata.scram_credential import ScramCredential as StoredCredential
from controller.metadata.scram_credential import ScramMechanism
from ground.ports import AnswerTimeout, Blocking
from ottla.plugins.logins import (
    PasswordCheck,
    ScramCredential,
    ScramCredentials,
    TokenCheck,
    TokenRefused,
    ValidToken,
)

T = TypeVar("T")


class InvalidAnswer(Exception):
    """An invalid answer of a plug-in; the text says what it returned."""


class PluginLogin(Generic[T]):
    """A login that calls a plug-in: a `ServerMechanism`."""

    def __init__(
        self,
        calls: LoopCalls,
        question: Callable[[bytes], Callable[[], T] | None],
        begin: Callable[[T], ServerMechanism],
        otherwise: Callable[[], ServerMechanism],
    ) -> None:
        """Create the login of one client.

        `question` returns the plug-in's call for the client's first message, to be run in a thread,
        or None if the plug-in is not needed. `begin` returns the mechanism that continues with the
        answer; it raises InvalidAnswer. `otherwise` returns the mechanism if the plug-in is not
        needed."""
        self._calls = calls
        self._question = question
        self._begin = begin
        self._otherwise = otherwise
        self._login: ServerMechanism | None = None

    @property
    def complete(self) -> bool:
        """Whether the client has authenticated."""
        return self._login is not None and self._login.complete

    @property
    def principal_name(self) -> str:
        """The client's name, as in `User:<name>`; "" before the plug-in's answer."""
        return "" if self._login is None else self._login.principal_name

    @property
    def by_token(self) -> bool:
        """Whether the client logged in by a delegation token."""
        return self._login is not None and self._login.by_token

    @property
    def expires_at_ms(self) -> int | None:
        """The time at which the credential expires, None if it does not."""
        return None if self._login is None else self._login.expires_at_ms

    @property
    def refusal(self) -> str:
        """The reason of a rejection that was sent to the client in a challenge; "" without one."""
        return "" if self._login is None else self._login.refusal

    def evaluate(self, token: bytes, now_ms: int) -> bytes | BlockingCall:
        """Return the answer to a client's message, or the call of the plug-in. Raises SaslRefused
        if the login is rejected."""
        if self._login is not None:
            return self._login.evaluate(token, now_ms)
        job = self._question(token)
        if job is None:
            self._login = self._otherwise()
            return self._login.evaluate(token, now_ms)
        return BlockingCall(job, partial(self._continue_login, token))

    def _continue_login(self, token: bytes, outcome: object, now_ms: int) -> bytes | BlockingCall:
        """Begin the built-in mechanism with the plug-in's answer, and return the mechanism's answer
        to the client's message. `outcome` may be an exception.

        Raises SaslRefused if the plug-in failed, did not answer in time, or gave an invalid answer.
        """
        name = self._calls.name
        if isinstance(outcome, AnswerTimeout):
            raise SaslRefused("", f"{name}: {outcome}")
        if isinstance(outcome, Exception):
            self._calls.failed(outcome)
            raise SaslRefused("", f"{name} raised {type(outcome).__name__}")
        try:
            self._login = self._begin(cast(T, outcome))
        except InvalidAnswer as error:
            self._calls.invalid_answer(str(error))
            raise SaslRefused("", f"{name} {error}") from error
        return self._login.evaluate(token, now_ms)


# --- PLAIN ---------------------------------------------------------------------------------------


class _CheckedUser:
    """The users as PLAIN sees them: the plug-in has checked the password already."""

    def __init__(self, right: bool) -> None:
        self._right = right

    def authenticate(self, _name: bytes, _password: bytes) -> bool:
        """Return the plug-in's verdict, without a look at name and password."""
        return self._right


def plain_logins(check: PasswordCheck, calls: LoopCalls) -> Callable[[], ServerMechanism]:
    """Return a function that creates the login of a client by PLAIN, whose password `check` decides
    on."""

    def question(token: bytes) -> Callable[[], bool] | None:
        """Return the call of the plug-in. None if user or password is empty or not UTF-8, so that
        the login is rejected. Raises SaslRefused if the message is malformed."""
        _, user, password = read_plain(token)
        if not user or not password:
            return None
        try:
            return partial(check.is_right, user.decode(), password.decode())
        except UnicodeDecodeError:
            return None

    def begin(right: object) -> ServerMechanism:
        """Return the mechanism for the plug-in's answer. Raises InvalidAnswer if it is no bool."""
        if not isinstance(right, bool):
            raise InvalidAnswer(f"gave {type(right).__name__} for an answer, not a bool")
        return PlainServer(_CheckedUser(right))

    return partial(PluginLogin, calls, question, begin, lambda: PlainServer(_CheckedUser(False)))


# --- SCRAM ---------------------------------------------------------------------------------------


def scram_logins(
    credentials: ScramCredentials,
    calls: LoopCalls,
    mechanism: ScramMechanism,
    nonce: Callable[[], str],
    built_in: Callable[[], ServerMechanism],
) -> Callable[[], ServerMechanism]:
    """Return a function that creates the login of a client by SCRAM. `built_in` creates the
    mechanism of a login by delegation token, or after a malformed message."""

    def question(token: bytes) -> Callable[[], ScramCredential | None] | None:
        """Return the call of the plug-in for the user's credential. None if the message is
        malformed or names a delegation token: the built-in mechanism then decides."""
        try:
            first = read_client_first(token)
        except MalformedScram:
            return None
        return None if first.by_token else partial(credentials.credential, first.name)

    def begin(answer: object) -> ServerMechanism:
        """Return the mechanism with the plug-in's credential; for None it rejects the user. Raises
        InvalidAnswer if the answer is no credential of the mechanism."""
        credential = None if answer is None else _stored_credential(answer, mechanism)
        return ScramServer(mechanism, lambda _mechanism, _name: credential, nonce)

    return partial(PluginLogin, calls, question, begin, built_in)


_KEY_BYTES = {ScramMechanism.SCRAM_SHA_256: 32, ScramMechanism.SCRAM_SHA_512: 64}


def _stored_credential(answer: object, mechanism: ScramMechanism) -> StoredCredential:
    """Return a plug-in's credential as the built-in SCRAM has it. Raises InvalidAnswer if it is not
    a credential of the mechanism."""
    if not isinstance(answer, ScramCredential):
        raise InvalidAnswer(f"gave {type(answer).__name__} for an answer, no ScramCredential")
    salt, stored_key, server_key, iterations = cast(tuple[object, ...], answer)
    if not isinstance(iterations, int) or not isinstance(salt, bytes) or not salt:
        raise InvalidAnswer("gave a ScramCredential without a salt or a number of iterations")
    for key in (stored_key, server_key):
        if not isinstance(key, bytes) or len(key) != _KEY_BYTES[mechanism]:
            raise InvalidAnswer(
                f"gave a ScramCredential of another mechanism than {mechanism.mechanism_name}"
            )
    return StoredCredential(salt, answer.stored_key, answer.server_key, iterations)


# --- OAUTHBEARER ---------------------------------------------------------------------------------


class _Refusal(NamedTuple):
    """The plug-in's reason to reject a token."""

    reason: str


class _CheckedToken:
    """A `TokenJudge` of one token, which the plug-in has checked already."""

    def __init__(self, outcome: AcceptedToken | str) -> None:
        self._outcome = outcome

    def judge(self, _token: str, now_ms: int) -> AcceptedToken:
        """Return the token that the plug-in accepted. Raises TokenRefused if the plug-in rejected
        it or if it has expired."""
        if isinstance(self._outcome, str):
            raise Refused(self._outcome)
        if self._outcome.expires_at_ms <= now_ms:
            raise Refused("the token has ended")
        return self._outcome

    def start(self, blocking: Blocking) -> None:
        """Do nothing: there are no keys to refresh."""

    def close(self) -> None:
        """Do nothing, because `start` has begun nothing."""


def token_logins(check: TokenCheck, calls: LoopCalls) -> Callable[[], ServerMechanism]:
    """Return a function that creates the login of a client by OAUTHBEARER, whose token `check`
    decides on."""

    def validated(token: str) -> ValidToken | _Refusal:
        """Call the plug-in. Return its valid token, or a _Refusal with the reason of its
        TokenRefused."""
        try:
            return check.validate(token)
        except TokenRefused as refused:
            return _Refusal(str(refused))

    def question(message: bytes) -> Callable[[], ValidToken | _Refusal]:
        """Return the call of the plug-in with the client's token. Raises SaslRefused if the message
        is malformed."""
        return partial(validated, first_message(message)[1])

    def begin(answer: object) -> ServerMechanism:
        """Return the mechanism that accepts or rejects the token as the plug-in answered. Raises
        InvalidAnswer if the answer has a wrong type."""
        if isinstance(answer, _Refusal):
            return OAuthBearerServer(_CheckedToken(f"{calls.name}: {answer.reason}"))
        if not isinstance(answer, ValidToken):
            raise InvalidAnswer(f"gave {type(answer).__name__} for an answer, no ValidToken")
        user, ends_ms = cast(tuple[object, object], answer)
        if not isinstance(user, str) or not user or not isinstance(ends_ms, int):
            raise InvalidAnswer("gave a ValidToken of nobody, or one whose end is no whole number")
        return OAuthBearerServer(_CheckedToken(AcceptedToken(user, ends_ms)))

    def never() -> ServerMechanism:
        """Raise SaslRefused. It is not called, because each token is the plug-in's to check."""
        raise SaslRefused

    return partial(PluginLogin, calls, question, begin, never)

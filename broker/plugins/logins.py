"""Judges of passwords and tokens of one's own: one login that asks them, in a thread.

A login by PLAIN, SCRAM or OAUTHBEARER has one moment at which somebody has to be asked: after the
client's first message. So `AskedLogin` reads of that message what is asked for, has it asked, and
then begins what is built in, with the answer in the place of its own users or keys: all else about
the mechanism stays as it is there.

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
from broker.security.sasl.server_mechanism import Question, SaslRefused, ServerMechanism
from controller.metadata.scram_credential import ScramCredential as Kept
from controller.metadata.scram_credential import ScramMechanism
from ground.ports import Blocking, NoAnswer
from ottla.plugins.logins import (
    PasswordCheck,
    ScramCredential,
    ScramCredentials,
    TokenCheck,
    TokenRefused,
    ValidToken,
)

T = TypeVar("T")


class NoSuchAnswer(Exception):
    """What a plug-in gave is none of the answers that there are; `str()` says what it gave."""


class AskedLogin(Generic[T]):
    """One login (`ServerMechanism`)."""

    def __init__(
        self,
        calls: LoopCalls,
        question: Callable[[bytes], Callable[[], T] | None],
        begin: Callable[[T], ServerMechanism],
        otherwise: Callable[[], ServerMechanism],
    ) -> None:
        """`question`: what is to be asked after this message, in a thread; None: nothing.
        `begin`: what goes on with the answer; NoSuchAnswer where it is none. `otherwise`: where
        there is nothing to ask."""
        self._calls = calls
        self._question = question
        self._begin = begin
        self._otherwise = otherwise
        self._login: ServerMechanism | None = None

    @property
    def complete(self) -> bool:
        """See `ServerMechanism`."""
        return self._login is not None and self._login.complete

    @property
    def principal_name(self) -> str:
        """See `ServerMechanism`."""
        return "" if self._login is None else self._login.principal_name

    @property
    def by_token(self) -> bool:
        """See `ServerMechanism`."""
        return self._login is not None and self._login.by_token

    @property
    def expires_at_ms(self) -> int | None:
        """See `ServerMechanism`."""
        return None if self._login is None else self._login.expires_at_ms

    @property
    def refusal(self) -> str:
        """See `ServerMechanism`."""
        return "" if self._login is None else self._login.refusal

    def evaluate(self, token: bytes, now_ms: int) -> bytes | Question:
        """See `ServerMechanism`."""
        if self._login is not None:
            return self._login.evaluate(token, now_ms)
        job = self._question(token)
        if job is None:
            self._login = self._otherwise()
            return self._login.evaluate(token, now_ms)
        return Question(job, partial(self._go_on, token))

    def _go_on(self, token: bytes, outcome: object, now_ms: int) -> bytes | Question:
        name = self._calls.name
        if isinstance(outcome, NoAnswer):
            raise SaslRefused("", f"{name}: {outcome}")
        if isinstance(outcome, Exception):
            self._calls.failed(outcome)
            raise SaslRefused("", f"{name} raised {type(outcome).__name__}")
        try:
            self._login = self._begin(cast(T, outcome))
        except NoSuchAnswer as error:
            self._calls.misled(str(error))
            raise SaslRefused("", f"{name} {error}") from error
        return self._login.evaluate(token, now_ms)


# --- PLAIN ---------------------------------------------------------------------------------------


class _Judged:
    """Users, one of whom has been judged."""

    def __init__(self, right: bool) -> None:
        self._right = right

    def have(self, _name: bytes, _password: bytes) -> bool:
        return self._right


def plain_logins(check: PasswordCheck, calls: LoopCalls) -> Callable[[], ServerMechanism]:
    """Begins logins by PLAIN."""

    def question(token: bytes) -> Callable[[], bool] | None:
        _, user, password = read_plain(token)
        if not user or not password:
            return None
        try:
            return partial(check.is_right, user.decode(), password.decode())
        except UnicodeDecodeError:
            return None

    def begin(right: object) -> ServerMechanism:
        if not isinstance(right, bool):
            raise NoSuchAnswer(f"gave {type(right).__name__} for an answer, not a bool")
        return PlainServer(_Judged(right))

    return partial(AskedLogin, calls, question, begin, lambda: PlainServer(_Judged(False)))


# --- SCRAM ---------------------------------------------------------------------------------------


def scram_logins(
    credentials: ScramCredentials,
    calls: LoopCalls,
    mechanism: ScramMechanism,
    nonce: Callable[[], str],
    built_in: Callable[[], ServerMechanism],
) -> Callable[[], ServerMechanism]:
    """Begins logins by SCRAM. `built_in`: those by delegation token."""

    def question(token: bytes) -> Callable[[], ScramCredential | None] | None:
        try:
            first = read_client_first(token)
        except MalformedScram:
            return None
        return None if first.by_token else partial(credentials.credential, first.name)

    def begin(found: object) -> ServerMechanism:
        kept = None if found is None else _kept(found, mechanism)
        return ScramServer(mechanism, lambda _mechanism, _name: kept, nonce)

    return partial(AskedLogin, calls, question, begin, built_in)


_KEY_BYTES = {ScramMechanism.SCRAM_SHA_256: 32, ScramMechanism.SCRAM_SHA_512: 64}


def _kept(found: object, mechanism: ScramMechanism) -> Kept:
    """A plug-in's credential, if that is what it is."""
    if not isinstance(found, ScramCredential):
        raise NoSuchAnswer(f"gave {type(found).__name__} for an answer, no ScramCredential")
    salt, stored_key, server_key, iterations = cast(tuple[object, ...], found)
    if not isinstance(iterations, int) or not isinstance(salt, bytes) or not salt:
        raise NoSuchAnswer("gave a ScramCredential without a salt or a number of iterations")
    for key in (stored_key, server_key):
        if not isinstance(key, bytes) or len(key) != _KEY_BYTES[mechanism]:
            raise NoSuchAnswer(
                f"gave a ScramCredential of another mechanism than {mechanism.mechanism_name}"
            )
    return Kept(salt, found.stored_key, found.server_key, iterations)


# --- OAUTHBEARER ---------------------------------------------------------------------------------


class _Refusal(NamedTuple):
    """Of a token; an answer like others."""

    reason: str


class _JudgedToken:
    """A `TokenJudge` of one token that has been judged."""

    def __init__(self, outcome: AcceptedToken | str) -> None:
        self._outcome = outcome

    def judge(self, _token: str, now_ms: int) -> AcceptedToken:
        if isinstance(self._outcome, str):
            raise Refused(self._outcome)
        if self._outcome.expires_at_ms <= now_ms:
            raise Refused("the token has ended")
        return self._outcome

    def start(self, blocking: Blocking) -> None:
        """There is nothing to keep fresh."""

    def close(self) -> None:
        """See `start`."""


def token_logins(check: TokenCheck, calls: LoopCalls) -> Callable[[], ServerMechanism]:
    """Begins logins by OAUTHBEARER."""

    def validated(token: str) -> ValidToken | _Refusal:
        try:
            return check.validate(token)
        except TokenRefused as refused:
            return _Refusal(str(refused))

    def question(message: bytes) -> Callable[[], ValidToken | _Refusal]:
        return partial(validated, first_message(message)[1])

    def begin(found: object) -> ServerMechanism:
        if isinstance(found, _Refusal):
            return OAuthBearerServer(_JudgedToken(f"{calls.name}: {found.reason}"))
        if not isinstance(found, ValidToken):
            raise NoSuchAnswer(f"gave {type(found).__name__} for an answer, no ValidToken")
        user, ends_ms = cast(tuple[object, object], found)
        if not isinstance(user, str) or not user or not isinstance(ends_ms, int):
            raise NoSuchAnswer("gave a ValidToken of nobody, or one whose end is no whole number")
        return OAuthBearerServer(_JudgedToken(AcceptedToken(user, ends_ms)))

    def never() -> ServerMechanism:
        raise SaslRefused

    return partial(AskedLogin, calls, question, begin, never)

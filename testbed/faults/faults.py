"""The faults of one broker: its rules, and how they are applied to a request.

Owns the rules, in the order in which they were added, and the unanswered requests. After a delay
the next rule is tried too, and delays add up; of all other rules the first that applies to a
request decides alone. When a rule is lifted, its unanswered requests have their connections closed,
and its delayed responses are sent: a broker that stops waits for neither.

Never touches a socket: responses are cut and connections closed through
`broker.requests.interference`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from broker.requests.admission import Admission
from broker.requests.context import Api, Respond
from broker.requests.interference import Interference, Meeting, ReplyPath
from ground.ports import Scheduler, Timer
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import ResponseParts
from protocol.message import Message, replace
from protocol.messages.fetch import FetchResponse
from testbed.decoded_responses import decoded_response
from testbed.faults.answers import Concerns, joined, put_into, refusing
from testbed.faults.cut_answer import cut
from testbed.faults.places import RealAnswer, ways_of
from testbed.faults.rule import Deed, RequestSubject, Rule
from testbed.faults.subjects import (
    NameOf,
    asks_for_all_topics,
    groups_of,
    is_of_a_node,
    split,
    topics_of,
    transactional_ids_of,
)

OPERATIONS = "ottla-testing"
"""The client id of the test's own requests (`testbed.operations`), to which no fault applies."""
UNANSWERED_MAX_COUNT = 4096
"""The most unanswered requests of one fault. Above it, the oldest has its connection closed."""


Answer = TypeVar("Answer")


class Sessions(Protocol):
    """The fetch sessions of consumers, whose requests name only what is new."""

    def topics(self, session_id: int) -> Iterable[str]:
        """Return the names of the topics in a session; none if there is no such session."""

    def show_all(self, response: FetchResponse, concerns: Concerns) -> None:
        """Add to a Fetch's response the session's partitions without news, of topics that
        `concerns` accepts. The session's next response has them too."""


class Handler(Protocol):
    """A request handler (`broker.requests.request_handler.RequestHandler`)."""

    admission: Admission
    apis: dict[int, Api]

    def interfere_by(self, interference: Interference | None) -> None:
        """Set the component that sees each request before its API does; None: no component."""


class FaultRules:
    """The rules of one broker (`broker.requests.interference.Interference`)."""

    def __init__(
        self,
        scheduler: Scheduler,
        name_of: NameOf,
        sessions: Sessions,
        handlers: Sequence[Handler],
    ) -> None:
        """`handlers`: the handlers of the requests that these faults apply to."""
        self._scheduler = scheduler
        self._name_of = name_of
        self._sessions = sessions
        self._handlers = handlers
        self._rules: dict[str, Rule] = {}
        self._unanswered: dict[str, deque[ReplyPath]] = {}
        self._late_answers: dict[_DelayedAnswer, Timer] = {}
        self._logging_in = False

    # --- rules ----------------------------------------------------------------------------------

    def add(self, key: str, rule: Rule) -> None:
        """Add a fault from now on, under a new `key` that the caller chooses. With the first fault,
        the handlers begin to pass requests to `meet`, and use no prepared answers."""
        assert key not in self._rules, "a key is for one fault"
        if not self._rules:
            for handler in self._handlers:
                handler.interfere_by(self)
                handler.admission.hold_preparing()
        self._rules[key] = rule

    def may_meet(self, api: ApiKey) -> bool:
        """Return whether a fault can apply to requests of this API: a handler serves it."""
        return any(int(api) in handler.apis for handler in self._handlers)

    def rule(self, key: str) -> Rule | None:
        """Return the rule of this key, None if it was lifted."""
        return self._rules.get(key)

    def rules(self) -> list[tuple[str, Rule]]:
        """Return all rules with their keys."""
        return list(self._rules.items())

    def lift(self, key: str) -> None:
        """Remove this fault. Its unanswered requests have their connections closed, and its delayed
        responses are sent. A key without a rule is ignored. After the last fault, the handlers pass
        requests to their APIs again."""
        rule = self._rules.pop(key, None)
        if rule is None:
            return
        rule.tally.close()
        for reply in self._unanswered.pop(key, ()):
            reply.close()
        for late in [answer for answer in self._late_answers if key in answer.keys]:
            self._late_answers.pop(late).cancel()
            late.answer()
        if not self._rules:
            for handler in self._handlers:
                handler.interfere_by(None)
                handler.admission.release_preparing()

    def clear(self) -> None:
        """Remove all faults, as `lift` does."""
        for key in list(self._rules):
            self.lift(key)

    # --- requests -------------------------------------------------------------------------------

    def meet(self, meeting: Meeting) -> None:
        """Apply the rules to a request: the delays of all rules before the first rule of another
        kind, and that rule. Without a rule, the request is carried out and answered. Requests of a
        test's operations, and within `run_login_step`, are exempt."""
        if meeting.context.client_id == OPERATIONS or self._logging_in:
            meeting.carry_out(meeting.request, partial(self._late, meeting, {}))
            return
        subject = self._subject_of(meeting)
        delays_ms: dict[str, float] = {}
        for key, rule in self.rules():
            if not rule.meets(subject):
                continue
            delays_ms[key] = rule.delay_ms
            if rule.deed is not Deed.DELAY:
                self._carry_out(key, rule, meeting, partial(self._late, meeting, delays_ms))
                return
        meeting.carry_out(meeting.request, partial(self._late, meeting, delays_ms))

    def run_login_step(self, step: Callable[[], Answer]) -> Answer:
        """Run a step of a login, to which the rules were applied already, and return its result. No
        rule applies to requests that the step itself passes to `meet`."""
        self._logging_in = True
        try:
            return step()
        finally:
            self._logging_in = False

    def _subject_of(self, meeting: Meeting) -> RequestSubject:
        """Return what a rule can match in a request, with the topics of its fetch session."""
        context, request = meeting.context, meeting.request
        api = ApiKey(context.api_key)
        topics = set(topics_of(request, self._name_of))
        if api is ApiKey.FETCH and request.session_id:
            topics.update(self._sessions.topics(request.session_id))
        return RequestSubject(
            api,
            context.client_id or "",
            topics,
            asks_for_all_topics(api, context.api_version, request),
            set(groups_of(api, request)),
            set(transactional_ids_of(api, request)),
            is_of_a_node(api, request, context.client_id or ""),
        )

    def _late(self, meeting: Meeting, delays_ms: Mapping[str, float], response: object) -> None:
        """Send a response after the sum of the delays (ms) of those rules, by key, that are not
        lifted yet; without any, at once."""
        answer = partial(meeting.answer, meeting.reply, response)
        delays_ms = {key: delay for key, delay in delays_ms.items() if key in self._rules}
        delay_ms = sum(delays_ms.values())
        if delay_ms > 0:
            late = _DelayedAnswer(frozenset(delays_ms), answer)
            timer = self._scheduler.call_later(delay_ms, partial(self._send_late, late))
            self._late_answers[late] = timer
        else:
            answer()

    def _send_late(self, late: _DelayedAnswer) -> None:
        """Send a response whose delay has passed."""
        del self._late_answers[late]
        late.answer()

    def _carry_out(self, key: str, rule: Rule, meeting: Meeting, respond: Respond) -> None:
        """Apply the rule of any kind but DELAY to the request: answer an error, close the
        connection, or cut or withhold the answer.

        If too many requests of the rule are unanswered, closes the connection of the oldest.
        """
        if rule.deed is Deed.ERROR:
            self._refuse(rule, meeting, respond)
        elif rule.deed is Deed.DISCONNECT:
            meeting.reply.close()
        elif rule.deed is Deed.CUT:
            part = _PartOfAnswer(meeting.reply, rule.cut_at)
            meeting.carry_out(meeting.request, partial(meeting.answer, part))
        else:
            unanswered = self._unanswered.setdefault(key, deque())
            unanswered.append(meeting.reply)
            if len(unanswered) > UNANSWERED_MAX_COUNT:
                unanswered.popleft().close()
            if rule.deed is Deed.UNANSWERED:
                meeting.carry_out(meeting.request, _forget)

    def _refuse(self, rule: Rule, meeting: Meeting, respond: Respond) -> None:
        """Respond with the rule's error for the topics that it matches, joined with the real
        response to the rest, or put into the real response. If this request cannot have the error,
        have all of it carried out, and do not count it."""
        api, version = ApiKey(meeting.context.api_key), meeting.context.api_version
        if api is ApiKey.API_VERSIONS and rule.error is ErrorCode.UNSUPPORTED_VERSION:
            meeting.say_range()
            return
        matched, rest = meeting.request, None
        if rule.aim.topic is not None:
            matched, rest = split(meeting.request, rule.aim.matches_topic, self._name_of)
        for way in ways_of(api, rule.error):
            if isinstance(way, RealAnswer):
                if _has(api, version, way):
                    self._put_into_real(rule, meeting, way, respond)
                    return
                continue
            refused = refusing(way, api, version, matched, rule.error, meeting.refusal)
            if refused is not None and rest is not None:
                joining = partial(_respond_joined, respond, refused, version)
                meeting.carry_out(rest, joining)
                return
            if refused is not None:
                respond(refused)
                return
        rule.missed()  # nothing in this request can have the error
        meeting.carry_out(meeting.request, respond)

    def _put_into_real(
        self, rule: Rule, meeting: Meeting, way: RealAnswer, respond: Respond
    ) -> None:
        """Have a request carried out, without waiting or creating topics, and respond with the real
        response, into which the rule's error is put."""
        concerns: Concerns = rule.aim.matches_topic
        if way.path == ("results",):  # these are log directories, which belong to no topic
            concerns = _anything

        def answered(response: Message) -> None:
            """Put the error into the real response, and respond with it.

            Does not count the request if the response has no item for the error.
            """
            response = decoded_response(response, meeting.context.api_version)
            if isinstance(response, FetchResponse):
                self._sessions.show_all(response, concerns)
            if not put_into(response, way.path, rule.error, concerns, self._name_of):
                rule.missed()
            respond(response)

        meeting.carry_out(_harmless(meeting.request), answered)


@dataclass(frozen=True, slots=True, eq=False)
class _DelayedAnswer:
    """A response that waits for the end of a delay."""

    keys: frozenset[str]
    """The keys of the rules that delay it."""
    answer: Callable[[], None]


class _PartOfAnswer:
    """A reply that sends a part of a response, and closes the connection."""

    def __init__(self, reply: ReplyPath, share: float) -> None:
        self._reply = reply
        self._share = share

    def __call__(self, parts: ResponseParts | None) -> None:
        """Send the first part of a response, and close the connection; None: only close it."""
        if parts is None:
            self._reply.close()
        else:
            self._reply.last(cut(parts, self._share))

    def keep(self, frame: memoryview) -> memoryview:
        """Return the request's frame, or a copy of it, which stays valid until the request is
        answered."""
        return self._reply.keep(frame)

    def fail(self, error: BaseException) -> None:
        """Close the connection at once: its bytes are wrong, or handling them failed."""
        self._reply.fail(error)

    def close(self) -> None:
        """Close the connection instead of answering."""
        self._reply.close()

    def last(self, data: bytes) -> None:
        """Send these bytes uncut, and close the connection."""
        self._reply.last(data)


def _respond_joined(respond: Respond, refused: Message, version: int, response: Message) -> None:
    """Respond with the response to the rest of a request, joined with the error response
    `refused`."""
    respond(joined(decoded_response(response, version), refused))


def _anything(_topic: str | None) -> bool:
    return True


def _forget(_response: object) -> None:
    """Do nothing: the response is never sent."""


def _has(api: ApiKey, version: int, way: RealAnswer) -> bool:
    """Return whether responses of this version have the lists that `way` leads through. Only those
    of OffsetFetch depend on the version."""
    return api is not ApiKey.OFFSET_FETCH or (way.path[0] == "groups") == (version >= 8)


def _harmless(request: Message) -> Message:
    """Return the same request, changed so that it neither waits for records nor creates topics."""
    changes: dict[str, Any] = {}
    if hasattr(request, "max_wait_ms"):
        changes["max_wait_ms"] = 0
    if hasattr(request, "allow_auto_topic_creation"):
        changes["allow_auto_topic_creation"] = False
    return replace(request, **changes) if changes else request

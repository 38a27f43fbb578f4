"""The broker's APIs of delegation tokens before a controller: they answer as Apache Kafka did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from broker.apis.delegation_tokens import DelegationTokenApis
from broker.apis.envelope import EnvelopeApi, unwrap, wrap
from broker.requests.context import Api, RequestContext, Respond
from controller.authorization.rights import UNLIMITED, Rights
from controller.authorization.standard_authorizer import StandardAuthorizer
from controller.metadata.acl import Acl, AclsImage, PatternType, Permission
from controller.metadata.delegation_token import TokenKey
from controller.metadata.image import MetadataImage
from ground.sliced_work import in_one_go
from ottla.plugins.authorizer import Asker
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode
from protocol.message import Message
from protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.golden import token_cases as given
from tests.unit.broker.apis.api_fixture import through_the_wire
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.controller_fixture import OneNode, as_sent

ANSWERS: dict[str, Any] = json.loads(given.RECORDED.read_text())
DIFFERENT = {
    "a group's by admin": ErrorCode.INVALID_PRINCIPAL_TYPE,
    "an owner without a kind": ErrorCode.INVALID_PRINCIPAL_TYPE,
}
"""By case of `JUDGED`: what Ottla answers."""
OTHER_TIMES = "there, renewed by a group"
"""The times that there are not: a broker of Apache Kafka says -1, its controller 0."""
FORWARDED = (
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
)
UNABLE_THERE = int(ErrorCode.UNKNOWN_SERVER_ERROR)
"""Apache Kafka's answer to a Describe at the controller."""


class Cluster:
    """A broker and a controller."""

    def __init__(self, name: str, *, apart: bool = False) -> None:
        """`apart`: the broker is another node than the controller."""
        key = None if name == given.DISABLED else TokenKey(given.SECRET_KEY)
        self.node = OneNode(
            token_key=key,
            delegation_token_expiry_time_ms=given.EXPIRY_MS,
            delegation_token_max_lifetime_ms=given.MAX_LIFETIME_MS,
        ).start()
        forward = self.by_envelope if apart else self.node.node.apis.handle
        apis = DelegationTokenApis(self, key, forward)
        self._broker = {int(api.key): api for api in apis.apis()}
        acls = AclsImage().changed(
            {
                bytes([index]): Acl(
                    kind, name, PatternType.LITERAL, principal, "*", operation, Permission.ALLOW
                )
                for index, (principal, operation, kind, name) in enumerate(given.ACLS)
            }
        )
        self._judge = (
            StandardAuthorizer(lambda: acls, {f"User:{given.SUPER_USER}", "User:ANONYMOUS"})
            if name == given.JUDGED
            else None
        )
        self.tokens: dict[str, given.Token] = {}

    @property
    def image(self) -> MetadataImage:
        return self.node.node.image

    def by_envelope(self, context: RequestContext, request: Any, respond: Respond) -> None:
        """As a broker passes it on to a controller elsewhere."""
        inside = [Api(key, *STABLE_VERSIONS[key], self.node.node.apis.handle) for key in FORWARDED]
        api = EnvelopeApi(inside, lambda asker, *_: self.rights(asker.principal), Turns().answers)
        broker = replace(
            context,
            principal="User:broker",
            token_authenticated=False,
            security_protocol="PLAINTEXT",
            rights=UNLIMITED,
        )
        envelope = through_the_wire(in_one_go(wrap(context, request)), 0)
        api.handle(broker, envelope, lambda answer: respond(in_one_go(unwrap(context, answer))))

    def rights(self, principal: str) -> Rights:
        if self._judge is None:
            return UNLIMITED
        return Rights(self._judge, Asker(principal, "127.0.0.1", "SASL", "SASL", "me", 0, 0))

    def ask(self, case: given.Case) -> Any:
        """As it is kept."""
        request = case.request(self.tokens)
        now_ms = self.node.scheduler.wall_ms()
        context = self.context(case.who)
        if case.at_controller:
            # A broker's check of the listener is not made there.
            answer = self.call(self.node.node.apis.handle, context, request, case.version)
        else:
            handle = self._broker[request.API_KEY].handle
            answer = self.call(handle, context, request, case.version)
        token = given.made(request, answer)
        if token is not None:
            self.tokens[case.name] = token
        return given.comparable(answer, self.tokens, now_ms)

    def call(self, handle: Any, context: RequestContext, request: Message, version: int) -> Any:
        answers: list[Any] = []
        context = replace(context, api_key=type(request).API_KEY, api_version=version)
        handle(context, through_the_wire(request, version), answers.append)
        self.node.scheduler.run_until(lambda: bool(answers))
        (answer,) = answers
        self.node.settle()
        return as_sent(answer, request, version)

    def context(self, who: str) -> RequestContext:
        user, by_token, token = who.partition(" by token ")
        principals = {
            "anonymous": ("User:ANONYMOUS", "PLAINTEXT"),
            "tls": ("User:ANONYMOUS", "SSL"),
            "certificate": ("User:cert-alice", "SSL"),
        }
        principal, protocol = principals.get(who, (f"User:{user}", "SASL_PLAINTEXT"))
        if by_token:
            held = self.image.tokens[self.tokens[token].token_id]
            principal = held.owner
        return RequestContext(
            0,
            0,
            1,
            "me",
            "127.0.0.1",
            "SASL",
            "c",
            self.rights(principal),
            principal,
            protocol,
            token_authenticated=bool(by_token),
        )


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("name", given.cases())
def test_answers_are_those_of_kafka(name: str, apart: bool) -> None:
    cluster = Cluster(name, apart=apart)
    for step in given.cases()[name]:
        if isinstance(step, given.Pause):
            cluster.node.scheduler.run_for(step.ms)
            continue
        told, kafka = cluster.ask(step), ANSWERS[name][step.name]
        if kafka["error_code"] == UNABLE_THERE and "tokens" in kafka:
            assert step.at_controller and told["error_code"] != UNABLE_THERE
        elif step.name == OTHER_TIMES:
            assert told["error_code"] == kafka["error_code"]
        elif step.name in DIFFERENT:
            assert told["error_code"] == DIFFERENT[step.name] != kafka["error_code"]
        else:
            assert told == without_different(kafka), step.name


def without_different(answer: dict[str, Any]) -> dict[str, Any]:
    """What Apache Kafka tells of tokens that Ottla did not make is not looked for."""
    if "tokens" not in answer:
        return answer
    others = {f"id of {name}" for name in DIFFERENT}
    tokens = [one for one in answer["tokens"] if one["token_id"] not in others]
    return {**answer, "tokens": tokens}


@pytest.mark.parametrize("there", [False, True])
def test_described_at_the_controller_as_at_the_broker(there: bool) -> None:
    cluster = Cluster(given.JUDGED)
    made = CreateDelegationTokenRequest(None, None, [], -1)
    cluster.ask(given.Case("one", "alice", lambda _tokens: made, 3))
    seen = {
        who: [
            one["token_id"]
            for one in cluster.ask(given.Case("", who, given.ALL, 3, there))["tokens"]
        ]
        for who in ("alice", "carol", "dave", "admin", "mallory", "bob")
    }
    one = ["id of one"]
    assert seen == {
        "alice": one, "carol": one, "dave": one, "admin": one, "mallory": [], "bob": [],
    }  # fmt: skip


@pytest.mark.parametrize("who", ["anonymous", "alice by token one"])
@pytest.mark.parametrize("key", FORWARDED)
def test_a_controller_looks_for_itself(key: ApiKey, who: str) -> None:
    """A broker passes on what it should have refused."""
    cluster = Cluster(given.JUDGED)
    made = CreateDelegationTokenRequest(None, None, [], -1)
    cluster.ask(given.Case("one", "alice", lambda _tokens: made, 3))
    request_type = messages_of(key).request
    version = STABLE_VERSIONS[key][1]
    answer = cluster.call(cluster.by_envelope, cluster.context(who), request_type(), version)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert len(cluster.image.tokens) == 1


REQUESTS: Mapping[Any, int] = {
    CreateDelegationTokenRequest: 3,
    RenewDelegationTokenRequest: 2,
    ExpireDelegationTokenRequest: 2,
    DescribeDelegationTokenRequest: 3,
}


@pytest.mark.parametrize("request_type", REQUESTS)
def test_a_name_over_plaintext_is_nobodys(request_type: Any) -> None:
    """A principal builder may name who comes without a login; that is no proof."""
    cluster = Cluster(given.OPEN)
    context = replace(cluster.context("alice"), security_protocol="PLAINTEXT")
    handle = cluster._broker[request_type.API_KEY].handle
    answer = cluster.call(handle, context, request_type(), REQUESTS[request_type])
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert not cluster.image.tokens

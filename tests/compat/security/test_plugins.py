"""The plug-ins of the docs in a broker of their own: each of them has its say."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from ottla.testing.broker_process import HOST, BrokerProcess
from tests.clients.confluent_outcomes import produce_outcomes
from tests.compat.security.ways import (
    OAUTHBEARER,
    PLAIN,
    SASL_PLAINTEXT,
    SHA_256,
    Way,
    librdkafka,
)
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = "".join((DOCS / name).read_text() for name in ("security.md", "groups.md"))
MODULES = dict(re.findall(r"```python\n# /etc/ottla/plugins/(\w+)\.py\n(.*?)```", PAGES, re.DOTALL))
_SECURITY = "org.apache.kafka.common.security"
_LOGIN = "listener.name.login"
TIMEOUT_MS = 5_000
RELEASED = "released"
"""A file: where it is, no policy hangs."""
WITHIN_S = 90.0


class Broker:
    """With all plug-ins of the pages, and one policy that never answers."""

    def __init__(self, start: Callable[..., BrokerProcess], folder: Path) -> None:
        for name, text in MODULES.items():
            (folder / f"{name}.py").write_text(text)
        (folder / "slow.py").write_text(
            "import time\nfrom pathlib import Path\nfrom policies import Small\n\n"
            "class Hanging(Small):\n    def validate(self, topic):\n"
            f"        released = Path({str(folder / RELEASED)!r})\n"
            "        while topic.name == 'hangs' and not released.exists():\n"
            "            time.sleep(0.02)\n"
            "        super().validate(topic)\n"
        )
        (folder / "people.json").write_text(json.dumps({"bob@billing": "bob-secret"}))
        (folder / "token").write_text("bob-secret")
        self.folder = folder
        self.port, self.login_port = free_port(), free_port()
        self.process = start(self._properties(), port=self.port)
        self.open = AdminClient({"bootstrap.servers": self.process.bootstrap_servers})

    def way(self, mechanism: str, password: str = "bob-secret") -> Way:
        """As bob, who is of team billing."""
        token = self.folder / "token" if mechanism == OAUTHBEARER else None
        login = f"{HOST}:{self.login_port}", SASL_PLAINTEXT, mechanism
        return Way(*login, user="bob@billing", password=password, token_file=token)

    def _properties(self) -> dict[str, str]:
        modules = f"{_SECURITY}.plain.Plain", f"{_SECURITY}.scram.Scram"
        modules += (f"{_SECURITY}.oauthbearer.OAuthBearer",)
        mechanisms = dict(zip((PLAIN, SHA_256, OAUTHBEARER), modules, strict=True))
        classes = dict(zip(mechanisms, ("Passwords", "Users", "Tokens"), strict=True))
        found = {}
        for name, module in mechanisms.items():
            own = f"{_LOGIN}.{name.lower()}.sasl"
            found[f"{own}.jaas.config"] = f"{module}LoginModule required;"
            found[f"{own}.server.callback.handler.class"] = f"logins:{classes[name]}"
        return {
            **found,
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT"
            ),
            "listeners": f"PLAINTEXT://{HOST}:{self.port},LOGIN://{HOST}:{self.login_port}",
            "inter.broker.listener.name": "PLAINTEXT",
            f"{_LOGIN}.sasl.enabled.mechanisms": ",".join(mechanisms),
            "ottla.plugins.path": str(self.folder),
            "ottla.plugins.timeout.ms": str(TIMEOUT_MS),
            "plugin.directory": str(self.folder / "people.json"),
            "authorizer.class.name": "rights:PublicTopics",
            "super.users": "User:ANONYMOUS",
            "principal.builder.class": "people:Teams",
            "create.topic.policy.class.name": "slow:Hanging",
            "alter.config.policy.class.name": "policies:NotForEver",
            "ottla.produce.interceptor.class": "records:OnlyJson",
            "client.quota.callback.class": "quotas:ByTeam",
            # The quota's 10 MB a second are measured over one second, and not over ten.
            "quota.window.num": "2",
            "group.consumer.assignors": "uniform,range,assignors:OneForAll",
            "group.consumer.min.heartbeat.interval.ms": "100",
            "group.consumer.heartbeat.interval.ms": "100",
        }


@pytest.fixture(scope="module")
def broker(
    ottla_broker_factory: Callable[..., BrokerProcess], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """Running."""
    made = Broker(ottla_broker_factory, tmp_path_factory.mktemp("plugins"))
    yield made
    made.process.close()


def outcomes(futures: dict[Any, Any]) -> list[str | None]:
    """What went wrong with each; None: nothing."""
    found: list[str | None] = []
    for future in futures.values():
        try:
            future.result(60)
            found.append(None)
        except KafkaException as error:
            found.append(f"{error.args[0].name()}: {error.args[0].str()}")
    return found


def sent(way: Way | None, broker: Broker, topic: str, *values: str) -> list[str | None]:
    """Return the name of each record's error, None if it was acknowledged."""
    settings: dict[str, Any] = {"bootstrap.servers": broker.process.bootstrap_servers}
    if way is not None:
        settings = librdkafka(way)
    options = {"message.timeout.ms": 60_000, "linger.ms": 50, "enable.idempotence": False}
    producer = Producer({**settings, **options, "log_level": 0})
    outcomes = produce_outcomes(producer, topic, *values, timeout_s=60)
    return [error and error.name() for error in outcomes]


def test_the_pages_have_all_of_them() -> None:
    named = ["assignors", "logins", "people", "policies", "quotas", "records", "rights"]
    assert sorted(MODULES) == named


def test_one_member_has_all_and_the_others_stand_by(broker: Broker) -> None:
    assert outcomes(broker.open.create_topics([NewTopic("stood-by", 3, 1)])) == [None]
    settings = {
        "bootstrap.servers": broker.process.bootstrap_servers,
        "group.id": "standby",
        "group.protocol": "consumer",
        "group.remote.assignor": "standby",
    }
    with closing(Consumer(settings)) as second, closing(Consumer(settings)) as first:
        deadline = time.monotonic() + WITHIN_S
        first.subscribe(["stood-by"])
        while len(first.assignment()) < 3:
            assert time.monotonic() < deadline, first.assignment()
            first.poll(0.05)
        second.subscribe(["stood-by"])
        while not is_stable(broker, "standby", members=2):
            assert time.monotonic() < deadline
            second.poll(0.05)
            first.poll(0.05)
        assert (len(first.assignment()), second.assignment()) == (3, [])
        first.unsubscribe()
        while len(second.assignment()) < 3:
            assert time.monotonic() < deadline, second.assignment()
            first.poll(0.05)
            second.poll(0.05)


def is_stable(broker: Broker, group: str, members: int) -> bool:
    """Whether it has so many members, and all have what they are to have."""
    (found,) = broker.open.describe_consumer_groups([group]).values()
    seen = found.result(WITHIN_S)
    return len(seen.members) == members and seen.state is ConsumerGroupState.STABLE


@pytest.mark.parametrize("mechanism", [PLAIN, SHA_256, OAUTHBEARER])
def test_who_logs_in_is_asked_about_and_goes_by_the_teams_name(
    broker: Broker, mechanism: str
) -> None:
    topic = f"of-{mechanism.lower()}"
    assert outcomes(broker.open.create_topics([NewTopic(topic, 1, 1)])) == [None]
    way = broker.way(mechanism)
    assert sent(way, broker, topic, "x") == ["TOPIC_AUTHORIZATION_FAILED"]
    acl = AclBinding(
        ResourceType.TOPIC,
        topic,
        ResourcePatternType.LITERAL,
        "User:billing",
        "*",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    assert outcomes(broker.open.create_acls([acl])) == [None]
    assert sent(way, broker, topic, "x") == [None]


def test_who_sends_more_than_the_team_may_is_told_to_wait(broker: Broker) -> None:
    assert outcomes(broker.open.create_topics([NewTopic("much", 1, 1)])) == [None]
    waits_s: list[float] = []
    settings: dict[str, Any] = {"bootstrap.servers": broker.process.bootstrap_servers}
    producer = Producer(settings, throttle_cb=lambda event: waits_s.append(event.throttle_time))
    deadline = time.monotonic() + WITHIN_S
    while not waits_s:  # a busy machine does not always send 10 MB in a second
        assert time.monotonic() < deadline
        for _ in range(13):
            producer.produce("much", b'"' + b"x" * 999_000 + b'"')
        assert producer.flush(60) == 0
    assert 0 < max(waits_s) <= 2  # at most the window


def test_who_has_another_password_does_not_get_in(broker: Broker) -> None:
    admin = AdminClient({**librdkafka(broker.way(PLAIN, "wrong")), "log_level": 0})
    with pytest.raises(KafkaException):
        admin.list_topics(timeout=0.5)
    refused = "on listener LOGIN by PLAIN "

    def refusals() -> list[str]:
        return [line for line in broker.process.output().splitlines() if refused in line]

    line = wait_until(refusals, "the line of the refusal")[0]
    assert "Authentication failed: Invalid username or password" in line


def test_everybody_reads_what_is_public_and_nothing_else(broker: Broker) -> None:
    topics = [NewTopic("public.news", 1, 1), NewTopic("secret", 1, 1)]
    assert outcomes(broker.open.create_topics(topics)) == [None, None]
    shown = AdminClient(librdkafka(broker.way(PLAIN))).list_topics(timeout=60).topics
    assert "public.news" in shown and "secret" not in shown


def test_policies_have_their_say_also_where_a_client_only_asks(broker: Broker) -> None:
    text = "POLICY_VIOLATION: A topic has at most 100 partitions."
    topics = [NewTopic("large", 101, 1), NewTopic("small", 1, 1)]
    assert outcomes(broker.open.create_topics(topics, validate_only=True)) == [text, None]
    assert outcomes(broker.open.create_topics(topics)) == [text, None]

    def set_retention(text: str) -> list[str | None]:
        change = ConfigEntry("retention.ms", text, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, "small", incremental_configs=[change])
        return outcomes(broker.open.incremental_alter_configs([resource]))

    assert set_retention("1000") == [None]
    assert set_retention("-1") == ["POLICY_VIOLATION: Nothing is kept for ever."]


def test_a_policy_that_hangs_refuses_in_time_and_holds_nobody_up(broker: Broker) -> None:
    other = AdminClient({"bootstrap.servers": broker.process.bootstrap_servers})
    other.list_topics(timeout=60)
    try:
        late = broker.open.create_topics([NewTopic("hangs", 1, 1)])
        assert outcomes(other.create_topics([NewTopic("meanwhile", 1, 1)])) == [None]
        assert outcomes(late) == [
            f"POLICY_VIOLATION: The policy could not be asked: no answer within {TIMEOUT_MS} ms."
        ]
    finally:
        (broker.folder / RELEASED).touch()


def test_records_that_are_refused_are_not_appended(broker: Broker) -> None:
    assert outcomes(broker.open.create_topics([NewTopic("orders.json", 1, 1)])) == [None]
    assert sent(None, broker, "orders.json", "{}", "1") == [None, None]
    assert sent(None, broker, "orders.json", "nonsense") == ["INVALID_RECORD"]
    assert sent(None, broker, "orders.text", "nonsense") == [None]
    assert "Traceback" not in broker.process.output()

"""Which plug-in a node loads by which key, and what it is configured with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.config.parse import single_node_config
from broker.plugins.node_plugins import NodePlugins
from broker.quotas.client_quota_manager import QuotaKind
from ground.config_def import ConfigError
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.messages.create_topics import CreatableTopic, CreatableTopicResult

MODULE = """
from ottla.plugins.authorizer import Authorizer
from ottla.plugins.interceptor import ProduceInterceptor
from ottla.plugins.logins import PasswordCheck, ScramCredentials, TokenCheck
from ottla.plugins.policies import AlterConfigPolicy, CreateTopicPolicy
from ottla.plugins.principal import PrincipalBuilder
from ottla.plugins.quotas import ClientQuotaCallback

told = {}

class Rights(Authorizer):
    remembered = True
    def configure(self, settings, changed, standard):
        told["rights"] = settings, changed, standard
    def allows(self, asker, action):
        return True

def noted(base, method):
    def configure(self, *given):
        told[base.__name__] = given
    return type(base.__name__, (base,), {"configure": configure, method: lambda *_: None})

Builder = noted(PrincipalBuilder, "principal")
Passwords = noted(PasswordCheck, "is_right")
Users = noted(ScramCredentials, "credential")
Tokens = noted(TokenCheck, "validate")
Topics = noted(CreateTopicPolicy, "validate")
Configs = noted(AlterConfigPolicy, "validate")
Records = noted(ProduceInterceptor, "refusal")

class Quotas(ClientQuotaCallback):
    def configure(self, settings):
        told["quotas"] = settings
    def metric_tags(self, quota, principal, client_id):
        return {"all": ""}
    def limit(self, quota, tags):
        return 5
"""
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CALLBACK = "sasl.server.callback.handler.class"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    path = list(sys.path)
    (tmp_path / "ottla_test_all.py").write_text(MODULE)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("ottla_test_all", None)


def plugins(folder: Path, **texts: str) -> NodePlugins:
    named = {name.replace("_", "."): text for name, text in texts.items()}
    config = single_node_config({"ottla.plugins.path": str(folder), "plugin.a": "b", **named})
    scheduler = SimScheduler()
    return NodePlugins(config, scheduler, SimBlocking(scheduler))


def told() -> dict[str, Any]:
    found: dict[str, Any] = sys.modules["ottla_test_all"].told  # type: ignore[attr-defined]
    return found


def test_an_authorizer_hears_the_settings_and_gets_what_is_built_in(folder: Path) -> None:
    made = plugins(folder, authorizer_class_name="ottla_test_all:Rights")
    changes: list[int] = []
    judge = made.judge(lambda: changes.append(1), None)  # type: ignore[arg-type]
    assert judge is not None and judge.remembered
    settings, changed, _ = told()["rights"]
    assert settings["plugin.a"] == "b"
    changed()
    assert changes == [1]


def test_what_is_built_in_is_no_plug_in(folder: Path) -> None:
    made = plugins(
        folder, authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    )
    assert made.judge(lambda: None, None) is None  # type: ignore[arg-type]
    assert made.policies() is None
    assert made.interceptor(bytearray) is None
    assert made.quota_limits() is None


def test_one_quota_callback_is_for_all_kinds(folder: Path) -> None:
    limits = plugins(folder, client_quota_callback_class="ottla_test_all:Quotas").quota_limits()
    assert limits is not None
    for kind in QuotaKind:
        one = limits(kind)
        assert one.limit(one.tags_of("User:a", "c")) == 5
    assert told()["quotas"]["plugin.a"] == "b"


def test_policies_and_the_interceptor(folder: Path) -> None:
    made = plugins(
        folder,
        create_topic_policy_class_name="ottla_test_all:Topics",
        alter_config_policy_class_name="ottla_test_all:Configs",
        ottla_produce_interceptor_class="ottla_test_all:Records",
    )
    policies = made.policies()
    assert policies is not None and policies.has_config_policy
    assert made.interceptor(bytearray) is not None
    for name in ("CreateTopicPolicy", "AlterConfigPolicy", "ProduceInterceptor"):
        (settings,) = told()[name]
        assert settings["plugin.a"] == "b"
    topics_only = plugins(folder, create_topic_policy_class_name="ottla_test_all:Topics").policies()
    assert topics_only is not None and not topics_only.has_config_policy


def test_what_is_for_one_listener_hears_its_own_settings(folder: Path) -> None:
    config = single_node_config(
        {
            "ottla.plugins.path": str(folder),
            "listeners": "A://localhost:0,B://localhost:0,CONTROLLER://localhost:0",
            "listener.security.protocol.map": "A:SASL_PLAINTEXT,B:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "B",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
            "listener.name.a.principal.builder.class": "ottla_test_all:Builder",
            "listener.name.a.ssl.client.auth": "none",
            "listener.name.a.plain.sasl.jaas.config": f'{PLAIN} required where="here";',
            "listener.name.a.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            "listener.name.a.oauthbearer.sasl.jaas.config": f"{OAUTH} required;",
            f"listener.name.a.plain.{CALLBACK}": "ottla_test_all:Passwords",
            f"listener.name.a.scram-sha-256.{CALLBACK}": "ottla_test_all:Users",
            f"listener.name.a.oauthbearer.{CALLBACK}": "ottla_test_all:Tokens",
        }
    )
    scheduler = SimScheduler()
    made = NodePlugins(config, scheduler, SimBlocking(scheduler))
    a, b = config.listener_security["A"], config.listener_security["B"]
    assert made.principals(b) is None
    assert made.principals(a) is not None
    assert told()["PrincipalBuilder"][0]["principal.builder.class"] == "ottla_test_all:Builder"
    assert a.sasl is not None
    for one in a.sasl.mechanisms:
        assert made.logins("A", one, lambda: "", lambda: None) is not None  # type: ignore
    settings, mechanism, options = told()["PasswordCheck"]
    assert (mechanism, options) == ("PLAIN", {"where": "here"})
    assert settings[CALLBACK] == "ottla_test_all:Passwords"
    assert told()["ScramCredentials"][1] == "SCRAM-SHA-256"
    assert told()["TokenCheck"][1] == "OAUTHBEARER"


def test_the_wrong_kind_is_refused_by_its_key(folder: Path) -> None:
    made = plugins(folder, ottla_produce_interceptor_class="ottla_test_all:Topics")
    with pytest.raises(ConfigError, match="is no subclass of ottla.plugins.interceptor.ProduceInt"):
        made.interceptor(bytearray)


def test_a_flood_of_logins_keeps_no_policy_waiting(folder: Path) -> None:
    config = single_node_config(
        {
            "ottla.plugins.path": str(folder),
            "create.topic.policy.class.name": "ottla_test_all:Topics",
            "queued.max.requests": "1",
            "ottla.plugins.calls.max": "1",
        }
    )
    scheduler = SimScheduler()
    made = NodePlugins(config, scheduler, SimBlocking(scheduler))
    for _ in range(5):
        made.run_blocking(lambda: None, lambda *_: None)
    policies = made.policies()
    assert policies is not None
    told: list[Any] = []
    topic, result = CreatableTopic("t", 1, 1), CreatableTopicResult("t", num_partitions=1)
    policies.check_topics({0: (topic, result)}, told.append)
    scheduler.run_for(10)
    assert told == [{}]

"""The plug-ins of one node, each loaded when its place is made.

Owns: by which key each is named, what it is configured with, and the deadline of those that are
asked in threads. A node that names none has no such object, and loads nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from broker.config.listener_security import ListenerSecurity
from broker.config.plugins import (
    ALTER_CONFIG_POLICY,
    AUTHORIZER,
    CONSUMER_ASSIGNORS,
    CREATE_TOPIC_POLICY,
    PRODUCE_INTERCEPTOR,
    QUOTA_CALLBACK,
    PythonClass,
    python_class,
)
from broker.config.values import BrokerConfig
from broker.plugins.bounded_calls import BoundedCalls
from broker.plugins.loading import load, look_in, own_settings
from broker.plugins.loop_calls import LoopCalls
from controller.authorization.rights import Judge
from ground.config_def import ConfigError
from ground.ports import Blocking, Scheduler
from protocol.frames.frame_memory import Allocate

if TYPE_CHECKING:
    from broker.config.tls_and_sasl import MechanismSettings
    from broker.plugins.interception import Interceptor
    from broker.plugins.judge import PluginJudge
    from broker.plugins.principals import PluginPrincipals
    from broker.plugins.quota_limits import PluginLimits
    from broker.quotas.client_quota_manager import QuotaKind
    from broker.security.sasl.server_mechanism import ServerMechanism
    from controller.policies import Policies
    from ottla.plugins.assignor import ConsumerGroupAssignor


POOLS = 3
"""For policies, for logins and for assignments: none keeps another waiting."""


class NodePlugins:
    """See the module. Everything here that loads raises ConfigError where that cannot be done."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, blocking: Blocking) -> None:
        """`blocking`: of their own, for `POOLS` times `ottla.plugins.calls.max` jobs at once."""
        look_in(config.ottla_plugins_path)
        self._config = config
        self._scheduler = scheduler
        self._settings: Mapping[str, str] = dict(config.originals)
        limits = (
            config.ottla_plugins_calls_max,
            config.queued_max_requests,
            config.ottla_plugins_timeout_ms,
        )
        # Apart: whoever tries passwords by the thousand keeps no policy waiting.
        self._policy_calls = BoundedCalls(blocking, scheduler, *limits)
        self.ask = BoundedCalls(blocking, scheduler, *limits).submit
        """For what logins want to know."""
        self.compute = BoundedCalls(blocking, scheduler, *limits).submit
        """For assignments of groups, which take their time."""

    def judge(self, changed: Callable[[], None], standard: Judge) -> PluginJudge | None:
        """The authorizer; None: what is built in. `standard` is that."""
        named = python_class(AUTHORIZER, self._config.authorizer_class_name)
        if named is None:
            return None
        from broker.plugins.judge import PluginJudge, Standard
        from ottla.plugins.authorizer import Authorizer

        made = load(
            named,
            Authorizer,  # type: ignore[type-abstract]
            lambda one: one.configure(self._settings, changed, Standard(standard)),
        )
        return PluginJudge(made, self._calls(named))

    def policies(self) -> Policies | None:
        """Those of the controller."""
        config = self._config
        create = python_class(CREATE_TOPIC_POLICY, config.create_topic_policy_class_name)
        alter = python_class(ALTER_CONFIG_POLICY, config.alter_config_policy_class_name)
        if create is None and alter is None:
            return None
        from controller.policies import Policies
        from ottla.plugins.policies import AlterConfigPolicy, CreateTopicPolicy

        settings = self._settings
        return Policies(
            create
            and load(
                create,
                CreateTopicPolicy,  # type: ignore[type-abstract]
                lambda one: one.configure(settings),
            ),
            alter
            and load(
                alter,
                AlterConfigPolicy,  # type: ignore[type-abstract]
                lambda one: one.configure(settings),
            ),
            self._policy_calls.submit,
        )

    def interceptor(self, allocate: Allocate) -> Interceptor | None:
        """What looks at produced records; `allocate` makes room for those that are unpacked."""
        named = python_class(PRODUCE_INTERCEPTOR, self._config.ottla_produce_interceptor_class)
        if named is None:
            return None
        from broker.plugins.interception import Interceptor
        from ottla.plugins.interceptor import ProduceInterceptor

        made = load(
            named,
            ProduceInterceptor,  # type: ignore[type-abstract]
            lambda one: one.configure(self._settings),
        )
        return Interceptor(made, self._calls(named), allocate)

    def quota_limits(self) -> Callable[[QuotaKind], PluginLimits] | None:
        """Makes what says whose quota is how much; None: what is set in the metadata."""
        named = python_class(QUOTA_CALLBACK, self._config.client_quota_callback_class)
        if named is None:
            return None
        from broker.plugins.quota_limits import PluginLimits
        from ottla.plugins.quotas import ClientQuotaCallback

        made = load(
            named,
            ClientQuotaCallback,  # type: ignore[type-abstract]
            lambda one: one.configure(self._settings),
        )
        return lambda kind: PluginLimits(made, kind, self._calls(named))

    def assignor(self, named: PythonClass) -> tuple[ConsumerGroupAssignor, LoopCalls]:
        """An assignor of consumer groups, and what logs of it."""
        from ottla.plugins.assignor import ConsumerGroupAssignor

        made = load(
            named,
            ConsumerGroupAssignor,  # type: ignore[type-abstract]
            lambda one: one.configure(self._settings),
        )
        if not isinstance(made.name, str) or not made.name:
            text = f"{CONSUMER_ASSIGNORS}: {named} has no name"
            raise ConfigError(CONSUMER_ASSIGNORS, text)
        return made, self._calls(named)

    def principals(self, security: ListenerSecurity) -> PluginPrincipals | None:
        """Who names the clients of a listener; None: what is built in."""
        named = security.principal_builder
        if named is None:
            return None
        from broker.plugins.principals import PluginPrincipals
        from ottla.plugins.principal import PrincipalBuilder

        prefix = f"listener.name.{security.listener_name.lower()}."
        settings = own_settings(self._settings, (prefix,))
        made = load(
            named,
            PrincipalBuilder,  # type: ignore[type-abstract]
            lambda one: one.configure(settings),
        )
        return PluginPrincipals(made, self._calls(named))

    def logins(
        self,
        listener_name: str,
        mechanism: MechanismSettings,
        nonce: Callable[[], str],
        built_in: Callable[[], ServerMechanism],
    ) -> Callable[[], ServerMechanism] | None:
        """What begins the logins by a mechanism of a listener; None: what is built in. That is
        `built_in`, and begins what a plug-in has no say in."""
        named = mechanism.server_callback_class
        if not isinstance(named, PythonClass):
            return None
        from broker.plugins import logins
        from controller.metadata.scram_credential import SCRAM_MECHANISMS
        from ottla.plugins.logins import PasswordCheck, ScramCredentials, TokenCheck

        prefix = f"listener.name.{listener_name.lower()}."
        prefixes = (prefix, f"{prefix}{mechanism.name.lower()}.")
        settings = own_settings(self._settings, prefixes)
        entries = {} if mechanism.jaas is None else mechanism.jaas.options
        options = {name: secret.value for name, secret in entries.items()}

        def configure(one: PasswordCheck | ScramCredentials | TokenCheck) -> None:
            one.configure(settings, mechanism.name, options)

        calls = self._calls(named)
        if mechanism.name == "PLAIN":
            check = load(named, PasswordCheck, configure)  # type: ignore[type-abstract]
            return logins.plain_logins(check, calls)
        if mechanism.name == "OAUTHBEARER":
            tokens = load(named, TokenCheck, configure)  # type: ignore[type-abstract]
            return logins.token_logins(tokens, calls)
        users = load(named, ScramCredentials, configure)  # type: ignore[type-abstract]
        scram = SCRAM_MECHANISMS[mechanism.name]
        return logins.scram_logins(users, calls, scram, nonce, built_in)

    def _calls(self, named: PythonClass) -> LoopCalls:
        return LoopCalls(str(named), self._scheduler.monotonic_ms)

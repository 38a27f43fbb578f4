"""The plug-ins of one node, each loaded when the part that uses it is created.

Owns: the key that names each plug-in, the settings it gets, and the limits on calls in threads. A
node whose configuration names no plug-in does not load this module. Never: calls a plug-in.
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
from broker.plugins.loading import extend_search_path, load, own_settings
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
"""The number of pools: for policies, logins and assignments, so that none delays another."""


class NodePlugins:
    """The loader of a node's plug-ins. Its methods raise ConfigError if a plug-in cannot be
    loaded."""

    def __init__(self, config: BrokerConfig, scheduler: Scheduler, blocking: Blocking) -> None:
        """Prepare to load, and add `ottla.plugins.path` to the search path of modules. `blocking`
        is the plug-ins' own pool, for `POOLS` times `ottla.plugins.calls.max` jobs at once."""
        extend_search_path(config.ottla_plugins_path)
        self._config = config
        self._scheduler = scheduler
        self._settings: Mapping[str, str] = dict(config.originals)
        limits = (
            config.ottla_plugins_calls_max,
            config.queued_max_requests,
            config.ottla_plugins_timeout_ms,
        )
        # Separate pools: a client that tries thousands of passwords does not hold up policies.
        self._policy_calls = BoundedCalls(blocking, scheduler, *limits)
        self.run_blocking = BoundedCalls(blocking, scheduler, *limits).submit
        """The function that runs calls for logins."""
        self.compute = BoundedCalls(blocking, scheduler, *limits).submit
        """The function that runs assignments of consumer groups, which may take long."""

    def judge(self, changed: Callable[[], None], standard: Judge) -> PluginJudge | None:
        """Load the authorizer and return its adapter; None: none is configured, so `standard`
        applies. The authorizer calls `changed` if its verdicts change, and may ask `standard`.
        Raises ConfigError."""
        class_ref = python_class(AUTHORIZER, self._config.authorizer_class_name)
        if class_ref is None:
            return None
        from broker.plugins.judge import PluginJudge, Standard
        from ottla.plugins.authorizer import Authorizer

        authorizer = load(
            class_ref,
            Authorizer,  # type: ignore[type-abstract]
            lambda plugin: plugin.configure(self._settings, changed, Standard(standard)),
        )
        return PluginJudge(authorizer, self._calls(class_ref))

    def policies(self) -> Policies | None:
        """Load the controller's policies and return them; None: none is configured. Raises
        ConfigError."""
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
                lambda policy: policy.configure(settings),
            ),
            alter
            and load(
                alter,
                AlterConfigPolicy,  # type: ignore[type-abstract]
                lambda policy: policy.configure(settings),
            ),
            self._policy_calls.submit,
        )

    def interceptor(self, allocate: Allocate) -> Interceptor | None:
        """Load the produce interceptor and return its caller; None: none is configured. `allocate`
        creates the buffers for decompressed records. Raises ConfigError."""
        class_ref = python_class(PRODUCE_INTERCEPTOR, self._config.ottla_produce_interceptor_class)
        if class_ref is None:
            return None
        from broker.plugins.interception import Interceptor
        from ottla.plugins.interceptor import ProduceInterceptor

        interceptor = load(
            class_ref,
            ProduceInterceptor,  # type: ignore[type-abstract]
            lambda plugin: plugin.configure(self._settings),
        )
        return Interceptor(interceptor, self._calls(class_ref), allocate)

    def quota_limits(self) -> Callable[[QuotaKind], PluginLimits] | None:
        """Load the quota callback; return a function that creates the limits of a kind of quota.
        None: none is configured, so the limits in the metadata apply. Raises ConfigError."""
        class_ref = python_class(QUOTA_CALLBACK, self._config.client_quota_callback_class)
        if class_ref is None:
            return None
        from broker.plugins.quota_limits import PluginLimits
        from ottla.plugins.quotas import ClientQuotaCallback

        callback = load(
            class_ref,
            ClientQuotaCallback,  # type: ignore[type-abstract]
            lambda plugin: plugin.configure(self._settings),
        )
        return lambda kind: PluginLimits(callback, kind, self._calls(class_ref))

    def assignor(self, class_ref: PythonClass) -> tuple[ConsumerGroupAssignor, LoopCalls]:
        """Load an assignor of consumer groups; return it with the log of its calls.

        Raises ConfigError if it cannot be loaded or has no name.
        """
        from ottla.plugins.assignor import ConsumerGroupAssignor

        assignor = load(
            class_ref,
            ConsumerGroupAssignor,  # type: ignore[type-abstract]
            lambda plugin: plugin.configure(self._settings),
        )
        if not isinstance(assignor.name, str) or not assignor.name:
            text = f"{CONSUMER_ASSIGNORS}: {class_ref} has no name"
            raise ConfigError(CONSUMER_ASSIGNORS, text)
        return assignor, self._calls(class_ref)

    def principals(self, security: ListenerSecurity) -> PluginPrincipals | None:
        """Load a listener's principal builder and return its caller; None: none is configured, so
        Kafka's default rules apply. Raises ConfigError."""
        class_ref = security.principal_builder
        if class_ref is None:
            return None
        from broker.plugins.principals import PluginPrincipals
        from ottla.plugins.principal import PrincipalBuilder

        prefix = f"listener.name.{security.listener_name.lower()}."
        settings = own_settings(self._settings, (prefix,))
        builder = load(
            class_ref,
            PrincipalBuilder,  # type: ignore[type-abstract]
            lambda plugin: plugin.configure(settings),
        )
        return PluginPrincipals(builder, self._calls(class_ref))

    def logins(
        self,
        listener_name: str,
        mechanism: MechanismSettings,
        nonce: Callable[[], str],
        built_in: Callable[[], ServerMechanism],
    ) -> Callable[[], ServerMechanism] | None:
        """Load the plug-in of a listener's SASL mechanism; return the function that creates its
        logins. None: none is configured, so the caller uses `built_in`. SCRAM logins by delegation
        token use `built_in` in any case. Raises ConfigError."""
        class_ref = mechanism.server_callback_class
        if not isinstance(class_ref, PythonClass):
            return None
        from broker.plugins import logins
        from controller.metadata.scram_credential import SCRAM_MECHANISMS
        from ottla.plugins.logins import PasswordCheck, ScramCredentials, TokenCheck

        prefix = f"listener.name.{listener_name.lower()}."
        prefixes = (prefix, f"{prefix}{mechanism.name.lower()}.")
        settings = own_settings(self._settings, prefixes)
        entries = {} if mechanism.jaas is None else mechanism.jaas.options
        options = {name: secret.value for name, secret in entries.items()}

        def configure(plugin: PasswordCheck | ScramCredentials | TokenCheck) -> None:
            """Pass the listener's settings, the mechanism's name and the JAAS options to the
            plug-in."""
            plugin.configure(settings, mechanism.name, options)

        calls = self._calls(class_ref)
        if mechanism.name == "PLAIN":
            check = load(class_ref, PasswordCheck, configure)  # type: ignore[type-abstract]
            return logins.plain_logins(check, calls)
        if mechanism.name == "OAUTHBEARER":
            tokens = load(class_ref, TokenCheck, configure)  # type: ignore[type-abstract]
            return logins.token_logins(tokens, calls)
        users = load(class_ref, ScramCredentials, configure)  # type: ignore[type-abstract]
        scram = SCRAM_MECHANISMS[mechanism.name]
        return logins.scram_logins(users, calls, scram, nonce, built_in)

    def _calls(self, class_ref: PythonClass) -> LoopCalls:
        """Return a new log of this class's slow and failed calls."""
        return LoopCalls(str(class_ref), self._scheduler.monotonic_ms)

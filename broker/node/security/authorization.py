"""The choice of the authorizer for the requests to this node.

Owns which authorizer the settings name. Before the metadata is loaded after a start, the authorizer
knows of no ACLs. A prepared request expires with the ACLs by which it was authorized, or when a
user's own authorizer says so. Never authorizes a request itself
(`controller.authorization.standard_authorizer`, `broker.plugins.judge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from broker.config.authorizer import parse_super_users
from broker.node.shared_server import SharedServer
from broker.requests.audit_log import AuditLog
from broker.requests.request_handler import RequestHandler
from controller.metadata.acl import AclsImage
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage


def authorize(shared: SharedServer, handlers: Sequence[RequestHandler]) -> None:
    """Let `authorizer.class.name` authorize the requests of these handlers; if empty, allow all.

    Raises ConfigError if a user's own authorizer cannot be loaded.
    """
    config, plugins = shared.config, shared.ports.plugins
    if not config.authorizer_class_name:
        return
    from controller.authorization.standard_authorizer import StandardAuthorizer

    def changed() -> None:
        """Invalidate prepared requests and earlier judgements of all handlers."""
        for handler in handlers:
            handler.admission.changed()

    standard = StandardAuthorizer(
        partial(_loaded_acls, shared),
        parse_super_users(config.super_users),
        config.allow_everyone_if_no_acl_found,
    )
    logged = config.ottla_authorizer_denials_logged_per_second
    audit = AuditLog(logged, partial(_now_s, shared))
    own = None if plugins is None else plugins.judge(changed, standard)
    for handler in handlers:
        handler.admission.judge_by(standard if own is None else own, audit)
        if own is not None and not own.remembered:
            handler.admission.hold_preparing()
    _register(shared, audit)

    def metadata_changed(delta: MetadataDelta, _image: MetadataImage) -> None:
        """Invalidate prepared requests and earlier judgements if ACLs have changed."""
        if delta.changed_acls:
            changed()

    shared.controller.add_listener(metadata_changed)


def _loaded_acls(shared: SharedServer) -> AclsImage | None:
    """Return the ACLs; None before the metadata is loaded, when nothing can be authorized."""
    return shared.image.acls if shared.controller.is_loaded else None


def _now_s(shared: SharedServer) -> float:
    return shared.ports.scheduler.monotonic_ms() / 1000


def _register(shared: SharedServer, audit: AuditLog) -> None:
    """Register the counts of authorized operations under the names of Kafka's plug-ins.

    They are counts, where Kafka has rates a minute.
    """
    metrics, name = shared.metrics, "kafka_server_plugins"
    metrics.gauge(
        f"{name}_acls_total_count",
        "ACLs that there are",
        lambda: float(len(shared.image.acls.by_id)),
    )
    metrics.counter(
        f"{name}_authorization_allowed",
        "Operations on resources that were allowed",
        lambda: audit.allowed,
    )
    metrics.counter(
        f"{name}_authorization_denied",
        "Operations on resources that were denied",
        lambda: audit.denied,
    )

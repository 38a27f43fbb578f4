"""The endpoints of access: users, ACLs, delegation tokens and quotas, and changes of them.

A part that the cluster does not serve, or that the login may not see, has the reason instead of its
rows. A password of a request is salted and hashed, and kept nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from client.access.acl_words import acl_warnings
from client.access.acls import AclRow, Filter, add, find, remove, row
from client.access.users import Credential, credentials, delete, set_password
from client.cluster import ClusterClient
from client.configs.quotas import ListedQuota, alter, as_text
from client.configs.quotas import listed as quotas_of
from client.refusals import Refused, why
from console.access import rights_endpoint
from console.access.forms import AccessChoices, acl_of, choices, password_of, quota_of, user_of
from console.endpoints import Ask, Console, get, post
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

ROWS_MAX = 2_000

Found = Sequence[Sequence[object]]
Part = tuple[str, ApiKey, Sequence[str], Callable[[ClusterClient], Found]]


@dataclass(frozen=True, slots=True)
class AccessRows:
    """A part with its first rows. `count` rows contain the word of the search, `of` there are."""

    columns: Sequence[str]
    rows: Found
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class NoAccessRows:
    """A part without rows, and the reason."""

    absent: str


AccessPart = AccessRows | NoAccessRows


@dataclass(frozen=True, slots=True)
class Access:
    """The users of a cluster, their rights and quotas, and the choices of the forms."""

    users: AccessPart
    acls: AccessPart
    quotas: AccessPart
    tokens: AccessPart
    choices: AccessChoices


@dataclass(frozen=True, slots=True)
class Done:
    """A change that was made, as a sentence."""

    done: str


def _show(console: Console, ask: Ask) -> Access:
    """Return each part; with `q` only the rows that contain this text."""
    word = ask.text("q", "").lower()
    with console.cluster() as cluster:
        parts = {
            name: _part(cluster, key, columns, rows, word) for name, key, columns, rows in PARTS
        }
    return Access(**parts, choices=choices())


def _part(
    cluster: ClusterClient,
    key: ApiKey,
    columns: Sequence[str],
    rows_of: Callable[[ClusterClient], Found],
    word: str,
) -> AccessPart:
    if not cluster.serves(key):
        return NoAccessRows("this cluster does not support this API")
    try:
        rows = rows_of(cluster)
    except Refused as error:
        return NoAccessRows(str(error))
    wanted = [cells for cells in rows if not word or _has(cells, word)]
    return AccessRows(columns, wanted[:ROWS_MAX], len(wanted), len(rows))


def _has(row: Sequence[object], word: str) -> bool:
    return any(word in str(cell).lower() for cell in row if cell is not None)


def _users(cluster: ClusterClient) -> Found:
    return credentials(cluster.call)


def _acls(cluster: ClusterClient) -> Found:
    return [row(acl) for acl in find(cluster.call, [Filter()])]


def _quotas(cluster: ClusterClient) -> Found:
    return quotas_of(cluster, {})


def _tokens(cluster: ClusterClient) -> Found:
    """Return the delegation tokens without their secrets."""
    answer = cluster.call(
        DescribeDelegationTokenRequest(owners=None), DescribeDelegationTokenResponse
    )
    if answer.error_code in _WITHOUT_TOKENS:
        raise Refused(_WITHOUT_TOKENS[ErrorCode(answer.error_code)])
    if answer.error_code:
        raise Refused(why(answer.error_code, None, "Describe on the tokens"))
    return [
        (
            token.token_id,
            f"{token.principal_type}:{token.principal_name}",
            ", ".join(
                f"{renewer.principal_type}:{renewer.principal_name}" for renewer in token.renewers
            ),
            token.issue_timestamp,
            token.expiry_timestamp,
            token.max_timestamp,
        )
        for token in answer.tokens
    ]


_WITHOUT_TOKENS = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: (
        "the cluster has no delegation tokens: delegation.token.secret.key is not set"
    ),
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: (
        "brokers list tokens only for a login by SASL or TLS, without a token"
    ),
}
_TOKEN_COLUMNS = ("token", "owner", "renewers", "issued", "expires", "at_most")
PARTS: tuple[Part, ...] = (
    ("users", ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, Credential._fields, _users),
    ("acls", ApiKey.DESCRIBE_ACLS, AclRow._fields, _acls),
    ("quotas", ApiKey.DESCRIBE_CLIENT_QUOTAS, ListedQuota._fields, _quotas),
    ("tokens", ApiKey.DESCRIBE_DELEGATION_TOKEN, _TOKEN_COLUMNS, _tokens),
)


# --- changes -------------------------------------------------------------------------------------


def _set_user(console: Console, ask: Ask) -> Done:
    wanted = password_of(ask.body)
    with console.cluster() as cluster:
        set_password(
            cluster.call,
            wanted.user,
            wanted.mechanism,
            wanted.iterations,
            wanted.password,
            os.urandom,
        )
    return Done(f"user {wanted.user} can log in with {wanted.mechanism.mechanism_name}")


def _remove_user(console: Console, ask: Ask) -> Done:
    user, mechanism = user_of(ask.body)
    with console.cluster() as cluster:
        delete(cluster.call, user, mechanism)
    return Done(f"user {user} can no longer log in with {mechanism.mechanism_name}")


def _add_acl(console: Console, ask: Ask) -> Done:
    acl = acl_of(ask.body)
    with console.cluster() as cluster:
        add(cluster.call, [acl])
    return Done("; ".join([f"added: {acl}", *acl_warnings([acl])]))


def _remove_acl(console: Console, ask: Ask) -> Done:
    acl = acl_of(ask.body)
    with console.cluster() as cluster:
        gone = remove(cluster.call, [Filter(*acl)])
    if not gone:
        raise Refused("the cluster has no such ACL: it was removed already")
    return Done(f"removed: {'; '.join(map(str, gone))}")


def _set_quotas(console: Console, ask: Ask) -> Done:
    entity, rates, removed = quota_of(ask.body)
    with console.cluster() as cluster:
        alter(cluster, entity, rates, removed)
    return Done(f"{as_text(entity)}: {', '.join([*rates, *removed])} changed")


ENDPOINTS = (
    get("/api/access", _show),
    post("/api/access/users", _set_user),
    post("/api/access/users/remove", _remove_user),
    post("/api/access/acls", _add_acl),
    post("/api/access/acls/remove", _remove_acl),
    post("/api/access/quotas", _set_quotas),
    *rights_endpoint.ENDPOINTS,
)

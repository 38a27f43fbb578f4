"""The options of `ottla acl`, which are those of `kafka-acls`, made into access control entries.

    --allow-principal User:alice --producer --topic orders
    --deny-principal User:* --deny-host 10.1.2.3 --operation All --topic pay --resource-pattern-type
    prefixed

Owns: which entries the options describe, and which options exclude each other. Each resource is
combined with each principal, host and operation. Never asks a cluster (`client.access.acls` does).

Follows Kafka's `AclCommand` and KIP-290.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

from broker.config.start_error import StartError
from controller.authorization.rights import OPERATIONS_OF
from controller.metadata.acl import ALL, ANY_HOST, WILDCARD, Acl, PatternType, Permission
from controller.metadata.topic_names import MAX_NAME_LENGTH, topic_name_fault
from ottla.plugins.authorizer import CLUSTER_NAME, Operation, Resource
from protocol.address_range import address_range
from protocol.ip_address import bytes_of_address, canonical_address

ANY = 1
MATCH = 2

PATTERN_WORDS = {
    "literal": int(PatternType.LITERAL),
    "prefixed": int(PatternType.PREFIXED),
    "match": MATCH,
    "any": ANY,
}

_OF_PRODUCER = {
    Resource.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    Resource.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
_OF_CONSUMER = {
    Resource.TOPIC: (Operation.READ, Operation.DESCRIBE),
    Resource.GROUP: (Operation.READ,),
}
_OPTION_OF = {
    Resource.TOPIC: "--topic",
    Resource.GROUP: "--group",
    Resource.CLUSTER: "--cluster",
    Resource.TRANSACTIONAL_ID: "--transactional-id",
    Resource.DELEGATION_TOKEN: "--delegation-token",
    Resource.USER: "--user-principal",
}


class Pattern(NamedTuple):
    """A resource pattern of KIP-290: the type of resource, a name, and how the name matches.

    `pattern` is a PatternType, or ANY or MATCH where the pattern only selects entries.
    """

    resource: int
    name: str
    pattern: int


class TypedOptions(NamedTuple):
    """The options of an `ottla acl` command, as the user typed them."""

    resources: Mapping[Resource, Sequence[str]]
    """Resource names by type; for the cluster its only name, CLUSTER_NAME."""
    pattern: str = "literal"
    allow_principals: Sequence[str] = ()
    deny_principals: Sequence[str] = ()
    allow_hosts: Sequence[str] = ()
    deny_hosts: Sequence[str] = ()
    operations: Sequence[str] = ()
    producer: bool = False
    consumer: bool = False
    idempotent: bool = False

    def patterns(self) -> list[Pattern]:
        """Return the pattern of each resource that the options name, each once."""
        kind = PATTERN_WORDS[self.pattern]
        return [
            Pattern(resource, name, kind)
            for resource, names in self.resources.items()
            for name in dict.fromkeys(names)
        ]


def entries_to_add(words: TypedOptions) -> list[Acl]:
    """Return the entries that the options describe. Raises StartError if they describe none,
    exclude each other, or describe an entry that cannot be created."""
    if words.pattern not in ("literal", "prefixed"):
        raise StartError(
            f"--resource-pattern-type {words.pattern} only finds ACLs: a new one is literal or "
            "prefixed"
        )
    if not (words.allow_principals or words.deny_principals):
        raise StartError("an ACL needs --allow-principal or --deny-principal, such as User:alice")
    operations = _checked(words)
    for resource in words.resources:
        _check_operations(resource, operations)
    return [acl for acls in entries_by_pattern(words).values() for acl in acls]


def entries_by_pattern(words: TypedOptions) -> dict[Pattern, list[Acl]]:
    """Return the entries that the options describe, by the pattern of each resource that they name.

    The list of a pattern is empty if no principal is named. Raises StartError if the options
    exclude each other, are invalid, or name no resource.
    """
    operations = _checked(words)
    acls_by_pattern: dict[Pattern, list[Acl]] = {}
    for pattern, resource_operations in _operations_by_pattern(words, operations).items():
        acls_by_pattern[pattern] = [
            Acl(
                pattern.resource,
                pattern.name,
                pattern.pattern,
                principal,
                host,
                operation,
                permission,
            )
            for permission, principals, hosts in (
                (Permission.ALLOW, words.allow_principals, words.allow_hosts),
                (Permission.DENY, words.deny_principals, words.deny_hosts),
            )
            for principal, host, operation in product(
                dict.fromkeys(principals),
                dict.fromkeys(hosts or (ANY_HOST,)),
                resource_operations,
            )
        ]
    return acls_by_pattern


def acl_warnings(acls: Sequence[Acl]) -> list[str]:
    """Return the texts that warn about entries that never match, or match less than they seem to.

    A cluster stores such entries all the same. Each resource, principal and host is named once.
    """
    lines = []
    for resource, name, pattern in dict.fromkeys(acl[:3] for acl in acls):
        warning = _name_warning(Resource(resource), name, pattern)
        lines += [] if warning is None else [warning]
    for principal in dict.fromkeys(acl.principal for acl in acls):
        kind, _, user = principal.partition(":")
        if kind != "User":
            lines.append(f"{principal} never matches: principals are User:NAME, in this spelling")
        elif user.endswith("*") and user != "*":
            lines.append(f"{principal} is the user of that very name: * alone is everybody")
    for host in dict.fromkeys(acl.host for acl in acls):
        if host != ANY_HOST and not _has_addresses(host):
            lines.append(
                f"host {host} never matches: ACLs know addresses and ranges of them, such as "
                "10.0.0.0/8, but no names"
            )
    allowed = dict.fromkeys(acl.host for acl in acls if acl.permission == Permission.ALLOW)
    for host in allowed:
        address, _, zone = canonical_address(host).partition("%")
        if zone and not zone.isdecimal() and "/" not in host:
            lines.append(
                f"host {host} never matches: its zone is the number of the broker's interface, "
                f"as in {address}%2; without a zone it stands for all of them"
            )
    return lines


def _has_addresses(host: str) -> bool:
    """Return whether an ACL's host is an address or a range of addresses."""
    if "/" not in host:
        return bytes_of_address(canonical_address(host)) is not None
    try:
        address_range(host)
    except ValueError:
        return False
    return True


def _name_warning(resource: Resource, name: str, pattern: int) -> str | None:
    """Return the warning if this name may not match what the user means; otherwise None."""
    kind = resource.name.lower().replace("_", " ")
    begin = name.removesuffix(WILDCARD)
    if pattern == PatternType.PREFIXED and name == WILDCARD:
        return f"{kind} * as a prefix is no wildcard: every {kind} is * with the pattern literal"
    if pattern == PatternType.PREFIXED and begin != name:
        return (
            f"{kind} {name} as a prefix is names that begin so, with the *: {begin} is all of them"
        )
    if begin not in ("", name):
        return (
            f"{kind} {name} is the name itself, with the *: all that begin so are {begin} with the "
            "pattern prefixed"
        )
    begins = pattern == PatternType.PREFIXED and len(name) < MAX_NAME_LENGTH
    fault = topic_name_fault(f"{name}a" if begins else name)
    if resource == Resource.TOPIC and name != WILDCARD and fault is not None:
        return f"topic {name} never matches: no topic can be called so"
    return None


def _operations_by_pattern(words: TypedOptions, operations: list[int]) -> dict[Pattern, list[int]]:
    """Return the operations of each pattern: those typed, or those of --producer and --consumer.
    --idempotent adds the cluster with IDEMPOTENT_WRITE."""
    if not (words.producer or words.consumer):
        return dict.fromkeys(words.patterns(), operations)
    wanted: dict[Pattern, list[int]] = {}
    for is_set, of_role in (
        (words.producer, _OF_PRODUCER),
        (words.consumer, _OF_CONSUMER),
    ):
        for pattern in words.patterns() if is_set else ():
            more = of_role.get(Resource(pattern.resource), ())
            before = wanted.get(pattern, [])
            merged = [
                *before,
                *(operation for operation in more if operation not in before),
            ]
            if merged:
                wanted[pattern] = merged
    if words.idempotent:
        cluster = Pattern(Resource.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)
        wanted[cluster] = [Operation.IDEMPOTENT_WRITE]
    return wanted


def _checked(words: TypedOptions) -> list[int]:
    """Check the options, and return the numbers of the operations, [ALL] by default. Raises
    StartError for options that exclude each other, name no resource, or have an invalid principal
    or operation."""
    if not words.patterns():
        raise StartError(f"name what the ACLs are about: {', '.join(_OPTION_OF.values())}")
    if words.producer or words.consumer:
        _check_roles(words)
    elif words.idempotent:
        raise StartError("--idempotent goes with --producer")
    for principal in (*words.allow_principals, *words.deny_principals):
        kind, colon, name = principal.partition(":")
        if not (kind and colon and name):
            raise StartError(f"principal {principal}: write it as User:{principal.strip(':')}")
    for hosts, principals, word in (
        (words.allow_hosts, words.allow_principals, "allow"),
        (words.deny_hosts, words.deny_principals, "deny"),
    ):
        if hosts and not principals:
            raise StartError(f"--{word}-host goes with --{word}-principal (User:* is everybody)")
    return [operation_of(word) for word in words.operations] or [ALL]


def _check_roles(words: TypedOptions) -> None:
    """Raise StartError unless the options fit --producer and --consumer."""
    role = "--producer" if words.producer else "--consumer"
    if words.operations or words.deny_principals or words.deny_hosts:
        raise StartError(
            f"{role} stands for operations that are allowed: leave out --operation, "
            "--deny-principal and --deny-host"
        )
    if Resource.TOPIC not in words.resources:
        raise StartError(f"{role} needs a --topic")
    if words.consumer and Resource.GROUP not in words.resources:
        raise StartError("--consumer needs a --group")
    if words.idempotent and not words.producer:
        raise StartError("--idempotent goes with --producer")
    roles = (_OF_PRODUCER if words.producer else {}) | (_OF_CONSUMER if words.consumer else {})
    for resource in words.resources:
        if resource not in roles:
            raise StartError(f"{role} says nothing about {_OPTION_OF[resource]}: leave it out")


def operation_of(word: str) -> int:
    """Return the number of an operation, from `DescribeConfigs`, `describe_configs` or `All`.

    Raises StartError for an unknown name.
    """
    plain = word.replace("_", "").replace("-", "").casefold()
    if plain == "all":
        return ALL
    for operation in Operation:
        if operation.name.replace("_", "").casefold() == plain:
            return operation
    names = ", ".join(
        ["All", *(operation_name(operation).title().replace("_", "") for operation in Operation)]
    )
    raise StartError(f"--operation {word} is none: {names}")


def operation_name(number: int) -> str:
    """Return an operation's name as `kafka-acls` prints it, such as READ or ALL; an unknown number
    as text."""
    if number == ALL:
        return "ALL"
    return next((operation.name for operation in Operation if operation == number), str(number))


def _check_operations(resource: Resource, operations: Sequence[int]) -> None:
    """Raise StartError if an operation cannot apply to this type of resource."""
    able = OPERATIONS_OF[resource]
    for operation in operations:
        if operation != ALL and operation not in able:
            names = ", ".join(operation.name.title().replace("_", "") for operation in able)
            raise StartError(
                f"--operation {operation_name(operation).title().replace('_', '')} means nothing "
                f"for {_OPTION_OF[resource]}: {names} or All do"
            )

"""Ranges of addresses as hosts of ACLs: requests with the answers that Apache Kafka gave to them.

`python -m tests.golden.acl_range_cases` records `acl_ranges_kafka.json` from two real brokers, one
with the latest `metadata.version` and one with a level at which no ACL may have a range;
`tests/unit/controller/requests/test_acl_ranges_kafka.py` gives the same requests to Ottla. They
build on each other: order matters.
"""

from __future__ import annotations

from pathlib import Path

from controller.metadata.version import LATEST_LEVEL, LEVELS
from tests.golden.acl_cases import EVERYTHING, ONE, Case, asked, but, create, delete, describe
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "acl_ranges_kafka.json"
LEVEL_BEFORE = LEVELS["4.4-IV0"]

IPV4 = (
    "10.0.0.0/8", "10.1.2.3/8", "10.0.0.0/0", "0.0.0.0/0", "10.0.0.7/32", "010.0.0.7/08",
    "10.0.0.0/33", "10.0.0.0/99", "10.0.0.0/100", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/٨",
    "10.0.0.0/", "10.0.0.0/ 8", "10.0.0.0/8 ", " 10.0.0.0/8", "10.0.0.0 /8", "10.0.0.0//8",
    "10.0.0.0/8/8", "10.0.0.0/255.0.0.0", "10.0.0/8", "10.0.0.256/8", "10.0.0.0.0/8", "/8", "/",
    "//", "*/8", "*/", "example.com/8", "localhost/8", "10.0.0.0\\8", "10.0.0.0", "10.0.0.0-8",
)  # fmt: skip
IPV6 = (
    "2001:db8::/32", "2001:DB8::1/32", "::/0", "::1/128", "::1/129", "::1/-1", "::1/-0", "::1/+128",
    "::1/0128", "::1/٨", "::1/99999999999", "::1/", "::1/ 8", "::1/8 ", "::1/8/8", "::1/1_2",
    " ::1/8", "::1 /8", "[::1]/64", "[::1/64]", "[::1%1]/64", "0:0::00001/64", "::/:", ":::/64",
    "1::2::3/64", "1:2:3:4:5:6:7::/64", "1:2:3:4:5:6:7:8::/64", "1:2/64", "fe80::g/8", ":/8", "/:",
    "::ffff:10.0.0.0/104", "::ffff:a00:0/104", "::ffff:10.0.0.0%2/104", "::10.0.0.0/104",
    "fe80::/10", "fe80::%2/10", "fe80::%nope/10", "fe80::%/10", "fe80::/10%2", "10.0.0.0:80/8",
    "example.com:80/8", "a/8:",
)  # fmt: skip
OTHER = ("*", "", " ", "example.com", "::1", "not a host")
OTHER_FAULTS = {
    "no colon": but(ONE, principal="x", host="10.0.0.0/99"),
    "no name": but(ONE, name="", host="10.0.0.0/99"),
    "an unknown permission": but(ONE, permission=4, host="10.0.0.0/99"),
}


FRESH = but(ONE, name="ranges")
HOSTS = (*IPV4, *IPV6, *OTHER)


def cases() -> list[Case]:
    """(name, request, version) in their order, for a broker with the latest level."""
    creations = {host: but(FRESH, host=host) for host in HOSTS}
    filters = (*HOSTS, "10.0.0.7", "10.0.0.0/9", "2001:db8:0:0:0:0:0:0/32", "0:0:0:0:0:0:0:1/128")
    by_host = [
        (host, but(EVERYTHING, resource=FRESH[0], name="ranges", host=host)) for host in filters
    ]
    return [
        *((f"create {host!r}", create(acl), 3) for host, acl in creations.items()),
        *((f"create with {name}", create(acl), 3) for name, acl in OTHER_FAULTS.items()),
        ("create again", create(*creations.values()), 3),
        ("describe all", describe(), 3),
        *((f"describe {host!r}", describe(acl), 3) for host, acl in by_host),
        *((f"delete {host!r}", delete(acl), 3) for host, acl in by_host),
        ("describe what is left", describe(), 3),
    ]


def cases_before() -> list[Case]:
    """Return the cases for a broker whose `metadata.version` is `LEVEL_BEFORE`."""
    return [
        ("before: create", create(*(but(FRESH, host=host) for host in HOSTS)), 3),
        *((f"before: create with {name}", create(acl), 3) for name, acl in OTHER_FAULTS.items()),
        ("before: describe all", describe(), 3),
    ]


def record() -> None:
    """Ask real brokers."""
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    authorizer = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    answers = {}
    for level, of_level in ((LATEST_LEVEL, cases()), (LEVEL_BEFORE, cases_before())):
        with ApacheKafka(
            jvm_options=FAST_START,
            heap="512m",
            properties=authorizer,
            features={"metadata.version": level},
        ) as kafka:
            answers |= asked(kafka.port, of_level)
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()

from __future__ import annotations

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER, parse_super_users
from broker.config.parse import single_node_config
from ground.config_def import ConfigError


@pytest.mark.parametrize(
    ("text", "principals"),
    [
        ("", []),
        (" ; ;", []),
        ("User:admin", ["User:admin"]),
        (" User:a ;User:b; ", ["User:a", "User:b"]),
        ("User:CN=node,OU=Data,O=Acme;User:x", ["User:CN=node,OU=Data,O=Acme", "User:x"]),
        ("User:a:b", ["User:a:b"]),
    ],
)
def test_principals_stand_between_semicolons(text: str, principals: list[str]) -> None:
    assert sorted(parse_super_users(text)) == sorted(principals)


@pytest.mark.parametrize("text", ["admin", "User:a;b", "User:", ":a", "User:a,User:b;c"])
def test_what_is_no_principal_ends_the_start_and_is_shown(text: str) -> None:
    with pytest.raises(ConfigError, match="super.users has '") as error:
        single_node_config({"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": text})
    assert "write Type:name" in str(error.value)


def test_an_authorizer_that_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="com.acme.MyAuthorizer"):
        single_node_config({"authorizer.class.name": "com.acme.MyAuthorizer"})


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({}, ()),
        ({"authorizer.class.name": STANDARD_AUTHORIZER}, ("super.users is empty",)),
        ({"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:a"}, ()),
        (
            {
                "authorizer.class.name": STANDARD_AUTHORIZER,
                "allow.everyone.if.no.acl.found": "true",
            },
            (),
        ),
    ],
)
def test_where_nobody_could_make_the_first_acl_the_start_says_so(
    texts: dict[str, str], said: tuple[str, ...]
) -> None:
    warnings = single_node_config(texts).warnings
    assert len(warnings) == len(said)
    assert all(line.startswith(begin) for line, begin in zip(warnings, said, strict=True))

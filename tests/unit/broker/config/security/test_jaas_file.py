"""JAAS files: their sections, the listeners that they apply to, and what takes precedence."""

from __future__ import annotations

import pytest

from broker.config.security.jaas import JaasError, jaas_text, parse_jaas, parse_jaas_sections
from broker.config.security.jaas_file import jaas_path, keys_of_logins, sasl_listeners
from broker.config.security_settings import JaasEntry, Secret

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
FILE = f"""
// of a broker
KafkaServer {{
    com.sun.security.auth.module.Krb5LoginModule required useKeyTab="true";
    {PLAIN} required
        username="admin"
        password="hush {{}}; \\"quoted\\""
        user_admin="hush";
    {SCRAM} required username="scram" password="hush";
}};
fast.KafkaServer {{ {SCRAM} required username="own"; }};
Client {{}};
"""
TEXTS = {
    "listeners": "SLOW://:9092,FAST://:9093,OPEN://:9094",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": (
        "SLOW:SASL_SSL,FAST:SASL_PLAINTEXT,OPEN:PLAINTEXT,CONTROLLER:SASL_SSL,GONE:SASL_SSL"
    ),
}


def test_the_sections_of_a_file() -> None:
    sections = parse_jaas_sections(FILE)
    assert list(sections) == ["KafkaServer", "fast.KafkaServer", "Client"]
    assert [entry.login_module.rpartition(".")[2] for entry in sections["KafkaServer"]] == [
        "Krb5LoginModule",
        "PlainLoginModule",
        "ScramLoginModule",
    ]
    assert sections["KafkaServer"][1].options["password"] == Secret('hush {}; "quoted"')
    assert sections["Client"] == []
    assert parse_jaas_sections("// nothing") == {}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("hush", "after 0 sections there is no section"),
        ("a {}; hush = 1;", "after 1 sections there is no section"),
        ("a {}; a {};", "two sections of one name"),
        (f"a {{ {PLAIN} required;", "section 1 does not end with };"),
        (f"a {{ {PLAIN} required; }}", "section 1 does not end with };"),
        (f"a {{ {PLAIN} required", "not terminated by a semicolon"),
        (f"a {{ {PLAIN} hush; }};", "not one of required"),
    ],
)
def test_a_malformed_file_is_rejected_without_its_content(text: str, part: str) -> None:
    with pytest.raises(JaasError) as error:
        parse_jaas_sections(text)
    assert part in str(error.value) and "hush" not in str(error.value)


@pytest.mark.parametrize("value", ["", 'a"b', "a\\b", "a\nb\rc", "\\n", "é\t'${x}"])
def test_the_text_of_an_entry_is_parsed_as_the_entry(value: str) -> None:
    entry = JaasEntry(PLAIN, {"password": Secret(value), "user_a": Secret("x")})
    assert parse_jaas(jaas_text(entry)) == entry


def test_listeners_with_sasl_get_their_section_or_that_of_all() -> None:
    assert sasl_listeners(TEXTS) == ["SLOW", "FAST", "CONTROLLER"]
    added = keys_of_logins(TEXTS, parse_jaas_sections(FILE))
    users = {key: parse_jaas(text).options["username"].value for key, text in added.items()}
    assert users == {
        "listener.name.slow.plain.sasl.jaas.config": "admin",
        "listener.name.slow.scram-sha-256.sasl.jaas.config": "scram",
        "listener.name.slow.scram-sha-512.sasl.jaas.config": "scram",
        "listener.name.fast.scram-sha-256.sasl.jaas.config": "own",
        "listener.name.fast.scram-sha-512.sasl.jaas.config": "own",
        "listener.name.controller.plain.sasl.jaas.config": "admin",
        "listener.name.controller.scram-sha-256.sasl.jaas.config": "scram",
        "listener.name.controller.scram-sha-512.sasl.jaas.config": "scram",
    }


def test_a_key_takes_precedence() -> None:
    key = "listener.name.slow.plain.sasl.jaas.config"
    added = keys_of_logins({**TEXTS, key: "x"}, parse_jaas_sections(FILE))
    assert key not in added and len(added) == 7


def test_no_section_for_brokers_adds_nothing() -> None:
    assert keys_of_logins(TEXTS, parse_jaas_sections(f"KafkaClient {{ {PLAIN} required; }};")) == {}


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ("", None),
        ("-Xmx1g -Dother=/a", None),
        ("-Djava.security.auth.login.config=", None),
        ("-Xmx1g -Djava.security.auth.login.config=/etc/jaas.conf -Dx=y", "/etc/jaas.conf"),
        ("-Djava.security.auth.login.config==/a", "/a"),
        ("-Djava.security.auth.login.config=file:/a", "/a"),
        ("-Djava.security.auth.login.config=file:///a", "/a"),
        ("-Djava.security.auth.login.config=/a -Djava.security.auth.login.config=/b", "/b"),
    ],
)
def test_the_path_in_options_of_java(options: str, path: str | None) -> None:
    assert jaas_path(options) == path

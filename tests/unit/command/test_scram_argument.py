"""`--add-scram`: what Apache Kafka's kafka-storage takes and refuses, it takes and refuses."""

from __future__ import annotations

import base64

import pytest

from broker.config.start_error import StartError
from command.scram_argument import SALT_BYTES, scram_record
from controller.metadata.scram_credential import (
    ScramMechanism,
    credential_of,
    salted_password,
)
from protocol.messages.metadata_records import UserScramCredentialRecord

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


def made(text: str) -> UserScramCredentialRecord:
    return scram_record(text, lambda size: b"r" * size)


def is_of(record: UserScramCredentialRecord, password: str) -> bool:
    mechanism = ScramMechanism(record.mechanism)
    salted = salted_password(mechanism, password, record.salt, record.iterations)
    return credential_of(mechanism, salted, record.salt, record.iterations) == credential(record)


def credential(record: UserScramCredentialRecord) -> object:
    salted = (record.salt, record.stored_key, record.server_key, record.iterations)
    return type(credential_of(SHA_256, b"", b"", 0))(*salted)


@pytest.mark.parametrize(
    ("text", "name", "password"),
    [
        ("SCRAM-SHA-256=[name=a,password=b]", "a", "b"),
        (" SCRAM-SHA-512=[name=a,password=b] ", "a", "b"),
        ('SCRAM-SHA-256=[name="a",password="b"]', "a", "b"),
        ("SCRAM-SHA-256=[name='a',password='b']", "'a'", "'b'"),
        ('SCRAM-SHA-256=[name=a,password=x"y"z]', "a", 'x"y"z'),
        ('SCRAM-SHA-256=[name=a,password="unclosed]', "a", '"unclosed'),
        ("SCRAM-SHA-256=[name=a,password=p=q]", "a", "p=q"),
        ("SCRAM-SHA-256=[name=a,password=b,,]", "a", "b"),
        ("SCRAM-SHA-256=[name=a,password=b,name=c]", "c", "b"),
        ("SCRAM-SHA-256=[name=a,password=b,saltedpassword=MTIz]", "a", "b"),
        ("SCRAM-SHA-256=[name=ä,password=ü]", "ä", "ü"),
    ],
)
def test_users_as_kafka_reads_them(text: str, name: str, password: str) -> None:
    record = made(text)
    assert record.name == name
    assert record.mechanism == (SHA_512 if "512" in text else SHA_256)
    assert record.iterations == 4096
    assert record.salt == b"r" * SALT_BYTES
    assert is_of(record, password)


def test_salt_and_iterations() -> None:
    record = made('SCRAM-SHA-512=[iterations=+8192,name=a,salt="c2FsdA==",password=b]')
    assert (record.salt, record.iterations) == (b"salt", 8192)
    assert is_of(record, "b")
    assert made("SCRAM-SHA-512=[name=a,salt=,password=b]").salt == b""


def test_a_salted_password() -> None:
    salted = salted_password(SHA_512, "secret", b"salt", 5000)
    text = f"saltedpassword={base64.b64encode(salted).decode()},salt=c2FsdA==,iterations=5000"
    assert is_of(made(f"SCRAM-SHA-512=[name=a,{text}]"), "secret")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("secret", "there is no equals sign in it"),
        ("", "there is no equals sign in it"),
        ("SCRAM-SHA-1=[name=a,password=secret]", "this mechanism is not supported"),
        ("scram-sha-256=[name=a,password=secret]", "this mechanism is not supported"),
        ("SCRAM-SHA-256 =[name=a,password=secret]", "this mechanism is not supported"),
        ("=[name=a,password=secret]", "this mechanism is not supported"),
        ("SCRAM-SHA-256=name=a,password=secret]", "has to start with ["),
        ("SCRAM-SHA-256= [name=a,password=secret]", "has to start with ["),
        ("SCRAM-SHA-256=[name=a,password=secret", "has to end with ]"),
        ("SCRAM-SHA-256=[name=a,password=secret]x", "has to end with ]"),
        ("SCRAM-SHA-256=[]", "no equals sign"),
        ("SCRAM-SHA-256=[name=a,,password=secret]", "no equals sign"),
        ('SCRAM-SHA-256=[name=a,password="my,secret"]', "a password with a comma"),
        ("SCRAM-SHA-256=[password=secret]", "it needs a name"),
        ("SCRAM-SHA-256=[ name=a,password=secret]", "it needs a name"),
        ("SCRAM-SHA-256=[name=a]", "it needs a password or a saltedpassword"),
        ("SCRAM-SHA-256=[name=a,salt=!!,password=secret]", "salt is not in base64"),
        ("SCRAM-SHA-256=[name=a,salt=!!,password=secret,x=1]", "salt is not in base64"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=secret!]", "saltedpassword is not in base64"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=MTIz]", "saltedpassword needs its salt"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations=x]", "iterations has to be a number"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations=]", "iterations has to be a number"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations= 5000]", "iterations has to be"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations=4095]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=secret,iterations=16385]", "from 4096 to 16384"),
        ("SCRAM-SHA-256=[name=a,password=my,secret=1]", "it has an unknown key; the known ones"),
    ],
)
def test_what_is_refused_is_one_line_without_a_secret(text: str, says: str) -> None:
    with pytest.raises(StartError) as refused:
        made(text)
    line = str(refused.value)
    assert line.startswith("--add-scram: ")
    assert says in line
    assert "secret" not in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "part", ["name=,password=b", "name=a,password=", "name=a,saltedpassword=,salt=c2FsdA=="]
)
def test_what_kafka_takes_or_fails_on_is_refused(part: str) -> None:
    """A user without a name, whom Alter would refuse; an empty key, which Java has no name for."""
    with pytest.raises(StartError):
        made(f"SCRAM-SHA-256=[{part}]")

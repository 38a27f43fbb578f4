"""A file, overrides, or neither become a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.file import load_client_security, load_config
from broker.config.start_error import StartError

WHOLE = (
    "node.id=2\nprocess.roles=broker,controller\ncontroller.quorum.voters=2@localhost:9093\n"
    "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
)


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(WHOLE + "num.partitions=3\n")
    config = load_config(str(file), ["num.partitions = 9", "log.dirs=/a=b"])
    assert (config.node_id, config.num_partitions, config.log_dirs) == (2, 9, ("/a=b",))


def test_the_profile_applies_without_a_file_only(tmp_path: Path) -> None:
    assert load_config(None, []).profile_name == "single-node"
    file = tmp_path / "a.properties"
    file.write_text("num.partitions=3\n")
    with pytest.raises(StartError, match='a.properties: Missing required configuration "node.id"'):
        load_config(str(file), [])


def test_an_override_that_is_wrong_does_not_blame_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(WHOLE)
    with pytest.raises(StartError, match="^Invalid value x for configuration num.partitions"):
        load_config(str(file), ["num.partitions=x"])


def test_all_faults_are_told_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(f"{WHOLE}# more\nnum.partions=3\nlog.retention.ms=7d\n")
    with pytest.raises(StartError) as caught:
        load_config(str(file), ["num.io.threads=x"])
    first, second, third = caught.value.lines
    assert first.startswith(f"{file}: line 7: unknown configuration key num.partions; did you")
    assert second.startswith(f"{file}: line 8: Invalid value 7d for configuration log.retention.ms")
    assert second.endswith("(it is in milliseconds: write 604800000)")
    assert third.startswith("Invalid value x for configuration num.io.threads")


def test_unknown_keys_that_may_be_ignored_are_no_faults(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(f"{WHOLE}ottla.unknown.keys=warn\nnum.partions=3\nlog.retention.ms=7d\n")
    with pytest.raises(StartError) as caught:
        load_config(str(file), [])
    (fault,) = caught.value.lines
    assert "log.retention.ms" in fault
    file.write_text(f"{WHOLE}ottla.unknown.keys=quiet\nnum.partions=3\n")
    with pytest.raises(StartError) as caught:
        load_config(str(file), [])
    assert ["num.partions" in line for line in caught.value.lines] == [False, True]


JAAS_OPTION = "-Djava.security.auth.login.config="
WITH_SASL = (
    WHOLE.replace("listeners=PLAINTEXT:", "listeners=SASL_PLAINTEXT:")
    + "listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT\n"
    + "sasl.enabled.mechanisms=PLAIN\ninter.broker.listener.name=SASL_PLAINTEXT\n"
    + "sasl.mechanism.inter.broker.protocol=PLAIN\n"
)


def test_a_jaas_file_of_kafka_has_the_logins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, jaas = tmp_path / "a.properties", tmp_path / "jaas.conf"
    file.write_text(WITH_SASL)
    with pytest.raises(StartError, match="plain.sasl.jaas.config is not set"):
        load_config(str(file), [])
    monkeypatch.setenv("KAFKA_OPTS", f"-Xmx1g {JAAS_OPTION}{jaas}")
    with pytest.raises(StartError, match="No such file or directory .KAFKA_OPTS names it"):
        load_config(str(file), [])
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    jaas.write_text(f'KafkaServer {{ {module} username="a" password="hush" user_a="hush"; }};')
    config = load_config(str(file), [])
    sasl = config.listener_security["SASL_PLAINTEXT"].sasl
    assert sasl is not None
    (mechanism,) = sasl.mechanisms
    assert mechanism.jaas is not None and mechanism.jaas.options["username"].value == "a"
    assert not any("jaas" in warning for warning in config.warnings)
    other = tmp_path / "other.conf"
    other.write_text(f'KafkaServer {{ {module} username="b" password="hush"; }};')
    by_option = load_config(str(file), [], jaas_file=str(other)).listener_security["SASL_PLAINTEXT"]
    assert by_option.sasl is not None and by_option.sasl.mechanisms[0].jaas is not None
    assert by_option.sasl.mechanisms[0].jaas.options["username"].value == "b"
    jaas.write_text(f'KafkaServer {{ {module} password="hush" }};')
    with pytest.raises(StartError) as caught:
        load_config(str(file), [])
    (line,) = caught.value.lines
    assert line.startswith(f"{jaas}: ") and "hush" not in line


def test_a_jaas_file_is_not_read_without_sasl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_OPTS", f"{JAAS_OPTION}{tmp_path / 'gone'}")
    file = tmp_path / "a.properties"
    file.write_text(WHOLE)
    assert load_config(str(file), []).warnings == ()
    assert load_config(None, []).warnings == ()


OF_ZOOKEEPER = (
    "broker.id=0\nnum.network.threads=3\nlog.dirs=/tmp/kafka-logs\n"
    "offsets.topic.replication.factor=1\nzookeeper.connect=localhost:2181\n"
    "zookeeper.connection.timeout.ms=18000\nzookeeper.set.acl=false\n"
)


@pytest.mark.parametrize(
    ("more", "listeners"),
    [
        ("", "PLAINTEXT://:9092,CONTROLLER://localhost:9093"),
        ("listeners=PLAINTEXT://:9093\n", "PLAINTEXT://:9093,CONTROLLER://localhost:9094"),
        (
            "listeners=A://:1,B://:2\nlistener.security.protocol.map=A:PLAINTEXT,B:PLAINTEXT\n"
            "inter.broker.listener.name=A\n",
            "A://:1,B://:2,CONTROLLER://localhost:9093",
        ),
        (
            "listeners=SASL_PLAINTEXT://:1\nsecurity.inter.broker.protocol=SASL_PLAINTEXT\n"
            "sasl.enabled.mechanisms=SCRAM-SHA-512\n"
            "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512\n"
            "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config="
            "org.apache.kafka.common.security.scram.ScramLoginModule required;\n",
            "SASL_PLAINTEXT://:1,CONTROLLER://localhost:9093",
        ),
    ],
)
def test_a_file_of_zookeeper_is_mended_by_one_message(
    tmp_path: Path, more: str, listeners: str
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(OF_ZOOKEEPER + more)
    with pytest.raises(StartError) as caught:
        load_config(str(file), [])
    first, *added = caught.value.lines
    assert first.startswith(f"{file}: this file is for Kafka with ZooKeeper")
    assert "zookeeper.connect (line 5), zookeeper.connection.timeout.ms (line 6)" in first
    assert f"listeners={listeners}" in added
    kept = [
        line
        for line in (OF_ZOOKEEPER + more).splitlines()
        if not line.startswith(("zookeeper", *(f"{one.partition('=')[0]}=" for one in added)))
    ]
    file.write_text("\n".join([*kept, *added]))
    config = load_config(str(file), [])
    assert (config.node_id, config.is_broker, config.is_controller) == (0, True, True)


def test_a_file_of_zookeeper_has_its_other_faults_after_the_lines(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("zookeeper.connect=localhost:2181\nbroker.id=-1\nnum.partions=3\n")
    with pytest.raises(StartError) as caught:
        load_config(str(file), [])
    assert "node.id=1" in caught.value.lines
    assert caught.value.lines[-1].startswith(f"{file}: line 3: unknown configuration key num.par")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_bytes(b"\x7fELF\0\0")
    with pytest.raises(StartError, match=r"a\.properties: this is no text file"):
        load_config(str(file), [])


def test_files_in_utf_8_and_latin_1(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        file = tmp_path / encoding
        file.write_text(WHOLE + "log.dirs=/données\n", encoding=encoding)
        assert load_config(str(file), []).log_dirs == ("/données",)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="Is a directory"):
        load_config(str(tmp_path), [])
    file = tmp_path / "a.properties"
    file.write_text("a=\\u1")
    with pytest.raises(StartError, match="a.properties: Malformed"):
        load_config(str(file), [])


def test_a_key_that_is_given_twice_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(WHOLE + "num.partitions=3\n\nnum.partitions=4\n")
    config = load_config(str(file), ["log.dirs=a", "log.dirs=b"])
    assert config.num_partitions == 4
    assert config.warnings == (
        f"{file}: num.partitions stands in the lines 6 and 8: the last one counts",
        "--override log.dirs is given 2 times: the last one counts",
    )
    assert load_config(str(file), ["num.partitions=9"]).num_partitions == 9
    assert load_config(None, ["log.dirs=a", "log.dirs=b"]).warnings == config.warnings[1:]


def test_a_key_that_is_given_twice_is_told_beside_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "a.properties"
    file.write_text(WHOLE + "num.partitions=3\nnum.partitions=many\n")
    with pytest.raises(StartError) as caught:
        load_config(str(file), [])
    wrong, twice = caught.value.lines
    assert "line 7: Invalid value many for configuration num.partitions" in wrong
    assert twice == f"{file}: num.partitions stands in the lines 6 and 7: the last one counts"


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (
            ["listeners=PLAINTEXT://localhost"],
            "Invalid value PLAINTEXT://localhost for configuration listeners: It is not "
            "NAME://host:port with a port of 0 to 65535",
        ),
        (
            ["listeners=PLAINTEXT://a:1,SSL://b:2"],
            "Invalid value SSL://b:2 for configuration listeners: No security protocol defined for "
            "listener SSL in listener.security.protocol.map",
        ),
        (
            ["listeners=PLAINTEXT://a:1,PLAINTEXT://b:2"],
            "Invalid value PLAINTEXT://a:1, PLAINTEXT://b:2 for configuration listeners: Each "
            "listener must have a different name",
        ),
        (
            ["process.roles=broker"],
            "process.roles=broker: the single-node profile is broker and controller; give a file "
            "for a node of several, --config FILE",
        ),
        (
            ["listeners=PLAINTEXT://0.0.0.0:1"],
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable "
            "IP address. It is not set, so it is that of listeners. Clients are told this address: "
            "say where they reach this machine, for example --override "
            "advertised.listeners=PLAINTEXT://localhost:1",
        ),
    ],
)
def test_a_refusal_quotes_what_was_written(overrides: list[str], said: str) -> None:
    """Not what the profile, or another key, has made of it."""
    with pytest.raises(StartError) as caught:
        load_config(None, overrides)
    assert str(caught.value) == said


def test_config_providers_are_asked_where_the_file_and_overrides_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("partitions=7\n")
    provider = "org.apache.kafka.common.config.provider"
    file = tmp_path / "server.properties"
    file.write_text(
        "config.providers=file,env\n"
        f"config.providers.file.class={provider}.FileConfigProvider\n"
        f"config.providers.env.class={provider}.EnvVarConfigProvider\n"
        "process.roles=broker,controller\n"
        "node.id=1\n"
        "controller.listener.names=CONTROLLER\n"
        "controller.quorum.voters=1@localhost:9093\n"
        "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
        f"num.partitions=${{file:{secrets}:partitions}}\n"
    )
    monkeypatch.setenv("OTTLA_TEST_RACK", "west")
    config = load_config(str(file), ["broker.rack=${env:OTTLA_TEST_RACK}"])
    assert (config.num_partitions, config.broker_rack) == (7, "west")
    assert config.warnings == ()
    with pytest.raises(StartError, match="num.partitions: .*the file has no such key"):
        load_config(str(file), [f"num.partitions=${{file:{secrets}:no}}"])
    with pytest.raises(StartError, match="unknown configuration key config.providers.vault.class"):
        load_config(str(file), ["config.providers.vault.class=x"])


def test_the_client_half_of_a_command(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.truststore.location=/ca\nnonsense=1\n")
    client, warnings = load_client_security(str(file))
    assert client.tls is not None and client.tls.truststore_location == "/ca"
    assert warnings == ["nonsense is ignored: it is not a key of a client"]
    file.write_text("security.protocol=TLS\n")
    with pytest.raises(StartError, match=f"{file}: Invalid value TLS"):
        load_client_security(str(file))
    with pytest.raises(StartError, match="No such file"):
        load_client_security(str(tmp_path / "none"))


def test_what_stands_below_counts_where_nothing_else_is_said(tmp_path: Path) -> None:
    below = {"ottla.trace.requests": "true"}
    assert load_config(None, [], below).ottla_trace_requests
    assert not load_config(None, ["ottla.trace.requests=false"], below).ottla_trace_requests
    file = tmp_path / "server.properties"
    file.write_text(WHOLE + "ottla.trace.requests=false\n")
    assert not load_config(str(file), [], below).ottla_trace_requests

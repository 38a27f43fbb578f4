"""What DescribeConfigs tells of a topic, a broker, all brokers and a group of Apache Kafka.

`python -m tests.golden.describe_config_cases` records `describe_configs_kafka.txt`: a line an
entry, with resource type and name, key, value, source, read-only, sensitive, type and synonyms.
`tests/unit/broker/config/test_description.py` compares them with Ottla's. Addresses and the folder
are always the same ones in the file, whichever the recorded broker had.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ground.config_def import ConfigSource, ConfigType
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

RECORDED = Path(__file__).parent / "describe_configs_kafka.txt"

TOPIC_CONFIGS = {"retention.ms": "5", "cleanup.policy": "compact"}
_SERVER = {
    "log.retention.minutes": "60",
    "log.segment.bytes": "2000000",
    "telemetry.max.bytes": "9",
}
_RESOURCES = ((2, "TOPIC", "t"), (4, "BROKER", "1"), (4, "BROKER", ""), (32, "GROUP", "g"))


def source_name(source: ConfigSource) -> str:
    """The name of a source in Kafka's Java."""
    return "DYNAMIC_TOPIC_CONFIG" if source is ConfigSource.TOPIC_CONFIG else source.name


def _lines(kind: str, name: str, response: Any) -> Iterator[str]:
    (result,) = response.results
    assert result.error_code == 0, result.error_message
    for entry in sorted(result.configs, key=lambda config: config.name):
        synonyms = "".join(
            f"{one.name}={_text(one.value)}@{source_name(ConfigSource(one.source))};"
            for one in entry.synonyms
        )
        yield "|".join(
            (
                *(kind, name, entry.name, _text(entry.value)),
                source_name(ConfigSource(entry.config_source)),
                *(str(entry.read_only).lower(), str(entry.is_sensitive).lower()),
                *(ConfigType(entry.config_type).name, synonyms),
            )
        )


def _text(value: str | None) -> str:
    return "null" if value is None else value


def record() -> None:
    """Ask a real broker."""
    from tests.golden.controller_cases import ask
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    with ApacheKafka(
        properties=_SERVER, static_voters=True, jvm_options=FAST_START, heap="512m"
    ) as kafka:
        overrides = [CreatableTopicConfig(name, text) for name, text in TOPIC_CONFIGS.items()]
        topics = [CreatableTopic("t", 1, 1, configs=overrides)]
        made = ask(kafka.port, CreateTopicsRequest(topics, 30_000), 7)
        assert made.topics[0].error_code == 0
        lines = [
            line
            for kind, kind_name, name in _RESOURCES
            for line in _lines(
                kind_name,
                name,
                ask(
                    kafka.port,
                    DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)], True),
                    4,
                ),
            )
        ]
        text = "".join(f"{line}\n" for line in lines)
        for own, kept in (
            (str(kafka.data_dir), "/data"),
            (f"127.0.0.1:{kafka.port}", "127.0.0.1:9092"),
            (f"127.0.0.1:{kafka.controller_port}", "127.0.0.1:9093"),
        ):
            text = text.replace(own, kept)
    RECORDED.write_text(text)


if __name__ == "__main__":
    record()

from __future__ import annotations

import re
from pathlib import Path

from broker.config.documentation import config_documentation
from controller.metadata.image import ResourceType
from storage.log_config import LOG_CONFIG_DEF

CONF = Path(__file__).resolve().parents[4] / "conf" / "server.properties"
KEY = re.compile(r"#?([a-z][a-z0-9.]*)=")


def test_every_public_topic_config_has_a_sentence() -> None:
    for name, key in LOG_CONFIG_DEF.items():
        if not key.internal:
            sentence = config_documentation(ResourceType.TOPIC, name)
            assert sentence and sentence.endswith("."), name


def test_broker_keys_have_the_comments_of_the_configuration_file() -> None:
    comment: list[str] = []
    keys = 0
    for line in CONF.read_text().splitlines():
        if found := KEY.match(line):
            assert config_documentation(ResourceType.BROKER, found[1]) == " ".join(comment)
            comment, keys = [], keys + 1
        elif line.startswith("# ") and not line.startswith("# ---"):
            comment.append(line[2:])
        else:
            comment = []
    assert keys > 90


def test_what_nobody_wrote_is_none() -> None:
    assert config_documentation(ResourceType.TOPIC, "no.such.key") is None
    assert config_documentation(ResourceType.BROKER_LOGGER, "root") is None
    assert config_documentation(ResourceType.GROUP, "consumer.session.timeout.ms")
    assert config_documentation(ResourceType.CLIENT_METRICS, "match")

"""The coordinator's defaults are the broker's, which are Kafka's."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

from broker.transactions.transaction_config import TransactionConfig

DEFINITIONS = Path(__file__).parents[4] / "broker" / "definitions" / "broker-configs.json"


def test_names_and_defaults_are_kafkas() -> None:
    known = {one["name"]: one for one in json.loads(DEFINITIONS.read_text())}
    defaults = TransactionConfig()
    for field in fields(defaults):
        key = field.name.replace("_", ".")
        assert int(known[key]["default"]) == getattr(defaults, field.name), key


def test_it_takes_the_values_of_a_broker() -> None:
    values = {field.name: number for number, field in enumerate(fields(TransactionConfig))}
    config = TransactionConfig.of(SimpleNamespace(**values, other=1))
    assert config.request_timeout_ms == values["request_timeout_ms"]

"""The settings of a whole server in a folder."""

from __future__ import annotations

from pathlib import Path

from broker.config.parse import single_node_config
from broker.config.values import BrokerConfig


def config(folder: Path, port: int = 0, /, **overrides: str) -> BrokerConfig:
    return single_node_config(
        {
            "log.dirs": str(folder),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:0",
        }
        | overrides
    )

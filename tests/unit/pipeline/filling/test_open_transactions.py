"""The settings with which Ottla's own client asks for transactions."""

from __future__ import annotations

import stat
from pathlib import Path

from broker.config.file import load_client_security
from pipeline.filling.open_transactions import _properties

JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="ann" password="back\\\\slash";'
)


def test_login_and_certificates_go_into_a_file_of_this_user_alone() -> None:
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": JAAS,
        "kafka.isolation.level": "read_committed",
        "minPartitions": "4",
    }
    with _properties(options) as path:
        assert path is not None
        file = Path(path)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        security, warnings = load_client_security(path)
        assert warnings == []
        assert file.read_text().count("\n") == 3, "what is not of security is left out"
        assert security.security_protocol == "SASL_PLAINTEXT" and security.mechanism is not None
        jaas = security.mechanism.jaas
        assert jaas is not None and jaas.options["password"].value == r"back\slash"
    assert not file.exists()


def test_without_such_settings_there_is_no_file() -> None:
    with _properties({"kafka.isolation.level": "read_committed"}) as path:
        assert path is None

"""The login at a registry comes from a file, and never stands in the list of processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.start_error import StartError
from console.messages.decoding.registry import Registry
from console.messages.decoding.registry_login import login_in_file, login_in_url
from tests.unit.console.messages.decoding.one_registry import registry


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("basic.auth.user.info=us@er:pa:ss\n", "Basic dXNAZXI6cGE6c3M="),
        ("bearer.auth.token=abc.def\n", "Bearer abc.def"),
        ("# nothing\n", None),
    ],
)
def test_a_login_of_a_file(text: str, sent: str | None, tmp_path: Path) -> None:
    path = tmp_path / "registry.properties"
    path.write_text(text)
    with registry() as server:
        server.answers["/schemas/ids/7"] = (200, {"schema": '"string"'})
        Registry(server.url, login_in_file(str(path))).schema(7)
        assert server.logins == [sent]


def test_a_login_of_a_url() -> None:
    assert login_in_url("us%40er", "pass") == "Basic dXNAZXI6cGFzcw=="
    assert login_in_url(None, None) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("basic.auth.user=x", "unknown key basic.auth.user: use basic.auth.user.info, "),
        ("basic.auth.user.info=anna", "must be USER:PASSWORD"),
        ("basic.auth.user.info=a:b\nbearer.auth.token=t", "not both"),
        ("bearer.auth.token=a\\nb", "control characters"),
        ("ssl.ca.location=/no/such.pem", "ssl.ca.location=/no/such.pem: No such file"),
    ],
)
def test_a_file_that_is_wrong(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "registry.properties"
    path.write_text(text)
    with pytest.raises(StartError, match=reason):
        login_in_file(str(path))
    with pytest.raises(StartError, match="No such file"):
        login_in_file(str(tmp_path / "none"))

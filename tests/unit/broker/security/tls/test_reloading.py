"""Certificates that change under a listener: taken for new connections, or refused like Kafka."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from broker.config.security_settings import Secret, TlsSettings
from broker.security.tls import reloading
from broker.security.tls.contexts import client_context
from broker.security.tls.reloading import ClientTls, ListenerTls
from ground.config_def import ConfigError
from tests import certificates
from tests.certificates import Identity, authority, foreign_authority, pem_files, pem_values, server
from tests.unit.broker.security.tls.handshake_fixture import shake_hands

PREFIX = "listener.name.nodes."
HOSTS = ("localhost", "127.0.0.1")


def shown(tls: ListenerTls) -> bytes | None:
    """The certificate that a new connection gets."""
    anybody = client_context("", pem_values(None, authority()))
    found = shake_hands(anybody, tls.context)
    return found.client.getpeercert(True) if found.works else None


def trusting(identity: Identity, *trusted: Identity, **changes: object) -> TlsSettings:
    pems = "".join(one.certificate_pem for one in trusted or (authority(),))
    return replace(pem_values(identity), truststore_certificates=pems, **changes)


def test_the_same_path_is_read_again(tmp_path: Path) -> None:
    settings = pem_files(tmp_path, server())
    tls = ListenerTls(PREFIX, settings, between_nodes=True)
    before = tls.context
    assert shown(tls) == server().der
    renewed = authority().signs("CN=broker", hosts=HOSTS)
    pem_files(tmp_path, renewed)
    assert shown(tls) == server().der
    tls.reload(settings)
    assert shown(tls) == renewed.der
    assert tls.context is not before


def test_other_settings_take_over() -> None:
    tls = ListenerTls(PREFIX, trusting(server()))
    changed = trusting(authority().signs("CN=broker", hosts=HOSTS), client_auth="required")
    tls.reload(changed)
    assert tls.settings == changed
    assert shown(tls) is None


def test_what_is_only_checked_is_not_served() -> None:
    """Before a change of a config is stored."""
    tls = ListenerTls(PREFIX, trusting(server()))
    context = tls.context
    tls.check(trusting(authority().signs("CN=broker", hosts=HOSTS)))
    with pytest.raises(ConfigError):
        tls.check(trusting(authority().signs("CN=somebody else", hosts=HOSTS)))
    assert tls.context is context
    assert tls.settings == trusting(server())


@pytest.mark.parametrize("damage", ["gone", "nonsense", "no key", "another key"])
def test_what_cannot_be_loaded_changes_nothing(tmp_path: Path, damage: str) -> None:
    settings = pem_files(tmp_path, server())
    tls = ListenerTls(PREFIX, settings)
    context = tls.context
    keystore = tmp_path / "keystore.pem"
    if damage == "gone":
        keystore.unlink()
    texts = {
        "nonsense": "nonsense",
        "no key": server().chain_pem,
        "another key": certificates.client().key_pem() + server().chain_pem,
    }
    if damage in texts:
        keystore.write_text(texts[damage])
    with pytest.raises(ConfigError) as refused:
        tls.reload(settings)
    assert refused.value.name == f"{PREFIX}ssl.keystore.location"
    assert tls.context is context
    assert shown(tls) == server().der


def test_a_listener_keeps_a_keystore() -> None:
    tls = ListenerTls(PREFIX, trusting(server()))
    with pytest.raises(ConfigError):
        tls.reload(pem_values(None))
    assert shown(tls) == server().der


# --- names ----------------------------------------------------------------------------------------

OTHER_NAME = ("CN=other", HOSTS)
LESS_HOSTS = ("CN=broker", ("localhost",))
MORE_HOSTS = ("CN=broker", (*HOSTS, "x.example"))


@pytest.mark.parametrize(
    ("new", "allowed", "word"),
    [
        (OTHER_NAME, {}, "from CN=broker to CN=other"),
        (OTHER_NAME, {"allow_san_changes": True}, "from CN=broker to CN=other"),
        (OTHER_NAME, {"allow_dn_changes": True}, None),
        (LESS_HOSTS, {}, "lacks IP:127.0.0.1"),
        (LESS_HOSTS, {"allow_dn_changes": True}, "lacks IP:127.0.0.1"),
        (LESS_HOSTS, {"allow_san_changes": True}, None),
        (MORE_HOSTS, {}, None),
    ],
)
def test_names_stay_unless_a_change_is_allowed(
    new: tuple[str, tuple[str, ...]], allowed: dict[str, bool], word: str | None
) -> None:
    tls = ListenerTls(PREFIX, trusting(server(), **allowed))
    renewed = authority().signs(new[0], hosts=new[1])
    if word is None:
        tls.reload(trusting(renewed))
        assert shown(tls) == renewed.der
        return
    with pytest.raises(ConfigError) as refused:
        # What the new settings allow does not count.
        tls.reload(trusting(renewed, allow_dn_changes=True, allow_san_changes=True))
    assert word in str(refused.value)
    assert shown(tls) == server().der


# --- between nodes --------------------------------------------------------------------------------


def test_a_listener_between_nodes_does_not_start_with_what_it_does_not_trust() -> None:
    settings = trusting(server(), foreign_authority())
    ListenerTls(PREFIX, settings)
    with pytest.raises(ConfigError):
        ListenerTls(PREFIX, settings, between_nodes=True)


@pytest.mark.parametrize(
    ("before", "after", "taken"),
    [
        # The nodes that have not reloaded yet do not trust the new one, or are not trusted by it.
        ((authority,), (foreign_authority,), False),
        ((authority,), (authority, foreign_authority), False),
        ((authority, foreign_authority), (foreign_authority,), False),
        ((authority, foreign_authority), (authority, foreign_authority), True),
    ],
)
def test_another_authority_between_nodes_needs_both_on_both_sides(
    before: tuple[object, ...], after: tuple[object, ...], taken: bool
) -> None:
    old = trusting(server(), *(one() for one in before))  # type: ignore[operator]
    renewed = foreign_authority().signs("CN=broker", hosts=HOSTS)
    new = trusting(renewed, *(one() for one in after))  # type: ignore[operator]
    tls = ListenerTls(PREFIX, old, between_nodes=True)
    if taken:
        tls.reload(new)
    else:
        with pytest.raises(ConfigError):
            tls.reload(new)
    assert tls.settings == (new if taken else old)


@pytest.mark.parametrize("ends", ["the certificate", "the authority"])
def test_an_expired_keystore_between_nodes_makes_room_for_a_good_one(
    ends: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has expired since it was loaded connects to nobody, the new one included."""
    if ends == "the certificate":
        old = trusting(authority().signs("CN=broker", hosts=HOSTS, begins_days=-9, ends_days=-1))
    else:
        gone = authority().signs("CN=gone", is_authority=True, begins_days=-9, ends_days=-1)
        old = trusting(gone.signs("CN=broker", hosts=HOSTS))
    old = replace(old, client_auth="required")
    with monkeypatch.context() as while_it_is_good:
        while_it_is_good.setattr(reloading, "check_connects", lambda *_: None)
        tls = ListenerTls(PREFIX, old, between_nodes=True)
    still_expired = authority().signs("CN=broker", hosts=HOSTS, begins_days=-9, ends_days=-1)
    with pytest.raises(ConfigError, match="certificate has expired"):
        tls.reload(trusting(still_expired))
    assert tls.settings == old
    good = authority().signs("CN=broker", hosts=HOSTS)
    tls.reload(replace(trusting(good), client_auth="required"))
    assert tls.settings.client_auth == "required" and tls.settings != old


def test_a_client_half_shows_its_new_certificate(tmp_path: Path) -> None:
    listener = ListenerTls(PREFIX, trusting(server(), client_auth="required"))
    settings = pem_files(tmp_path, server())
    half = ClientTls(PREFIX, settings)
    renewed = authority().signs("CN=broker", hosts=HOSTS)
    pem_files(tmp_path, renewed)
    half.check(settings)
    assert shake_hands(half.context, listener.context).server.getpeercert(True) == server().der
    half.reload(settings)
    assert shake_hands(half.context, listener.context).server.getpeercert(True) == renewed.der


def test_a_client_half_keeps_its_names_and_what_it_has() -> None:
    half = ClientTls(PREFIX, trusting(server()))
    context = half.context
    other = authority().signs("CN=somebody else", hosts=HOSTS)
    with pytest.raises(ConfigError, match="distinguished name"):
        half.reload(trusting(other))
    with pytest.raises(ConfigError, match=r"listener\.name\.nodes\.ssl\.keystore"):
        half.reload(replace(trusting(server()), keystore_key=Secret("none")))
    assert half.context is context
    half.reload(pem_values(None))  # shows nothing any more
    half.reload(trusting(other))
    allows = ClientTls(PREFIX, trusting(server(), allow_dn_changes=True))
    allows.reload(trusting(other))

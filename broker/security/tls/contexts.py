"""The TLS contexts of a listener and of connections to other nodes, made from `TlsSettings`.

Owns which versions, cipher suites and certificates are accepted. Sets every option of a context
itself, because Python's defaults differ between releases. A private key reaches OpenSSL through
memory that has no name on disk, if the system has such memory (`readable_path`). Keeps no state and
never opens a socket.

- Each certificate of a truststore is trusted, even if it is an intermediate's or a node's own, as
  in Java.
- A keystore may have one key of each type (RSA, EC, Ed25519); the peer is shown the certificate
  that it can check.
- If a certificate has an extended key usage, a client's must be for clients, a server's for
  servers.
- A server that asks for certificates resumes no TLS 1.3 session, so that each connection shows a
  certificate. Python cannot turn resumption off for TLS 1.2; there a client may resume for two
  hours, as in Java. A new context, and so a reload, ends all sessions.
- A peer cannot renegotiate, because a handshake costs the server more than the client.

Follows KIP-651, KIP-573 (TLS 1.3) and, for the names, Java 17.
"""

from __future__ import annotations

import logging
import ssl
from ssl import SSLContext

from broker.config.security_settings import TlsSettings
from broker.security.tls.alerts import AlertingSSLObject
from broker.security.tls.cipher_names import (
    IGNORED_SUITES,
    NOT_SERVED,
    TLS_1_2_SUITES,
    TLS_1_3_SUITES,
)
from broker.security.tls.stores import (
    Keystore,
    keystore_key,
    load_keystore,
    load_truststore,
    trust_key,
)
from ground.config_def import ConfigError
from ground.platform_calls import readable_path

_log = logging.getLogger(f"ottla.{__name__}")

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_BROKEN_VERSIONS = ("SSL", "SSLV2", "SSLV2HELLO", "SSLV3", "TLSV1", "TLSV1.0", "TLSV1.1")
_CLIENT_AUTH = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def server_context(key_prefix: str, tls: TlsSettings) -> SSLContext:
    """Return the context of a listener whose configuration keys begin with `key_prefix`. Raises
    ConfigError if a setting is wrong or a store cannot be read."""
    return server_context_and_certificate(key_prefix, tls)[0]


def server_context_and_certificate(key_prefix: str, tls: TlsSettings) -> tuple[SSLContext, bytes]:
    """Return the context of `server_context` and the certificate that it shows, as DER.

    It is the first if there are several. Logs a warning for keys of the file that are not used.
    Raises ConfigError.
    """
    context = SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = AlertingSSLObject
    mode = _CLIENT_AUTH.get(tls.client_auth)
    if mode is None:
        name = f"{key_prefix}ssl.client.auth"
        raise ConfigError.invalid(name, tls.client_auth, "it is none, requested or required.")
    _limit(context, key_prefix, tls, _served(key_prefix, tls))
    keystore = load_keystore(key_prefix, tls)
    if keystore is None:
        name = keystore_key(key_prefix, tls)
        raise ConfigError(name, f"{name} is not set: a listener with TLS needs a certificate.")
    for key_and_chain in (keystore, *keystore.further):
        _load_key(context, key_prefix, tls, key_and_chain)
    if keystore.left_aside:
        _log.warning(
            "%s: of each type of key one is served; left aside: %s",
            keystore.key_name,
            ", ".join(keystore.left_aside),
        )
    trusted = load_truststore(key_prefix, tls)
    if mode != ssl.CERT_NONE and trusted is None:
        name = trust_key(key_prefix, tls)
        raise ConfigError(
            name, f"{name} is not set: {key_prefix}ssl.client.auth={tls.client_auth} needs it."
        )
    _trust(context, key_prefix, tls, trusted)
    context.verify_mode = mode
    context.options |= ssl.OP_NO_RENEGOTIATION
    if mode != ssl.CERT_NONE:
        context.num_tickets = 0
    return context, keystore.chain[0]


def client_context(key_prefix: str, tls: TlsSettings) -> SSLContext:
    """Return the context of a client, which checks the server's host name if
    `ssl.endpoint.identification.algorithm` is https. Without a truststore it trusts the system's
    authorities. Raises ConfigError if a setting is wrong or a store cannot be read.

    The caller must give a `server_hostname` to each connection, also for an IP address: without
    it, Python raises no error and checks no name.
    """
    return client_context_and_certificate(key_prefix, tls)[0]


def client_context_and_certificate(
    key_prefix: str, tls: TlsSettings
) -> tuple[SSLContext, bytes | None]:
    """Return the context of `client_context` and the certificate that it shows, as DER.

    None: it has none for a server that asks. Raises ConfigError.
    """
    context = SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = tls.endpoint_identification_algorithm
    if algorithm.lower() not in ("https", ""):
        name = f"{key_prefix}ssl.endpoint.identification.algorithm"
        raise ConfigError.invalid(name, algorithm, "it is https, or empty for no check.")
    context.check_hostname = bool(algorithm)
    _limit(context, key_prefix, tls, tls.cipher_suites)
    keystore = load_keystore(key_prefix, tls)
    if keystore is not None:
        for key_and_chain in (keystore, *keystore.further):
            _load_key(context, key_prefix, tls, key_and_chain)
    trusted = load_truststore(key_prefix, tls)
    if trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    _trust(context, key_prefix, tls, trusted)
    return context, None if keystore is None else keystore.chain[0]


# --- versions and cipher suites -------------------------------------------------------------------


def _served(key_prefix: str, tls: TlsSettings) -> tuple[str, ...]:
    """Return the configured suites without those with DHE, which only clients can have here. Raises
    ConfigError if suites are configured and none is left."""
    served = tuple(
        suite
        for suite in tls.cipher_suites
        if not (suite.startswith(NOT_SERVED) and suite in TLS_1_2_SUITES)
    )
    if tls.cipher_suites and not served:
        name = f"{key_prefix}ssl.cipher.suites"
        raise ConfigError(
            name, f"{name}: suites with DHE are not served; add one with ECDHE or of TLS 1.3."
        )
    return served


def _limit(context: SSLContext, key_prefix: str, tls: TlsSettings, named: tuple[str, ...]) -> None:
    """Set the context's versions, and its suites to `named`; empty: OpenSSL's defaults. Raises
    ConfigError for an unknown version or suite, or suites of none of the versions."""
    versions = _versions(key_prefix, tls)
    suites = [suite for suite in named if suite not in IGNORED_SUITES]
    if suites:
        versions = _set_suites(context, f"{key_prefix}ssl.cipher.suites", suites, versions)
    context.minimum_version = min(_VERSIONS[version] for version in versions)
    context.maximum_version = max(_VERSIONS[version] for version in versions)


def _versions(key_prefix: str, tls: TlsSettings) -> tuple[str, ...]:
    """Return the TLS versions to use: `ssl.enabled.protocols`, or those that `ssl.protocol`
    implies. Raises ConfigError for an unknown or broken version."""
    names = {"tls": "TLS", **{version.lower(): version for version in _VERSIONS}}
    protocol_name = f"{key_prefix}ssl.protocol"
    protocol = _checked_version(protocol_name, tls.protocol, names)
    if not tls.enabled_protocols:
        return ("TLSv1.2",) if protocol == "TLSv1.2" else tuple(_VERSIONS)
    del names["tls"]
    enabled_name = f"{key_prefix}ssl.enabled.protocols"
    return tuple(
        _checked_version(enabled_name, version, names) for version in tls.enabled_protocols
    )


def _checked_version(name: str, value: str, names: dict[str, str]) -> str:
    """Return the version's own spelling. Raises ConfigError for an unknown or broken version."""
    version = names.get(value.lower())
    if version is None:
        broken = value.upper() in _BROKEN_VERSIONS
        reason = f"{value} is broken and no longer served; " if broken else ""
        raise ConfigError.invalid(name, value, f"{reason}set TLSv1.2 or TLSv1.3.")
    return version


def _set_suites(
    context: SSLContext, name: str, suites: list[str], versions: tuple[str, ...]
) -> tuple[str, ...]:
    """Allow `suites` alone. Return those of `versions` that have any of them. Raises ConfigError if
    a suite is unknown or no version has any."""
    for suite in suites:
        if suite not in TLS_1_2_SUITES and suite not in TLS_1_3_SUITES:
            raise ConfigError.invalid(
                name, suite, "no such cipher suite; names are Java's (TLS_AES_256_GCM_SHA384)."
            )
    old = [TLS_1_2_SUITES[suite] for suite in suites if suite in TLS_1_2_SUITES]
    new = [suite for suite in suites if suite in TLS_1_3_SUITES]
    by_version = {"TLSv1.2": old, "TLSv1.3": new}
    usable = tuple(version for version in versions if by_version[version])
    if not usable:
        raise ConfigError(name, f"{name} has no cipher suite of {' or '.join(versions)}.")
    if "TLSv1.2" in usable:
        try:
            context.set_ciphers(":".join(old))
        except ssl.SSLError:
            raise ConfigError(name, f"{name}: OpenSSL here has none of these suites.") from None
    if "TLSv1.3" in usable:
        _set_new_suites(context, name, new)
    return usable


def _set_new_suites(context: SSLContext, name: str, suites: list[str]) -> None:
    """Set the suites of TLS 1.3, which Python can do from 3.15 on. Before 3.15, OpenSSL offers all
    of them; raises ConfigError then if `suites` leaves any out."""
    choose = getattr(context, "set_ciphersuites", None)
    if choose is not None:
        choose(":".join(suites))
        return
    offered = [suite["name"] for suite in context.get_ciphers() if suite["protocol"] == "TLSv1.3"]
    others = [suite for suite in offered if suite not in suites]
    if others:
        raise ConfigError(
            name,
            f"{name}: single suites of TLS 1.3 cannot be left out here; add {', '.join(others)}, "
            "or leave TLSv1.3 out of the enabled protocols.",
        )


# --- certificates ---------------------------------------------------------------------------------


def _load_key(context: SSLContext, key_prefix: str, tls: TlsSettings, keystore: Keystore) -> None:
    """Pass the private key and its certificates to OpenSSL.

    Raises ConfigError if they do not fit, or if the key's password is wrong, missing or needless.
    """
    key_password = f"{key_prefix}ssl.key.password"
    calls = []

    def password() -> str:
        """Return the key's password, empty if none is set; `calls` shows then that the key is
        encrypted."""
        calls.append(True)
        return "" if keystore.password is None else keystore.password.value

    chain = "".join(map(ssl.DER_cert_to_PEM_cert, keystore.chain))
    try:
        with readable_path((keystore.key_pem.value + chain).encode()) as path:
            context.load_cert_chain(path, password=password)
    except (ssl.SSLError, ValueError, OSError) as error:
        if calls:
            wrong = "is wrong" if keystore.password is not None else "is not set"
            raise ConfigError(
                key_password, f"{keystore.key_name} has an encrypted key: {key_password} {wrong}."
            ) from None
        name = keystore.key_name
        raise ConfigError(name, f"{name} cannot be used: {reason_in_words(error)}.") from None
    if keystore.password is not None and not calls:
        raise ConfigError(
            key_password, f"{key_password} is set, but {keystore.key_name} is not encrypted."
        )


def _trust(
    context: SSLContext, key_prefix: str, tls: TlsSettings, trusted: tuple[bytes, ...] | None
) -> None:
    """Make the context trust these certificates; None leaves its trust as it is.

    Raises ConfigError for a broken certificate.
    """
    context.verify_flags |= ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN
    if trusted is None:
        return
    try:
        context.load_verify_locations(cadata=b"".join(trusted))
    except (ssl.SSLError, ValueError) as error:
        name = trust_key(key_prefix, tls)
        raise ConfigError(
            name, f"{name} has a certificate that is broken: {reason_in_words(error)}."
        ) from None


_REASONS = {
    "KEY_VALUES_MISMATCH": "the first certificate is not that of the private key",
    "KEY_TYPE_MISMATCH": "the first certificate is not that of the private key",
    "EE_KEY_TOO_SMALL": "the key is too short",
    "CA_MD_TOO_WEAK": "a signature in the chain is too weak",
}


def reason_in_words(error: Exception) -> str:
    """Return OpenSSL's reason for an error in words, the system's for another OSError, without any
    of the data that OpenSSL was given."""
    reason = getattr(error, "verify_message", None) or getattr(error, "reason", None)
    if not reason:
        if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
            return str(error.strerror)
        return "it is broken"
    return _REASONS.get(reason, str(reason).lower().replace("_", " "))

"""The explanations of secured connections that could not be made or ended: cause and remedy.

Turns an error into a text. Recognizes TLS errors by their names and numbers, so that it need not
load `ssl`. Never puts a secret into a text.

Follows OpenSSL's X509_V_ERR_* numbers and names of alerts.
"""

from __future__ import annotations

_HOST_MISMATCH = (62, 64)  # of a host name, of an IP address
_NOT_YET, _EXPIRED = 9, 10
_PURPOSE = 26
_CLOSED = ("UNEXPECTED_EOF_WHILE_READING", "EOF_OCCURRED")
_NO_TLS = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
)
_HANDSHAKE_FAILURE = "SSLV3_ALERT_HANDSHAKE_FAILURE"
"""The alert that a TLS 1.2 server sends also if the client shows no certificate."""
_NO_COMMON_VERSION = (
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "UNSUPPORTED_PROTOCOL",
    "NO_PROTOCOLS_AVAILABLE",
    "TLSV1_ALERT_INSUFFICIENT_SECURITY",
    "NO_SHARED_CIPHER",
)


class ClosedBeforeAnswer(ConnectionError):
    """The listener closed the connection before its first answer."""


class ClosedInLogin(ConnectionError):
    """The listener closed the connection during the login."""


class SpeaksTls(ConnectionError):
    """The listener answered an unencrypted request with a TLS record."""


def explained(error: Exception, host: str, protocol: str, protocol_key: str) -> str:
    """Return a line with the reason why a connection to `host` failed, and the remedy if the cause
    is known. `protocol` is the security protocol that this side used; `protocol_key` is the
    configuration key that sets it."""
    setting = f"{protocol_key} says {protocol}"
    if isinstance(error, SpeaksTls):
        return f"this is a listener with TLS, but {setting}: set SSL or SASL_SSL"
    if isinstance(error, ClosedInLogin):
        return f"it closed the connection during the login: is it a listener with SASL? {setting}"
    if isinstance(error, ClosedBeforeAnswer):
        return _closed_before_answer(protocol, setting)
    code = getattr(error, "verify_code", None)
    if code is not None:
        return _untrusted_line(code, getattr(error, "verify_message", ""), host)
    reason = getattr(error, "reason", None)
    if reason is not None:
        return _handshake(str(reason), setting)
    if protocol.endswith("SSL") and isinstance(error, ConnectionResetError):
        return _closed_in_handshake(setting)
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return str(error)


def _closed_before_answer(protocol: str, setting: str) -> str:
    """Return the line for a listener that closes at once, with the likely cause; for SASL there is
    none. `setting` says in words which protocol is configured."""
    closed = "it closed the connection before its first answer"
    if protocol.startswith("SASL"):
        return closed
    if protocol == "SSL":
        return (
            f"{closed}: does it want another certificate of this side (ssl.keystore.location), or "
            f"a login? {setting}"
        )
    return f"{closed}: does it want TLS or a login? {setting}"


def _untrusted_line(code: int, message: str, host: str) -> str:
    """Return the line for a rejected certificate. `code` is OpenSSL's code of the verification."""
    if code in _HOST_MISMATCH:
        return (
            f"its certificate is not for {host}: connect by a name that the certificate has, or "
            "turn the check off by an empty ssl.endpoint.identification.algorithm"
        )
    if code in (_NOT_YET, _EXPIRED):
        return f"its {message}: it needs another one, or a clock is wrong"
    if code == _PURPOSE:
        return "its certificate is not one for servers (extended key usage serverAuth)"
    return (
        f"its certificate is not trusted ({message}): put the authority that signed it into "
        "ssl.truststore.location or ssl.truststore.certificates"
    )


def _handshake(reason: str, setting: str) -> str:
    """Return the line for a TLS error that is not about the listener's certificate. `reason` is
    OpenSSL's name of the error."""
    if reason in _CLOSED:
        return _closed_in_handshake(setting)
    if reason in _NO_TLS:
        return f"this is no listener with TLS, but {setting}"
    if reason in _NO_COMMON_VERSION:
        return (
            "both sides have no TLS version or cipher suite in common: compare "
            "ssl.enabled.protocols and ssl.cipher.suites"
        )
    if reason == _HANDSHAKE_FAILURE:
        return (
            "it ended the TLS handshake: does it want a certificate of this side "
            "(ssl.keystore.location), or another version or cipher suite (ssl.enabled.protocols, "
            "ssl.cipher.suites)?"
        )
    words = reason.removeprefix("SSLV3_").removeprefix("TLSV1_").removeprefix("TLSV13_")
    words = words.replace("_", " ").lower()
    if "ALERT" in reason:
        return (
            f"it refuses the certificate of this side ({words}): set ssl.keystore.location to one "
            "that it trusts"
        )
    return f"the TLS handshake failed ({words})"


def _closed_in_handshake(setting: str) -> str:
    """Return the line for a connection that the listener closed during the TLS handshake."""
    return (
        f"it closed the connection in the TLS handshake: is it a listener with TLS ({setting}), "
        "and does it take the certificate of this side (ssl.keystore.location)?"
    )

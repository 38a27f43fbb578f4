"""What a person is told; TLS errors are made by hand here and by TLS in the network's tests."""

from __future__ import annotations

import ssl

import pytest

from broker.security.connect_failures import (
    ClosedBeforeAnswer,
    ClosedInLogin,
    SpeaksTls,
    explained,
)


def of_tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}] {reason.lower()} (_ssl.c:1006)")
    error.reason = reason
    return error


def of_certificate(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, message
    error.reason = "CERTIFICATE_VERIFY_FAILED"
    return error


@pytest.mark.parametrize(
    ("error", "protocol", "said"),
    [
        (SpeaksTls(), "PLAINTEXT", "this is a listener with TLS, but security.protocol says"),
        (SpeaksTls(), "SASL_PLAINTEXT", "set SSL or SASL_SSL"),
        (ClosedInLogin(), "SASL_SSL", "during the login: is it a listener with SASL? sec"),
        (ClosedBeforeAnswer(), "PLAINTEXT", "before its first answer: does it want TLS or a lo"),
        (ClosedBeforeAnswer(), "SSL", "ssl.keystore.location"),
        (of_certificate(62, "Hostname mismatch"), "SSL", "its certificate is not for broker-1: "),
        (of_certificate(64, "IP address mismatch"), "SSL", "its certificate is not for broker-1"),
        (of_certificate(10, "certificate has expired"), "SSL", "its certificate has expired: "),
        (of_certificate(9, "certificate is not yet valid"), "SSL", "is not yet valid: it needs"),
        (of_certificate(26, "unsuitable"), "SSL", "its certificate is not one for servers"),
        (of_certificate(20, "unable to get"), "SSL", "is not trusted (unable to get): put the au"),
        (of_tls("WRONG_VERSION_NUMBER"), "SSL", "this is no listener with TLS, but security.pro"),
        (of_tls("UNEXPECTED_EOF_WHILE_READING"), "SASL_SSL", "in the TLS handshake: is it a lis"),
        (ConnectionResetError(), "SSL", "it closed the connection in the TLS handshake"),
        (ConnectionResetError(104, "Connection reset by peer"), "PLAINTEXT", "Connection reset by"),
        (of_tls("SSLV3_ALERT_BAD_CERTIFICATE"), "SSL", "side (alert bad certificate): set ssl.key"),
        (of_tls("TLSV13_ALERT_CERTIFICATE_REQUIRED"), "SSL", "(alert certificate required): set"),
        (of_tls("TLSV1_ALERT_UNKNOWN_CA"), "SSL", "refuses the certificate of this side (alert u"),
        (of_tls("TLSV1_ALERT_PROTOCOL_VERSION"), "SSL", "no TLS version or cipher suite in comm"),
        (of_tls("SSLV3_ALERT_HANDSHAKE_FAILURE"), "SSL", "want a certificate of this side (ssl.k"),
        (of_tls("BAD_EXTENSION"), "SSL", "the TLS handshake failed (bad extension)"),
        (ConnectionRefusedError(111, "Connection refused"), "SSL", "Connection refused"),
        (ConnectionError("Authentication failed"), "SASL_SSL", "Authentication failed"),
        (ConnectionAbortedError(), "SSL", "ConnectionAbortedError"),
        (ValueError("no host"), "SSL", "no host"),
    ],
)
def test_it_says_what_is_wrong_and_what_to_do(error: Exception, protocol: str, said: str) -> None:
    line = explained(error, "broker-1", protocol, "security.protocol")
    assert said in line
    assert "\n" not in line

"""The names in a certificate, and the principal of the peer that shows it.

Owns the text form of a distinguished name: that of Java's `X500Principal.getName()` (RFC 2253),
because users' ACLs and mapping rules have names in this form. Never checks whether a certificate is
trusted: the TLS handshake has done that.

Measured on Java 17, which differs from the RFC. Java escapes `=` and every `#`, and has attribute
names for nine object identifiers only. It writes every other attribute as `<digits>=#<hex of the
value>`. It reads texts of the five types below as UTF-8, whatever their type says.
"""

from __future__ import annotations

from broker.security.tls.der import SEQUENCE, SET, DerError, Value, object_identifier, values
from broker.security.tls.principal_mapping import PrincipalMapping
from protocol.ip_address import address_of_bytes

ANONYMOUS = "User:ANONYMOUS"
"""The principal of a peer that showed no certificate."""

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS = (0x0C, 0x13, 0x14, 0x16, 0x1E)
"""The tags of UTF8String, PrintableString, T61String, IA5String and BMPString."""

_VERSION = 0xA0
_EXTENSIONS = 0xA3
_SUBJECT_ALTERNATIVE_NAME = "2.5.29.17"
_ALTERNATIVE_NAMES = {0x81: "email", 0x82: "DNS", 0x86: "URI"}
_IP_ADDRESS = 0x87


def principal_of(der: bytes | None, mapping: PrincipalMapping) -> str | None:
    """Return the principal of a peer by its certificate, in DER (None: it showed none). Return None
    if no rule matches its name or the name cannot be read, so that it may not connect."""
    if der is None:
        return ANONYMOUS
    try:
        name = mapping.name_of(distinguished_name(der))
    except DerError:
        return None
    return None if name is None else f"User:{name}"


def distinguished_name(der: bytes) -> str:
    """Return the subject of a certificate, last part first: `CN=alice,OU=Data,O=Acme,C=AT`. Raises
    DerError."""
    subject = _to_be_signed(der)[4]
    return ",".join(_relative_name(name) for name in reversed(subject.items(SEQUENCE)))


def subject_alternative_names(der: bytes) -> tuple[str, ...]:
    """Return a certificate's subject alternative names, sorted: `DNS:localhost`, `IP:127.0.0.1`.
    Raises DerError."""
    for field in _to_be_signed(der)[5:]:
        if field.tag != _EXTENSIONS:
            continue
        for extension in _only(field.items(_EXTENSIONS)).items(SEQUENCE):
            parts = extension.items(SEQUENCE)
            if parts and object_identifier(parts[0]) == _SUBJECT_ALTERNATIVE_NAME:
                names = _only(values(parts[-1].content)).items(SEQUENCE)
                return tuple(sorted({_alternative_name(name) for name in names}))
    return ()


def _to_be_signed(der: bytes) -> list[Value]:
    """Return the fields of a certificate after its version.

    They are serial, algorithm, issuer, dates, subject and so on. Raises DerError.
    """
    signed, *_ = _only(values(der)).items(SEQUENCE) or [Value(0, b"")]
    fields = signed.items(SEQUENCE)
    if fields and fields[0].tag == _VERSION:
        del fields[0]
    if len(fields) < 6:
        raise DerError("no certificate")
    return fields


def _only(items: list[Value]) -> Value:
    """Return the only value. Raises DerError if there are none or several."""
    if len(items) != 1:
        raise DerError(f"{len(items)} values where one is wanted")
    return items[0]


def _relative_name(name: Value) -> str:
    """Return one part of a distinguished name; if it has several attributes, `+` separates them."""
    return "+".join(_attribute(attribute.items(SEQUENCE)) for attribute in name.items(SET))


def _attribute(parts: list[Value]) -> str:
    """Return a name's attribute as RFC 2253 writes it. Raises DerError if it is malformed."""
    if len(parts) != 2:
        raise DerError("no name and value")
    identifier, value = object_identifier(parts[0]), parts[1]
    keyword = _KEYWORDS.get(identifier)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or identifier}=#{value.encoded().hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    """Return the text of a name's value with the escapes that Java writes."""
    inner = text.strip(" \r")
    start = len(text) - len(text.lstrip(" \r"))
    blanks = text[:start], text[start + len(inner) :]
    before, after = ("".join(f"\\{letter}" for letter in blank) for blank in blanks)
    middle = "".join(f"\\{letter}" if letter in ',=+<>#;"\\' else letter for letter in inner)
    return before + middle.replace("\0", "\\00") + after


def _alternative_name(name: Value) -> str:
    """Return the name with its kind, such as `DNS:localhost`, or for other kinds `#` and its bytes
    in hex."""
    kind = _ALTERNATIVE_NAMES.get(name.tag)
    if kind is not None:
        return f"{kind}:{name.content.decode('ascii', 'backslashreplace')}"
    if name.tag == _IP_ADDRESS and len(name.content) in (4, 16):
        return f"IP:{address_of_bytes(name.content)}"
    return f"#{name.encoded().hex()}"

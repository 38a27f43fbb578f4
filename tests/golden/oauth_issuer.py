"""An issuer of tokens: private keys, the JWK set that it shows, and what it signs.

For tests and for `oauth_cases`. Signatures are made by hand (RFC 7518), so that also tokens can be
made that no library makes. Needs `cryptography`.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any


def base64url(data: bytes) -> str:
    """Base64 of URLs, without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int, size: int | None = None) -> str:
    return base64url(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


class Keys:
    """Private keys, the set of their public halves, and tokens that they sign."""

    def __init__(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

        self.private: dict[str, Any] = {
            "rsa": rsa.generate_private_key(65537, 2048),
            "second": rsa.generate_private_key(65537, 2048),
            "foreign": rsa.generate_private_key(65537, 2048),
            "weak": rsa.generate_private_key(65537, 1024),
            "p256": ec.generate_private_key(ec.SECP256R1()),
            "p384": ec.generate_private_key(ec.SECP384R1()),
            "p521": ec.generate_private_key(ec.SECP521R1()),
            "k1": ec.generate_private_key(ec.SECP256K1()),
            "ed": ed25519.Ed25519PrivateKey.generate(),
        }
        self.private["enc"] = self.private["sig"] = self.private["rs512"] = self.private["rsa"]
        self.private["ops"] = self.private["rsa"]

    def jwks(self) -> dict[str, Any]:
        """The public halves, as an issuer shows them."""
        extra = {
            "enc": {"use": "enc"},
            "sig": {"use": "sig"},
            "rs512": {"alg": "RS512"},
            "ops": {"key_ops": ["encrypt"]},
        }
        shown = [
            {"kid": name, **_public(key.public_key()), **extra.get(name, {})}
            for name, key in self.private.items()
            if name != "foreign"
        ]
        return {"keys": [*shown, {"kty": "oct", "kid": "oct", "k": base64url(b"s" * 64)}]}

    def sign(self, name: str, algorithm: str, data: bytes) -> bytes:
        """A signature as `algorithm` (RFC 7518) says."""
        from cryptography.hazmat.primitives import hashes, hmac
        from cryptography.hazmat.primitives.asymmetric import padding, utils

        if algorithm == "none":
            return b""
        if algorithm == "EdDSA":
            return bytes(self.private[name].sign(data))
        digest = getattr(hashes, f"SHA{algorithm[2:5]}")()
        if algorithm.startswith("HS"):
            mac = hmac.HMAC(b"s" * 64, digest)
            mac.update(data)
            return mac.finalize()
        key = self.private[name]
        if algorithm.startswith("ES"):
            size = (key.curve.key_size + 7) // 8
            r, s = utils.decode_dss_signature(key.sign(data, _ecdsa(digest)))
            return r.to_bytes(size, "big") + s.to_bytes(size, "big")
        if algorithm.startswith("PS"):
            pss = padding.PSS(padding.MGF1(digest), digest.digest_size)
            return bytes(key.sign(data, pss, digest))
        return bytes(key.sign(data, padding.PKCS1v15(), digest))

    def token(self, claims: Any, key: str = "rsa", made: str = "RS256", **header: Any) -> str:
        """A token signed by the algorithm `made`. A header of None is left out."""
        fields = {"alg": made, "typ": "JWT", "kid": key, **header}
        head = json.dumps({name: value for name, value in fields.items() if value is not None})
        signed = f"{base64url(head.encode())}.{base64url(json.dumps(claims).encode())}"
        return f"{signed}.{base64url(self.sign(key, made, signed.encode()))}"


def _ecdsa(digest: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.ECDSA(digest)


def _public(key: Any) -> dict[str, Any]:
    numbers = getattr(key, "public_numbers", None)
    if numbers is None:
        return {"kty": "OKP", "crv": "Ed25519", "x": base64url(key.public_bytes_raw())}
    values = numbers()
    if hasattr(values, "n"):
        return {"kty": "RSA", "n": _number(values.n), "e": _number(values.e)}
    size = (key.curve.key_size + 7) // 8
    names = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
    curve = names.get(key.curve.name, key.curve.name)
    point = {"x": _number(values.x, size), "y": _number(values.y, size)}
    return {"kty": "EC", "crv": curve, **point}

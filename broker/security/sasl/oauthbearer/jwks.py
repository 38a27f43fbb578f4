"""The public keys by which an issuer's tokens are checked, read from a JWK set and kept fresh.

`KeySet` is one set as it was read. `Jwks` keeps the newest of them: it reads it at the start, again
every `sasl.oauthbearer.jwks.endpoint.refresh.ms`, and sooner when a token names a key that is not
there. That token is refused and the next one finds the key, as in Kafka: no connection waits for an
issuer before it is known whose it is. Unknown ids ask for at most one reading each retry backoff.
That doubles up to its limit as long as they bring no new keys, so that a flood of made-up ids is no
flood of requests. A reading that fails leaves the old keys in use.

A core: reading is a function that comes in (`endpoint`), runs as a blocking job, and is
parsed there too. Never logs more of a URL than where it leads.

Follows RFC 7517 (JWK), RFC 7518 (algorithms), KIP-768. The signatures are PyJWT's work.
"""

from __future__ import annotations

import json
import logging
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ground.config_def import ConfigError
from ground.ports import Blocking, Scheduler, Timer

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

_log = logging.getLogger(f"ottla.{__name__}")

NEEDS_EXTRA = "signed tokens need more packages: pip install 'ottla[security]'"
RSA_BITS_MIN = 2048
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
ALGORITHMS = (*_RSA, *_CURVES.values())
"""Those of asymmetric keys. Never `none`, never HMAC: with it, whoever may check may also sign."""
_OTHER_NAMES = {"Ed25519": "EdDSA"}
"""RFC 9864's names of algorithms that tokens still have by the older one."""
_PUBLIC = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}

Fetch = Callable[[], bytes | None]
"""Reads a JWK set; None: as it was. Raises OSError. Blocks."""


class JwksError(ValueError):
    """What was read is no set of keys; `str()` says why."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key and the algorithms that it is good for."""

    kid: str | None
    checks: Mapping[str, Callable[[bytes, bytes], bool]]
    """By algorithm: whether (what was signed, the signature) fit."""


class KeySet:
    """The usable keys of a JWK set, in its order."""

    def __init__(self, keys: Sequence[VerificationKey], unusable: Mapping[str, str]) -> None:
        self._keys = tuple(keys)
        self._unusable = unusable
        self.kids = tuple(key.kid for key in keys)

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """The key of that id, or without an id the first one; that is good for the algorithm."""
        for key in self._keys:
            if (kid is None or key.kid == kid) and algorithm in key.checks:
                return key
        return None

    def why_not(self, kid: str | None) -> str | None:
        """Why the set's key of that id is of no use; None where there is none, or one of use."""
        if kid in self.kids:
            return "its key is not for this algorithm"
        return self._unusable.get(kid or "")

    @classmethod
    def parse(cls, data: bytes) -> KeySet:
        """The keys of a JWK set in JSON. Raises JwksError."""
        try:
            found = json.loads(data)
            keys = found["keys"] if isinstance(found, dict) else None
        except (ValueError, RecursionError, KeyError):
            keys = None
        if not isinstance(keys, list):
            raise JwksError("it is not a JWK set: a JSON object with a list 'keys'")
        algorithms = _algorithms()
        usable: list[VerificationKey] = []
        unusable: dict[str, str] = {}
        for entry in keys:
            kid = entry.get("kid") if isinstance(entry, dict) else None
            try:
                usable.append(_key(entry, algorithms))
            except JwksError as error:
                unusable.setdefault(kid if isinstance(kid, str) else "", str(error))
        if not usable:
            why = f": {next(iter(unusable.values()))}" if unusable else ""
            raise JwksError(f"it has no key that can check a token{why}")
        return cls(usable, unusable)


def _algorithms() -> Mapping[str, Algorithm]:
    from jwt.algorithms import get_default_algorithms, has_crypto

    if not has_crypto:
        raise ImportError("cryptography")
    known = get_default_algorithms()
    return {name: known[name] for name in ALGORITHMS}


def _key(entry: object, algorithms: Mapping[str, Algorithm]) -> VerificationKey:
    """One entry of a set. Raises JwksError where it cannot check a token."""
    if not isinstance(entry, dict):
        raise JwksError("a key is not a JSON object")
    kid, kind, operations = entry.get("kid"), entry.get("kty"), entry.get("key_ops", ["verify"])
    if not (kid is None or isinstance(kid, str)):
        raise JwksError("the id of a key is not a text")
    if not isinstance(kind, str) or kind not in _PUBLIC:
        raise JwksError("a key is neither RSA nor EC nor OKP")
    if entry.get("use", "sig") != "sig":
        raise JwksError("a key is not for signatures")
    if not isinstance(operations, list) or "verify" not in operations:
        raise JwksError("a key is not for checking signatures")
    names = _intended(entry, _names(kind, entry))
    public = {"kty": kind, **{name: entry.get(name) for name in _PUBLIC[kind]}}
    if not all(isinstance(value, str) for value in public.values()):
        raise JwksError("a key has parts that are missing")
    if kind == "RSA" and (bits := _bits(str(public["n"]))) < RSA_BITS_MIN:
        raise JwksError(f"an RSA key has {bits} bits, at least {RSA_BITS_MIN} are needed")
    return VerificationKey(kid, _checks(names, public, algorithms))


def _names(kind: str, entry: Mapping[str, object]) -> Sequence[str]:
    if kind == "RSA":
        return _RSA
    curve = entry.get("crv")
    if not isinstance(curve, str) or curve not in _CURVES:
        raise JwksError("a key is of a curve that is not supported")
    if (kind == "OKP") != (_CURVES[curve] == "EdDSA"):
        raise JwksError("a key is of a curve that is not of its type")
    return (_CURVES[curve],)


def _intended(entry: Mapping[str, object], names: Sequence[str]) -> Sequence[str]:
    """Those of `names` for which the issuer means the key: its `alg`, where it has one."""
    if "alg" not in entry:
        return names
    algorithm = entry["alg"]
    if isinstance(algorithm, str):
        algorithm = _OTHER_NAMES.get(algorithm, algorithm)
    if algorithm not in names:
        raise JwksError("a key is for an algorithm that is not taken, or not of its type")
    return (str(algorithm),)


def _checks(
    names: Sequence[str], public: Mapping[str, object], algorithms: Mapping[str, Algorithm]
) -> Mapping[str, Callable[[bytes, bytes], bool]]:
    from jwt.exceptions import PyJWTError

    try:
        key = algorithms[names[0]].from_jwk(dict(public))
    except (PyJWTError, ValueError, TypeError, OverflowError):
        raise JwksError("a key cannot be read") from None
    return {name: partial(_verified, algorithms[name], key) for name in names}


def _verified(algorithm: Algorithm, key: object, signed: bytes, signature: bytes) -> bool:
    return algorithm.verify(signed, key, signature)


def _bits(number: str) -> int:
    try:
        return int.from_bytes(
            urlsafe_b64decode(number + "=" * (-len(number) % 4)), "big"
        ).bit_length()
    except ValueError:
        raise JwksError("a key cannot be read") from None


@dataclass(frozen=True, slots=True)
class JwksTimes:
    """How often keys are read, in milliseconds."""

    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


class Jwks:
    """The newest keys of one issuer."""

    def __init__(
        self, key: str, shown_url: str, fetch: Fetch, times: JwksTimes, scheduler: Scheduler
    ) -> None:
        """`key` is the config key of the URL; `shown_url` where it leads, without its secrets.

        Reads the keys, which blocks. Raises ConfigError where they cannot be had.
        """
        self._url = shown_url
        self._fetch = fetch
        self._times = times
        self._scheduler = scheduler
        self._blocking: Blocking | None = None
        self._reading = False
        self._closed = False
        self._timer: Timer | None = None
        self._failures = 0
        self._backoff_ms = times.retry_backoff_ms
        self._asked_not_before_ms = 0.0
        try:
            keys = _read(fetch)
        except (OSError, JwksError) as error:
            raise ConfigError(
                key, f"{key}: the keys of {shown_url} cannot be read: {error}"
            ) from error
        except ImportError as error:
            raise ConfigError(key, f"{key}: {NEEDS_EXTRA}") from error
        if keys is None:
            raise ConfigError(key, f"{key}: {shown_url} has no keys")
        self.keys: KeySet = keys

    def start(self, blocking: Blocking) -> None:
        """Keep the keys fresh from now on, by jobs of `blocking`."""
        self._blocking = blocking
        self._arm(self._times.refresh_ms)

    def close(self) -> None:
        """Read no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def missing(self) -> None:
        """A token named a key that is not there: read the keys, if it is time."""
        if self._scheduler.monotonic_ms() >= self._asked_not_before_ms:
            self._submit(self._after_asking)

    def _arm(self, delay_ms: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self._closed:
            self._timer = self._scheduler.call_later(delay_ms, self._refresh)

    def _refresh(self) -> None:
        if not self._submit(lambda changed: None):
            self._arm(self._times.retry_backoff_ms)

    def _submit(self, then: Callable[[bool], None]) -> bool:
        """Read the keys elsewhere; `then` hears whether they changed. False: not now."""
        if self._reading or self._closed or self._blocking is None:
            return False

        def done(keys: KeySet | None, error: Exception | None) -> None:
            self._reading = False
            if not self._closed:
                then(self._take(keys, error))

        self._reading = True
        self._blocking.submit(partial(_read, self._fetch), done)
        return True

    def _take(self, keys: KeySet | None, error: Exception | None) -> bool:
        """Whether other keys came. Arms the timer for the next reading."""
        if error is not None:
            self._failed(error)
            return False
        if self._failures:
            _log.info("The keys of %s can be read again", self._url)
        self._failures = 0
        self._arm(self._times.refresh_ms)
        if keys is None:
            return False
        changed = keys.kids != self.keys.kids
        self.keys = keys
        return changed

    def _failed(self, error: Exception) -> None:
        if not self._failures:
            _log.warning(
                "The keys of %s cannot be read, those read before stay in use: %s", self._url, error
            )
        times = self._times
        delay_ms = _backoff(times.retry_backoff_ms, times.retry_backoff_max_ms, self._failures)
        self._failures += 1
        self._arm(delay_ms)

    def _after_asking(self, changed: bool) -> None:
        times = self._times
        if changed:
            self._backoff_ms = times.retry_backoff_ms
        self._asked_not_before_ms = self._scheduler.monotonic_ms() + self._backoff_ms
        self._backoff_ms = min(2 * self._backoff_ms, times.retry_backoff_max_ms)


def _backoff(first_ms: int, max_ms: int, failures: int) -> int:
    return min(first_ms << min(failures, 32), max_ms)


def _read(fetch: Fetch) -> KeySet | None:
    data = fetch()
    return None if data is None else KeySet.parse(data)

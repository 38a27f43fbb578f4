"""The public keys that check an issuer's tokens, read from a JWK set and refreshed.

`KeySet` is one set as it was read. `Jwks` holds the newest set: it reads the keys at the start,
again every `sasl.oauthbearer.jwks.endpoint.refresh.ms`, and sooner if a token names an unknown key.
That token is rejected and the next login finds the key, as in Kafka: no unauthenticated connection
waits for an issuer. Unknown key ids cause at most one reading each retry backoff. The backoff
doubles up to its limit while the readings bring no new keys, so that a flood of invented ids is no
flood of requests. If a reading fails, the old keys stay in use.

The caller gives the function that reads (`endpoint`); a blocking job reads and parses. Never logs
the secret parts of a URL.

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
from ottla.launcher import needs_packages

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

_log = logging.getLogger(f"ottla.{__name__}")

RSA_BITS_MIN = 2048
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
ALGORITHMS = (*_RSA, *_CURVES.values())
"""The accepted algorithms, all with asymmetric keys. Never `none`, and never HMAC, whose key checks
and signs."""
_OTHER_NAMES = {"Ed25519": "EdDSA"}
"""The new names of RFC 9864 for algorithms that tokens name by the older name."""
_PUBLIC = {"RSA": ("n", "e"), "EC": ("crv", "x", "y"), "OKP": ("crv", "x")}

Fetch = Callable[[], bytes | None]
"""A function that reads a JWK set, and returns None if it is unchanged. Blocks. Raises OSError."""


class JwksError(ValueError):
    """A text that is no JWK set, or a key that cannot check tokens; `str()` says why."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key and the algorithms that it may be used for."""

    kid: str | None
    checks: Mapping[str, Callable[[bytes, bytes], bool]]
    """By algorithm, a function of signed bytes and signature: whether the signature is valid."""


class KeySet:
    """The usable keys of a JWK set, in its order."""

    def __init__(self, keys: Sequence[VerificationKey], unusable: Mapping[str, str]) -> None:
        """Create the set of usable keys. `unusable` maps the id of each other key (empty: it has no
        id) to the reason why it cannot be used."""
        self._keys = tuple(keys)
        self._unusable = unusable
        self.kids = tuple(key.kid for key in keys)

    def find(self, kid: str | None, algorithm: str) -> VerificationKey | None:
        """Return the first key with this id (None: any id) that may be used for `algorithm`; None:
        there is none."""
        for key in self._keys:
            if (kid is None or key.kid == kid) and algorithm in key.checks:
                return key
        return None

    def why_not(self, kid: str | None) -> str | None:
        """Return why `find` refused the set's key with this id; None: no key has this id."""
        if kid in self.kids:
            return "its key is not for this algorithm"
        return self._unusable.get(kid or "")

    @classmethod
    def parse(cls, data: bytes) -> KeySet:
        """Return the keys of a JWK set in JSON. Raises JwksError if no key can be used, ImportError
        without the libraries for signatures."""
        try:
            jwk_set = json.loads(data)
            keys = jwk_set["keys"] if isinstance(jwk_set, dict) else None
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
    """Return PyJWT's implementations of ALGORITHMS by name. Raises ImportError without PyJWT or
    cryptography."""
    from jwt.algorithms import get_default_algorithms, has_crypto

    if not has_crypto:
        raise ImportError("cryptography")
    defaults = get_default_algorithms()
    return {name: defaults[name] for name in ALGORITHMS}


def _key(entry: object, algorithms: Mapping[str, Algorithm]) -> VerificationKey:
    """Return the key of one entry of a set. Raises JwksError if it cannot check tokens."""
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
    names = _intended(entry, _algorithm_names(kind, entry))
    public = {"kty": kind, **{name: entry.get(name) for name in _PUBLIC[kind]}}
    if not all(isinstance(value, str) for value in public.values()):
        raise JwksError("a key has parts that are missing")
    if kind == "RSA" and (bits := _bit_length(str(public["n"]))) < RSA_BITS_MIN:
        raise JwksError(f"an RSA key has {bits} bits, at least {RSA_BITS_MIN} are needed")
    return VerificationKey(kid, _signature_checks(names, public, algorithms))


def _algorithm_names(kind: str, entry: Mapping[str, object]) -> Sequence[str]:
    """Return the algorithms that a key's type and curve allow.

    Raises JwksError for another curve.
    """
    if kind == "RSA":
        return _RSA
    curve = entry.get("crv")
    if not isinstance(curve, str) or curve not in _CURVES:
        raise JwksError("a key is of a curve that is not supported")
    if (kind == "OKP") != (_CURVES[curve] == "EdDSA"):
        raise JwksError("a key is of a curve that is not of its type")
    return (_CURVES[curve],)


def _intended(entry: Mapping[str, object], names: Sequence[str]) -> Sequence[str]:
    """Return the key's `alg` alone, if it has one, else all of `names`. Raises JwksError if `alg`
    is not among them."""
    if "alg" not in entry:
        return names
    algorithm = entry["alg"]
    if isinstance(algorithm, str):
        algorithm = _OTHER_NAMES.get(algorithm, algorithm)
    if algorithm not in names:
        raise JwksError("a key is for an algorithm that is not taken, or not of its type")
    return (str(algorithm),)


def _signature_checks(
    names: Sequence[str], public: Mapping[str, object], algorithms: Mapping[str, Algorithm]
) -> Mapping[str, Callable[[bytes, bytes], bool]]:
    """Return by algorithm a function of signed bytes and signature that returns whether the
    signature is valid. Raises JwksError if the key cannot be read."""
    from jwt.exceptions import PyJWTError

    try:
        key = algorithms[names[0]].from_jwk(dict(public))
    except (PyJWTError, ValueError, TypeError, OverflowError):
        raise JwksError("a key cannot be read") from None
    return {name: partial(_verified, algorithms[name], key) for name in names}


def _verified(algorithm: Algorithm, key: object, signed: bytes, signature: bytes) -> bool:
    """Return whether `signature` is that of `key` for the bytes `signed`."""
    return algorithm.verify(signed, key, signature)


def _bit_length(number: str) -> int:
    """Return the number of bits that a base64url number has. Raises JwksError if it cannot be
    decoded."""
    try:
        return int.from_bytes(
            urlsafe_b64decode(number + "=" * (-len(number) % 4)), "big"
        ).bit_length()
    except ValueError:
        raise JwksError("a key cannot be read") from None


@dataclass(frozen=True, slots=True)
class JwksTimes:
    """The times between two readings of the keys."""

    refresh_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int


class Jwks:
    """The newest keys of one issuer."""

    def __init__(
        self, key: str, shown_url: str, fetch: Fetch, times: JwksTimes, scheduler: Scheduler
    ) -> None:
        """Read the keys, which blocks. Raises ConfigError if they cannot be read.

        `key` is the configuration key of the URL; `shown_url` is the URL without its secrets.
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
        self._next_search_ms = 0.0
        try:
            keys = _read_keys(fetch)
        except (OSError, JwksError) as error:
            raise ConfigError(
                key, f"{key}: the keys of {shown_url} cannot be read: {error}"
            ) from error
        except ImportError as error:
            text = needs_packages(f"{key}: signed tokens need", "cryptography", "PyJWT")
            raise ConfigError(key, text) from error
        if keys is None:
            raise ConfigError(key, f"{key}: {shown_url} has no keys")
        self.keys: KeySet = keys

    def start(self, blocking: Blocking) -> None:
        """Read the keys again every `refresh_ms`, and for unknown key ids, by jobs of `blocking`
        from now on."""
        self._blocking = blocking
        self._arm(self._times.refresh_ms)

    def close(self) -> None:
        """Stop reading keys."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def refresh_for_unknown_key(self) -> None:
        """Begin to read the keys in a thread because a token named an unknown key. Do nothing while
        the backoff after an earlier search lasts, or while a reading is in progress."""
        if self._scheduler.monotonic_ms() >= self._next_search_ms:
            self._submit(self._delay_next_search)

    def _arm(self, delay_ms: float) -> None:
        """Read the keys again after `delay_ms`, in place of an earlier timer. After `close`, set no
        timer."""
        if self._timer is not None:
            self._timer.cancel()
        if not self._closed:
            self._timer = self._scheduler.call_later(delay_ms, self._refresh)

    def _refresh(self) -> None:
        """Read the keys in a thread, or try later if a reading is in progress."""
        if not self._submit(lambda changed: None):
            self._arm(self._times.retry_backoff_ms)

    def _submit(self, then: Callable[[bool], None]) -> bool:
        """Read the keys in a thread, and use them if they can be read; then call `then` with
        whether the key ids changed. Return False, without reading, while a reading is in progress,
        before `start` and after `close`."""
        if self._reading or self._closed or self._blocking is None:
            return False

        def done(keys: KeySet | None, error: Exception | None) -> None:
            """Use the keys or log the error, and call `then`, unless `close` came first."""
            self._reading = False
            if not self._closed:
                then(self._take(keys, error))

        self._reading = True
        self._blocking.submit(partial(_read_keys, self._fetch), done)
        return True

    def _take(self, keys: KeySet | None, error: Exception | None) -> bool:
        """Replace `keys` by the keys that were read (None: they are unchanged), or log the error.
        Set the timer for the next reading. Return whether the key ids changed, False after an
        error. Of several errors in a row only the first is logged."""
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
        """Keep the old keys and retry after a growing delay.

        Logs a warning for only the first of several failures.
        """
        if not self._failures:
            _log.warning(
                "The keys of %s cannot be read, those read before stay in use: %s", self._url, error
            )
        times = self._times
        delay_ms = _backoff_after(
            times.retry_backoff_ms, times.retry_backoff_max_ms, self._failures
        )
        self._failures += 1
        self._arm(delay_ms)

    def _delay_next_search(self, changed: bool) -> None:
        """Set the earliest time of the next search for an unknown key.

        Searches that find no new keys follow at growing distances.
        """
        times = self._times
        if changed:
            self._backoff_ms = times.retry_backoff_ms
        self._next_search_ms = self._scheduler.monotonic_ms() + self._backoff_ms
        self._backoff_ms = min(2 * self._backoff_ms, times.retry_backoff_max_ms)


def _backoff_after(first_ms: int, max_ms: int, failures: int) -> int:
    """Return the delay after this number of failures, in ms: it doubles up to `max_ms`."""
    return min(first_ms << min(failures, 32), max_ms)


def _read_keys(fetch: Fetch) -> KeySet | None:
    """Fetch and parse the keys, which blocks. None: the issuer's keys have not changed. Raises
    OSError if they cannot be fetched, JwksError if none can be used, and ImportError."""
    data = fetch()
    return None if data is None else KeySet.parse(data)

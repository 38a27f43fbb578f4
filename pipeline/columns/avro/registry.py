"""A schema registry, asked over HTTP: which schema has an id, and which is a subject's latest.

The REST interface is Confluent's (`/schemas/ids/ID`, `/subjects/SUBJECT/versions/latest`), which
Karapace, Apicurio and Redpanda speak too. Owns the connection's time-out; keeps no schema.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass

from pipeline.errors import PipelineError, Unreachable

TIMEOUT_S = 10.0
_BYTES_MAX = 10_000_000
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
_NOT_FOUND = 404
_REFUSED = (401, 403)
_SERVER_ERROR = 500
"""The first status code with which the registry, or a proxy before it, reports its own failure."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The registry at `url`, which may hold `user:password@`."""

    url: str
    timeout_s: float = TIMEOUT_S

    def check(self) -> None:
        """PipelineError for an address that cannot be one."""
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise PipelineError(f"--registry {self.place}: http://HOST:PORT is wanted")

    @property
    def place(self) -> str:
        """The address without user and password, for what is said."""
        parts = urllib.parse.urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def by_id(self, number: int) -> str | None:
        """The Avro schema of an id, None where the registry has none. PipelineError else."""
        found = self._get(f"/schemas/ids/{number}")
        return None if found is None else self._avro(found, f"schema id {number}")

    def latest(self, subject: str) -> tuple[int, str]:
        """Id and schema of a subject's latest version. PipelineError where there is none."""
        quoted = urllib.parse.quote(subject, safe="")
        found = self._get(f"/subjects/{quoted}/versions/latest")
        if found is None:
            raise PipelineError(
                f"--registry {self.place} has no subject {subject}: name another with --subject, "
                "or give the readers' schema with --schema"
            )
        number = found.get("id")
        if not isinstance(number, int):
            raise self._no_registry()
        return number, self._avro(found, f"subject {subject}")

    def _avro(self, found: dict[str, object], what: str) -> str:
        kind, text = found.get("schemaType", "AVRO"), found.get("schema")
        if kind != "AVRO":
            raise PipelineError(f"--registry {self.place}: {what} is {kind}, not AVRO")
        if found.get("references"):
            raise PipelineError(
                f"--registry {self.place}: {what} refers to other subjects, which is not read: "
                "register a schema that holds all its types"
            )
        if not isinstance(text, str):
            raise self._no_registry()
        return text

    def _get(self, path: str) -> dict[str, object] | None:
        """The answer to a GET; None where there is no such thing."""
        request = urllib.request.Request(self._address(path), headers=self._headers())  # noqa: S310 - checked
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:  # noqa: S310 - checked
                found = json.loads(answer.read(_BYTES_MAX))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == _NOT_FOUND:
                    return None
                advice = ": give http://USER:PASSWORD@HOST" if error.code in _REFUSED else ""
            kind = Unreachable if error.code >= _SERVER_ERROR else PipelineError
            raise kind(
                f"--registry {self.place} answers {error.code} {error.reason}{advice}"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            told = getattr(why, "strerror", None) or str(why) or "time-out"
            # A certificate that is refused is refused the next time, too.
            kind = PipelineError if isinstance(why, ssl.SSLError) else Unreachable
            raise kind(f"--registry {self.place} does not answer: {told}") from error
        except ValueError as error:
            raise self._no_registry() from error
        if not isinstance(found, dict):
            raise self._no_registry()
        return found

    def _address(self, path: str) -> str:
        return self.place.rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        parts = urllib.parse.urlsplit(self.url)
        if not parts.username:
            return {"Accept": _ACCEPT}
        pair = ":".join(urllib.parse.unquote(one or "") for one in (parts.username, parts.password))
        token = base64.b64encode(pair.encode()).decode()
        return {"Accept": _ACCEPT, "Authorization": f"Basic {token}"}

    def _no_registry(self) -> PipelineError:
        return PipelineError(f"--registry {self.place} answers as no schema registry does")

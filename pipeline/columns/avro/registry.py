"""A client of a schema registry over HTTP, for the schema of an id and the latest of a subject.

The REST interface is Confluent's (`/schemas/ids/ID`, `/subjects/SUBJECT/versions/latest`), which
Karapace, Apicurio and Redpanda implement too. Owns the connection's time-out; keeps no schema.
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
        """Raise PipelineError if the address is no URL of HTTP with a host."""
        parts = urllib.parse.urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise PipelineError(f"--registry {self.place}: http://HOST:PORT is wanted")

    @property
    def place(self) -> str:
        """The address without user and password, for messages."""
        parts = urllib.parse.urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def by_id(self, number: int) -> str | None:
        """Return the Avro schema of an id, None if the registry does not have the id.

        Raises Unreachable if the registry does not answer or reports its own failure, PipelineError
        for other failures.
        """
        entry = self._get(f"/schemas/ids/{number}")
        return None if entry is None else self._avro(entry, f"schema id {number}")

    def latest(self, subject: str) -> tuple[int, str]:
        """Return the id and the schema of a subject's latest version. Raises PipelineError if there
        is none, or as `by_id`."""
        quoted = urllib.parse.quote(subject, safe="")
        entry = self._get(f"/subjects/{quoted}/versions/latest")
        if entry is None:
            raise PipelineError(
                f"--registry {self.place} has no subject {subject}: name another with --subject, "
                "or give the readers' schema with --schema"
            )
        number = entry.get("id")
        if not isinstance(number, int):
            raise self._no_registry()
        return number, self._avro(entry, f"subject {subject}")

    def _avro(self, entry: dict[str, object], what: str) -> str:
        kind, text = entry.get("schemaType", "AVRO"), entry.get("schema")
        if kind != "AVRO":
            raise PipelineError(f"--registry {self.place}: {what} is {kind}, not AVRO")
        if entry.get("references"):
            raise PipelineError(
                f"--registry {self.place}: {what} refers to other subjects, which is not read: "
                "register a schema that holds all its types"
            )
        if not isinstance(text, str):
            raise self._no_registry()
        return text

    def _get(self, path: str) -> dict[str, object] | None:
        """Return the JSON object that a GET returns, None for status 404. Raises PipelineError as
        `by_id`."""
        request = urllib.request.Request(self._address(path), headers=self._headers())  # noqa: S310 - checked
        try:
            with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:  # noqa: S310 - checked
                entry = json.loads(answer.read(_BYTES_MAX))
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
            reason = getattr(why, "strerror", None) or str(why) or "time-out"
            # A retry does not help: a rejected certificate would be rejected again.
            kind = PipelineError if isinstance(why, ssl.SSLError) else Unreachable
            raise kind(f"--registry {self.place} does not answer: {reason}") from error
        except ValueError as error:
            raise self._no_registry() from error
        if not isinstance(entry, dict):
            raise self._no_registry()
        return entry

    def _address(self, path: str) -> str:
        return self.place.rstrip("/") + path

    def _headers(self) -> dict[str, str]:
        parts = urllib.parse.urlsplit(self.url)
        if not parts.username:
            return {"Accept": _ACCEPT}
        pair = ":".join(
            urllib.parse.unquote(part or "") for part in (parts.username, parts.password)
        )
        token = base64.b64encode(pair.encode()).decode()
        return {"Accept": _ACCEPT, "Authorization": f"Basic {token}"}

    def _no_registry(self) -> PipelineError:
        return PipelineError(f"--registry {self.place} answers as no schema registry does")

"""APIs whose code is loaded with the first request for one of them.

Admin requests come late or never, so the broker's start does not load their modules. Their versions
are those of `STABLE_VERSIONS`; a test keeps them equal to the versions of the loaded APIs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from broker.requests.context import Api, RequestContext, Respond
from protocol.api_keys import STABLE_VERSIONS, ApiKey, messages_of
from protocol.errors import ErrorCode


class DeferredApis:
    """A stand-in for the APIs that `load()` returns, which have exactly these keys."""

    def __init__(self, keys: Sequence[ApiKey], load: Callable[[], Sequence[Api]]) -> None:
        """Serve the APIs of `keys`. `load()` imports and returns them, and is called with the first
        request for one of them."""
        self._keys = keys
        self._load = load
        self._loaded: dict[ApiKey, Api] = {}

    def apis(self) -> list[Api]:
        """Return the APIs with the version ranges of Kafka, without loading their code."""
        return [
            Api(key, *STABLE_VERSIONS[key], partial(self._handle, key), partial(self._refuse, key))
            for key in self._keys
        ]

    def _loaded_api(self, key: ApiKey) -> Api:
        """Return the API with its handler; the first call loads the code of all of them."""
        if not self._loaded:
            self._loaded = {api.key: api for api in self._load()}
        return self._loaded[key]

    def _handle(self, key: ApiKey, context: RequestContext, request: Any, respond: Respond) -> None:
        """Let the API handle the request. The first call loads the code of all these APIs."""
        self._loaded_api(key).handle(context, request, respond)

    def _refuse(self, key: ApiKey, request: Any, code: ErrorCode) -> Any:
        """Return a response that reports `code` for the whole request. The first call loads the
        code of all these APIs."""
        refuse = self._loaded_api(key).refuse
        if refuse is not None:
            return refuse(request, code)
        response = messages_of(key).response()
        response.error_code = int(code)
        return response

"""Requests that are known before they come: the one table of what is prepared for them.

A client that sends a record a request, or reads on, sends the same bytes again and again but for a
few numbers. When the general way of an API has answered the first request of such a kind, the API
may say how the next ones are answered (`Api.prepare`); they are taken apart by their shape
(`protocol.frames.frame_shape`) and answered with no messages in between.

Nobody profits from what another one may do. The key is who asks (`identity_of`: all that
permissions and quotas judge by), then the shape and its fixed bytes. An entry carries the epoch of
`broker.requests.admission` that was read before its first request was judged; once that has moved
on, for whatever reason, the next request goes the general way and is judged again.

Owns the entries, in at most `ottla.prepared.requests.max.bytes`. Where that is full, a generation
ends: half of it is freed, beginning with what was used least, and each use counts half from then
on. So who asks once or twice with each of many client ids flushes nobody who goes on asking. One
identity has a quarter of the table at most, and makes room among its own entries.

Never knows an API, or catches: `broker.requests.request_handler` does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from struct import Struct

from broker.requests.admission import Admission
from broker.requests.context import Asker, AskingConnection, LastAsker, PreparedRequest
from broker.requests.request_times import RequestMetrics
from protocol.frames.frame_shape import Fixed, Shape, Values

ENTRY_BYTES = 1536
"""What an entry takes, beside its fixed bytes: about that much."""
_HEADER_BYTES = 10
_SHARES = 4

Kind = tuple[int, bytes, Fixed]
"""API key and version as one number, the client id as in the frame, and all else that is fixed."""

_header = Struct(">i4xh").unpack_from  # API key and version, correlation id, the client id's length


def identity_of(asker: Asker, client_id: bytes) -> Hashable:
    """Who asks: all that permissions and quotas judge by. `client_id` as in the frame, its length
    first."""
    return (
        asker.principal,
        asker.client_host,
        asker.listener_name,
        asker.security_protocol,
        client_id,
    )


class Entry:
    """What is prepared for one kind of request of one identity."""

    __slots__ = ("epoch", "metrics", "request", "size", "uses")

    def __init__(
        self, request: PreparedRequest, epoch: int, metrics: RequestMetrics, size: int
    ) -> None:
        self.request = request
        self.epoch = epoch
        self.metrics = metrics
        self.size = size
        self.uses = 0
        """In this generation, and half of those before."""


class _Identity:
    """One of those who ask."""

    __slots__ = ("by_api", "key", "size")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.by_api: dict[int, list[tuple[Shape, dict[Fixed, Entry]]]] = {}
        """By API key and version as one number, then by what is asked."""
        self.size = 0

    def entries(self) -> Iterator[tuple[_Identity, int, dict[Fixed, Entry], Fixed, Entry]]:
        """All of them, with where they are."""
        for api, shapes in self.by_api.items():
            for _, entries in shapes:
                for fixed, entry in entries.items():
                    yield self, api, entries, fixed, entry

    def entries_of(self, api: int, shape: Shape) -> dict[Fixed, Entry]:
        """Those of one shape."""
        shapes = self.by_api.setdefault(api, [])
        for known, entries in shapes:
            if known == shape:
                return entries
        shapes.append((shape, {}))
        return shapes[-1][1]

    def drop(self, api: int, entries: dict[Fixed, Entry], fixed: Fixed) -> int:
        """Let go of an entry; how many bytes that freed."""
        freed = entries.pop(fixed).size
        self.size -= freed
        if not entries:
            self.by_api[api] = [one for one in self.by_api[api] if one[1]]
        return freed


class PreparedRequests:
    """See the module."""

    def __init__(
        self,
        admission: Admission,
        max_bytes: int,
        identity: Callable[[Asker, bytes], Hashable] = identity_of,
    ) -> None:
        self._admission = admission
        self._max_bytes = max_bytes
        self._identity_of = identity
        self._identities: dict[Hashable, _Identity] = {}
        self.size = 0
        """Bytes that are taken."""

    def __len__(self) -> int:
        return sum(1 for identity in self._identities.values() for _ in identity.entries())

    def find(self, asker: AskingConnection, frame: memoryview) -> tuple[Entry, Values] | None:
        """What is prepared for this request, and what is in its holes."""
        last = asker.last
        if last.principal != asker.principal or len(frame) < last.size:
            return self._find_anew(asker, frame)
        api, client_id = last.header(frame)
        # One without entries is not the table's any more, and another may have its place.
        if client_id != last.client_id or not last.identity.size:
            return self._find_anew(asker, frame)
        # Nearly all that comes is of the kind of the request before.
        if api == last.api and (matched := last.match(frame)) is not None:
            entry: Entry | None = last.entries.get(matched[0])
            if entry is not None and entry.epoch == self._admission.epoch:
                entry.uses += 1
                return entry, matched[1]
        return self._find_of(last, last.identity, api, frame)

    def _find_anew(self, asker: AskingConnection, frame: memoryview) -> tuple[Entry, Values] | None:
        if len(frame) < _HEADER_BYTES:
            return None
        api, length = _header(frame)
        client_id = frame[8 : _HEADER_BYTES + max(length, 0)].tobytes()
        identity = self._identities.get(self._identity_of(asker, client_id))
        if identity is None:
            return None
        asker.last.keep(asker.principal, client_id, identity)
        return self._find_of(asker.last, identity, api, frame)

    def _find_of(
        self, last: LastAsker, identity: _Identity, api: int, frame: memoryview
    ) -> tuple[Entry, Values] | None:
        for shape, entries in identity.by_api.get(api, ()):
            matched = shape.match(frame)
            if matched is None:
                continue
            fixed, values = matched
            entry = entries.get(fixed)
            if entry is None:
                continue
            if entry.epoch != self._admission.epoch:
                self.size -= identity.drop(api, entries, fixed)
                if not identity.size:
                    del self._identities[identity.key]
                return None
            entry.uses += 1
            last.keep_kind(api, shape.match, entries)
            return entry, values
        return None

    def forget(self, asker: AskingConnection, frame: memoryview) -> None:
        """Prepare nothing for this request: it failed."""
        found = self.find(asker, frame)
        if found is not None:
            found[0].epoch = -1

    def remember(
        self,
        asker: Asker,
        kind: Kind,
        request: PreparedRequest,
        epoch: int,
        metrics: RequestMetrics,
    ) -> None:
        """Prepare for requests that are like one that was answered. `kind` is `kind_of` that one;
        `epoch` was read before it was judged."""
        admission = self._admission
        if epoch != admission.epoch or not admission.may_prepare:
            return
        api, client_id, fixed = kind
        fixed_bytes = len(fixed) if isinstance(fixed, bytes) else sum(map(len, fixed))
        size = ENTRY_BYTES + len(client_id) + fixed_bytes
        share = self._max_bytes // _SHARES
        if size > share:
            return
        key = self._identity_of(asker, client_id)
        identity = self._identities.get(key)
        if identity is None:
            identity = self._identities[key] = _Identity(key)
        entries = identity.entries_of(api, request.shape)
        old = entries.pop(fixed, None)
        taken = size - (0 if old is None else old.size)
        entries[fixed] = Entry(request, epoch, metrics, size)
        identity.size += taken
        self.size += taken
        if identity.size > share:
            self._make_room([identity], share)
        if self.size > self._max_bytes:
            self._make_room(list(self._identities.values()), self._max_bytes)
            self._identities = {k: one for k, one in self._identities.items() if one.size}

    def _make_room(self, identities: list[_Identity], most: int) -> None:
        """Free half of what these may have: what was used least, and of that what came last."""
        left = sum(identity.size for identity in identities)
        found = [one for identity in identities for one in identity.entries()]
        found.reverse()
        found.sort(key=lambda one: one[-1].uses)
        for identity, api, entries, fixed, entry in found:
            if left > most // 2:
                freed = identity.drop(api, entries, fixed)
                left -= freed
                self.size -= freed
            else:
                entry.uses //= 2


def kind_of(shape: Shape, frame: memoryview) -> Kind | None:
    """What requests of this kind have in common with the one in `frame`; None where it is not of
    that shape."""
    matched = shape.match(frame)
    if matched is None:
        return None
    api, length = _header(frame)
    return api, bytes(frame[8 : _HEADER_BYTES + max(length, 0)]), matched[0]

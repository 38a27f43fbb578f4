"""The table of prepared requests: kinds of requests that are answered from their bytes alone.

A client that sends one record per request, or fetches one partition, sends the same bytes again and
again except for a few numbers. After an API has answered the first request of a kind in the general
way, it may say how further ones are answered (`Api.prepare`). The frames of these are split by
their shape (`protocol.frames.frame_shape`) and answered without decoding them to messages.

No client gains by another client's rights. The key is the client's identity (`identity_of`:
everything by which permissions and quotas judge), then the shape and its fixed bytes. An entry has
the epoch of `broker.requests.admission` that was read before its first request was judged. After
that epoch has changed, for any reason, the next request goes the general way and is judged again.

It owns the entries, at most `ottla.prepared.requests.max.bytes` of them. When the table is full, a
generation ends: half of the table is freed, the least used entries first, and earlier uses count
half from then on. So a client that sends one or two requests with each of many client ids does not
evict busy clients. An identity has at most a quarter of the table, and evicts its own entries.

It never knows an API, and it catches no exceptions: `broker.requests.request_handler` does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from struct import Struct

from broker.requests.admission import Admission
from broker.requests.context import ClientIdentity, LastClient, PreparedRequest, RequestSource
from broker.requests.request_times import RequestMetrics
from protocol.frames.frame_shape import Fixed, Shape, Values

ENTRY_BYTES = 1536
"""The approximate size of an entry, without its fixed bytes."""
_HEADER_BYTES = 10
_SHARES = 4

Kind = tuple[int, bytes, Fixed]
"""API key and version as one number, the client id as in the frame, and all other fixed bytes."""

_header = Struct(">i4xh").unpack_from  # API key and version, correlation id, the client id's length


def identity_of(client: ClientIdentity, client_id: bytes) -> Hashable:
    """Return the identity by which permissions and quotas judge. `client_id` is as in the frame,
    with its length first."""
    return (
        client.principal,
        client.client_host,
        client.listener_name,
        client.security_protocol,
        client_id,
    )


class PreparedEntry:
    """A kind of request of one identity, with its prepared answer."""

    __slots__ = ("epoch", "metrics", "request", "size", "uses")

    def __init__(
        self, request: PreparedRequest, epoch: int, metrics: RequestMetrics, size: int
    ) -> None:
        self.request = request
        self.epoch = epoch
        self.metrics = metrics
        self.size = size
        self.uses = 0
        """The number of uses in this generation, plus half of that in earlier ones."""


class _Identity:
    """The entries of one client identity."""

    __slots__ = ("by_api", "key", "size")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.by_api: dict[int, list[tuple[Shape, dict[Fixed, PreparedEntry]]]] = {}
        """The entries by API key and version as one number, then by shape and fixed bytes."""
        self.size = 0

    def entries(
        self,
    ) -> Iterator[tuple[_Identity, int, dict[Fixed, PreparedEntry], Fixed, PreparedEntry]]:
        """Yield for each entry: this identity, the API, the dict with the entry, its key there, and
        the entry."""
        for api, shapes in self.by_api.items():
            for _, entries in shapes:
                for fixed, entry in entries.items():
                    yield self, api, entries, fixed, entry

    def entries_of(self, api: int, shape: Shape) -> dict[Fixed, PreparedEntry]:
        """Return the entries of a shape by their fixed bytes. Add an empty dict for a new shape."""
        shapes = self.by_api.setdefault(api, [])
        for other_shape, entries in shapes:
            if other_shape == shape:
                return entries
        shapes.append((shape, {}))
        return shapes[-1][1]

    def drop(self, api: int, entries: dict[Fixed, PreparedEntry], fixed: Fixed) -> int:
        """Remove an entry from `entries` and its size from this identity. Return that size in
        bytes."""
        freed = entries.pop(fixed).size
        self.size -= freed
        if not entries:
            self.by_api[api] = [
                shape_entries for shape_entries in self.by_api[api] if shape_entries[1]
            ]
        return freed


class PreparedRequests:
    """The table of prepared requests of one node."""

    def __init__(
        self,
        admission: Admission,
        max_bytes: int,
        identity: Callable[[ClientIdentity, bytes], Hashable] = identity_of,
    ) -> None:
        self._admission = admission
        self._max_bytes = max_bytes
        self._identity_of = identity
        self._identities: dict[Hashable, _Identity] = {}
        self.size = 0
        """The bytes that all entries take."""

    def __len__(self) -> int:
        return sum(1 for identity in self._identities.values() for _ in identity.entries())

    def find(self, source: RequestSource, frame: memoryview) -> tuple[PreparedEntry, Values] | None:
        """Return the entry that is prepared for this request, and the values in its holes; None if
        there is none. Count a use of the entry. Remove an entry from before the last change of
        rights or quotas."""
        last = source.last
        if last.principal != source.principal or len(frame) < last.size:
            return self._find_by_identity(source, frame)
        api, client_id = last.header(frame)
        # An identity without entries is no longer in the table; a new one may be there instead.
        if client_id != last.client_id or not last.identity.size:
            return self._find_by_identity(source, frame)
        # Nearly all requests are of the same kind as the request before.
        if api == last.api and (matched := last.match(frame)) is not None:
            entry: PreparedEntry | None = last.entries.get(matched[0])
            if entry is not None and entry.epoch == self._admission.epoch:
                entry.uses += 1
                return entry, matched[1]
        return self._find_of(last, last.identity, api, frame)

    def _find_by_identity(
        self, source: RequestSource, frame: memoryview
    ) -> tuple[PreparedEntry, Values] | None:
        """Return the entry and the values for a request of another client than the source's last;
        None if nothing is prepared.

        If that client has entries, it becomes `source.last`.
        """
        if len(frame) < _HEADER_BYTES:
            return None
        api, length = _header(frame)
        client_id = frame[8 : _HEADER_BYTES + max(length, 0)].tobytes()
        identity = self._identities.get(self._identity_of(source, client_id))
        if identity is None:
            return None
        source.last.keep(source.principal, client_id, identity)
        return self._find_of(source.last, identity, api, frame)

    def _find_of(
        self, last_client: LastClient, identity: _Identity, api: int, frame: memoryview
    ) -> tuple[PreparedEntry, Values] | None:
        """Return the matching entry of the client and the values of its holes, or None. Count a
        use, and set the kind of `last_client`.

        An entry that was prepared before rights or quotas changed is removed.
        """
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
            last_client.keep_kind(api, shape.match, entries)
            return entry, values
        return None

    def invalidate(self, source: RequestSource, frame: memoryview) -> None:
        """Invalidate the entry for this request, because its answer failed. The next such request
        is handled in the general way, and may be prepared again."""
        match = self.find(source, frame)
        if match is not None:
            match[0].epoch = -1

    def remember(
        self,
        client: ClientIdentity,
        kind: Kind,
        request: PreparedRequest,
        epoch: int,
        metrics: RequestMetrics,
    ) -> None:
        """Add an entry for requests of `kind`, which `kind_of` returned. `epoch` was read before
        the first of them was judged.

        No effect if that epoch is over, if nothing may be prepared, or if the entry is too large.
        If the client's share or the table is full, evict the least used entries.
        """
        admission = self._admission
        if epoch != admission.epoch or not admission.may_prepare:
            return
        api, client_id, fixed = kind
        fixed_bytes = len(fixed) if isinstance(fixed, bytes) else sum(map(len, fixed))
        size = ENTRY_BYTES + len(client_id) + fixed_bytes
        share = self._max_bytes // _SHARES
        if size > share:
            return
        key = self._identity_of(client, client_id)
        identity = self._identities.get(key)
        if identity is None:
            identity = self._identities[key] = _Identity(key)
        entries = identity.entries_of(api, request.shape)
        old = entries.pop(fixed, None)
        added_bytes = size - (0 if old is None else old.size)
        entries[fixed] = PreparedEntry(request, epoch, metrics, size)
        identity.size += added_bytes
        self.size += added_bytes
        if identity.size > share:
            self._make_room([identity], share)
        if self.size > self._max_bytes:
            self._make_room(list(self._identities.values()), self._max_bytes)
            self._identities = {
                key: identity for key, identity in self._identities.items() if identity.size
            }

    def _make_room(self, identities: list[_Identity], most: int) -> None:
        """Free entries of `identities` until half of `most` bytes is left: the least used first,
        and of those the newest first. Halve the count of uses of the others."""
        left = sum(identity.size for identity in identities)
        candidates = [candidate for identity in identities for candidate in identity.entries()]
        candidates.reverse()
        candidates.sort(key=lambda candidate: candidate[-1].uses)
        for identity, api, entries, fixed, entry in candidates:
            if left > most // 2:
                freed = identity.drop(api, entries, fixed)
                left -= freed
                self.size -= freed
            else:
                entry.uses //= 2


def kind_of(shape: Shape, frame: memoryview) -> Kind | None:
    """Return the bytes that all requests of this kind share with the one in `frame`; None if the
    frame has another shape."""
    matched = shape.match(frame)
    if matched is None:
        return None
    api, length = _header(frame)
    return api, bytes(frame[8 : _HEADER_BYTES + max(length, 0)]), matched[0]

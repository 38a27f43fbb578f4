"""A hook that makes the event loop call a function at the end of each turn.

Owns: the handle in the loop. Never: measures a turn (`broker.loop.loop_turns`).

asyncio has no such hook. uvloop is built on libuv, whose prepare handles are called just before the
loop polls its sockets; uvloop gives its loop's address to extensions, and its module has libuv's
functions. A ctypes callback costs a third of a microsecond a turn. Without uvloop, or if it hides
libuv, there is no hook.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from importlib import import_module

_PREPARE = 9
"""The number of UV_PREPARE in libuv's `uv_handle_type`."""
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
_TakesOne = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_TakesTwo = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class TurnHook:
    """The hook in one loop, from its creation until `remove`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, turned: Callable[..., None]) -> None:
        """Call `turned` at the end of each turn from now on. It gets one argument, to be ignored,
        and must not raise. Raises RuntimeError if the loop cannot have the hook."""
        self._libuv = libuv = _Libuv(loop)
        self._closed: asyncio.Future[None] = loop.create_future()
        # Kept here, because libuv has their addresses until the handle is closed.
        self._turned, self._is_closed = _Callback(turned), _Callback(self._handle_closed)
        self._handle = ctypes.create_string_buffer(libuv.size(_PREPARE))
        libuv.init(libuv.address, self._handle)
        libuv.start(self._handle, self._turned)
        libuv.unref(self._handle)  # so that the hook does not keep the loop running

    async def remove(self) -> None:
        """Remove the hook, and wait until libuv has closed its handle."""
        if not self._closed.done():
            self._libuv.stop(self._handle)
            self._libuv.close(self._handle, self._is_closed)
        await self._closed

    def _handle_closed(self, _handle: object) -> None:
        """Complete the future that `remove` awaits, when libuv has closed the handle."""
        self._closed.set_result(None)


class _Libuv:
    """The functions of libuv that are used here, and the address of a loop's `uv_loop_t`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look up libuv's functions in uvloop, and the loop's address. Raises RuntimeError if
        uvloop is missing, hides libuv, or did not make this loop."""
        try:
            uvloop = import_module("uvloop.loop")  # uvloop's type stubs lack the attributes below
        except ImportError as error:
            raise RuntimeError("there is no uvloop") from error
        if not isinstance(loop, uvloop.Loop):
            raise RuntimeError("the event loop is not uvloop's")
        try:
            library = ctypes.CDLL(uvloop.__file__)
            self.size = _Size(("uv_handle_size", library))
            self.init = _TakesTwo(("uv_prepare_init", library))
            self.start = _TakesTwo(("uv_prepare_start", library))
            self.stop = _TakesOne(("uv_prepare_stop", library))
            self.unref = _TakesOne(("uv_unref", library))
            self.close = _TakesTwo(("uv_close", library))
            self.address = _address(uvloop.libuv_get_loop_t_ptr(loop))
        except (OSError, AttributeError) as error:
            raise RuntimeError(f"uvloop has no libuv for others: {error}") from error


def _address(capsule: object) -> int:
    """Return the pointer in a capsule, whatever name uvloop gave the capsule."""
    name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)
    address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    name = name_of(("PyCapsule_GetName", ctypes.pythonapi))(capsule)
    return int(address_of(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, name))

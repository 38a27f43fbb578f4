"""The stock C client without its Python binding: librdkafka of confluent-kafka, by ctypes.

The binding builds each message from a Python dictionary, which takes most of a core at half a
million messages a second. On few cores that, not the broker, would be the limit. Here messages are
made once, and librdkafka takes many of them in a call. Queue, batches, checksums and connections
are those of the stock client. Functions and structures are those of `rdkafka.h`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import confluent_kafka

_PRODUCER = 0
_ERROR_TEXT_BYTES = 512
_Handle = ctypes.c_void_p


class _Message(ctypes.Structure):
    """The structure `rd_kafka_message_t`."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("rkt", _Handle),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_char_p),
        ("len", ctypes.c_size_t),
        ("key", ctypes.c_char_p),
        ("key_len", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("_private", ctypes.c_void_p),
    )


_Delivered = ctypes.CFUNCTYPE(None, _Handle, ctypes.POINTER(_Message), ctypes.c_void_p)

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "rd_kafka_conf_new": (_Handle, []),
    "rd_kafka_conf_set": (
        ctypes.c_int,
        [_Handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t],
    ),
    "rd_kafka_conf_set_dr_msg_cb": (None, [_Handle, _Delivered]),
    "rd_kafka_new": (_Handle, [ctypes.c_int, _Handle, ctypes.c_char_p, ctypes.c_size_t]),
    "rd_kafka_topic_new": (_Handle, [_Handle, ctypes.c_char_p, ctypes.c_void_p]),
    "rd_kafka_topic_destroy": (None, [_Handle]),
    "rd_kafka_produce_batch": (
        ctypes.c_int,
        [_Handle, ctypes.c_int32, ctypes.c_int, ctypes.POINTER(_Message), ctypes.c_int],
    ),
    "rd_kafka_poll": (ctypes.c_int, [_Handle, ctypes.c_int]),
    "rd_kafka_outq_len": (ctypes.c_int, [_Handle]),
    "rd_kafka_err2str": (ctypes.c_char_p, [ctypes.c_int]),
    "rd_kafka_destroy": (None, [_Handle]),
}


@cache
def library() -> ctypes.CDLL:
    """Return librdkafka: that of confluent-kafka's wheel, or else the system's.

    Raises OSError if there is none.
    """
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    library_file = next(
        map(str, folder.glob("librdkafka-*.so*")), ctypes.util.find_library("rdkafka")
    )
    if library_file is None:
        raise OSError("librdkafka is nowhere: install confluent-kafka's wheel, or librdkafka")
    library = ctypes.CDLL(library_file)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Lot:
    """Messages for one call into librdkafka: values for one partition."""

    def __init__(self, values: Sequence[bytes], partition: int = 0) -> None:
        self.partition = partition
        self.values = values  # kept alive, because `messages` points into them
        self.messages = (_Message * len(values))()
        for message, value in zip(self.messages, values, strict=True):
            message.payload, message.len = value, len(value)


class LibrdkafkaProducer:
    """A producer that copies no messages: it keeps each lot, which may be produced again.

    `poll` calls `failed` with a line for each message that was not delivered.
    """

    def __init__(self, settings: Mapping[str, object], failed: Callable[[str], None]) -> None:
        """Create the producer. Raises ValueError if librdkafka rejects a setting."""
        self._library = library()

        def delivered(_producer: object, message: Any, _opaque: object) -> None:
            if error := message.contents.err:
                failed(self._library.rd_kafka_err2str(error).decode())

        self._delivered = _Delivered(delivered)  # kept alive for C, which holds no reference
        text = ctypes.create_string_buffer(_ERROR_TEXT_BYTES)
        conf = self._library.rd_kafka_conf_new()
        for name, value in settings.items():
            encoded = str(value).encode()
            if self._library.rd_kafka_conf_set(conf, name.encode(), encoded, text, len(text)):
                raise ValueError(text.value.decode())
        self._library.rd_kafka_conf_set_dr_msg_cb(conf, self._delivered)
        self._handle = self._library.rd_kafka_new(_PRODUCER, conf, text, len(text))
        if not self._handle:
            raise ValueError(text.value.decode())
        self._topics: dict[str, int] = {}
        self._kept_lots: set[Lot] = set()

    def produce(self, topic: str, lot: Lot) -> int:
        """Enqueue a lot. Return how many of its messages, the first ones, fitted into the queue."""
        if topic not in self._topics:
            self._topics[topic] = self._library.rd_kafka_topic_new(
                self._handle, topic.encode(), None
            )
        self._kept_lots.add(lot)
        taken: int = self._library.rd_kafka_produce_batch(
            self._topics[topic], lot.partition, 0, lot.messages, len(lot.values)
        )
        return taken

    def poll(self, seconds: float) -> None:
        """Handle deliveries, waiting at most so long for the first."""
        self._library.rd_kafka_poll(self._handle, int(seconds * 1_000))

    def __len__(self) -> int:
        """Return the number of messages and requests that are not done."""
        waiting: int = self._library.rd_kafka_outq_len(self._handle)
        return waiting

    def close(self) -> None:
        """End the threads and connections; undelivered messages are dropped."""
        while self._topics:
            self._library.rd_kafka_topic_destroy(self._topics.popitem()[1])
        self._library.rd_kafka_destroy(self._handle)

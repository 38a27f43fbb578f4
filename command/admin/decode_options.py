"""The options of `ottla console` and `ottla serve` by which the console decodes values.

Both commands get one `DecodeOptions`; `words()` passes it on to another process. Opens no file and
asks no registry: the console does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import click


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """The schemas by which the console decodes values.

    A value that begins with `TOPIC=` is for that topic, others are for all topics.
    """

    avro: tuple[str, ...] = ()
    """The files of Avro schemas, with or without `TOPIC=`."""
    descriptors: str | None = None
    """The file of Protobuf descriptors, as protoc writes it."""
    messages: tuple[str, ...] = ()
    """The names of messages in the descriptors, with or without `TOPIC=`."""
    registry: str | None = None
    """The URL of a schema registry, which may contain a login."""
    registry_config: str | None = None
    """The file of properties with the login at the registry."""

    def words(self) -> list[str]:
        """Return the options as words of a command line; none if no option is set."""
        words: list[str] = []
        for option in _OPTIONS:
            value = getattr(self, str(option.name))
            for item in value if isinstance(value, tuple) else (value,):
                if item is not None:
                    words.append(f"{option.opts[0]}={item}")
        return words


_OPTIONS = (
    click.Option(
        ["--avro-schema", "avro"],
        multiple=True,
        metavar="[TOPIC=]FILE",
        help="Decode values in the console by this Avro schema (.avsc), for one topic or for all; "
        "may be repeated.",
    ),
    click.Option(
        ["--proto-descriptors", "descriptors"],
        metavar="FILE",
        help="Decode Protobuf values in the console by these descriptors, made with protoc "
        "--include_imports --descriptor_set_out.",
    ),
    click.Option(
        ["--proto-message", "messages"],
        multiple=True,
        metavar="[TOPIC=]NAME",
        help="Decode values as this message of the descriptors (PACKAGE.MESSAGE), for one topic or "
        "for all; may be repeated.",
    ),
    click.Option(
        ["--registry"],
        metavar="URL",
        help="Decode values in the console by the schemas of this registry: each value begins with "
        "its schema's id.",
    ),
    click.Option(
        ["--registry-config"],
        metavar="FILE",
        help="Take the login at the registry from FILE: basic.auth.user.info=USER:PASSWORD or "
        "bearer.auth.token=TOKEN, and ssl.ca.location=FILE for its certificate.",
    ),
)


def with_decode_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options by which the console decodes values. The command gets
    them together as its argument `decode`."""

    @wraps(command)
    def gathered(
        *,
        avro: tuple[str, ...],
        descriptors: str | None,
        messages: tuple[str, ...],
        registry: str | None,
        registry_config: str | None,
        **others: object,
    ) -> None:
        """Call the command with the decode options as one DecodeOptions."""
        decode = DecodeOptions(avro, descriptors, messages, registry, registry_config)
        command(decode=decode, **others)

    gathered.__click_params__ = [  # type: ignore[attr-defined]
        *getattr(command, "__click_params__", ()),
        *reversed(_OPTIONS),  # click reverses the list
    ]
    return gathered

"""What explains values in the console: the options of `ottla console`, which `ottla serve` has too.

Both commands are given one `DecodeOptions`; `words()` says it again to another process. Opens no
file and asks no registry: the console does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import click


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """What explains values; `TOPIC=` before it, or for all topics."""

    avro: tuple[str, ...] = ()
    """Files of Avro schemas."""
    descriptors: str | None = None
    """A file of Protobuf descriptors, as protoc writes it."""
    messages: tuple[str, ...] = ()
    """Names of messages in it."""
    registry: str | None = None
    """The URL of a schema registry; a login may be in it."""

    def words(self) -> list[str]:
        """As they are typed; none where nothing explains values."""
        found: list[str] = []
        for option in _OPTIONS:
            value = getattr(self, str(option.name))
            for one in value if isinstance(value, tuple) else (value,):
                if one is not None:
                    found.append(f"{option.opts[0]}={one}")
        return found


_OPTIONS = (
    click.Option(
        ["--avro-schema", "avro"],
        multiple=True,
        metavar="[TOPIC=]FILE",
        help="An .avsc file by which the console decodes values, of a topic or of all.",
    ),
    click.Option(
        ["--proto-descriptors", "descriptors"],
        metavar="FILE",
        help="Of protoc --include_imports --descriptor_set_out, for the console.",
    ),
    click.Option(
        ["--proto-message", "messages"],
        multiple=True,
        metavar="[TOPIC=]NAME",
        help="The message in it that values are, with its package.",
    ),
    click.Option(
        ["--registry"],
        metavar="URL",
        help="A schema registry that the console asks, by ids in the records.",
    ),
)


def with_decode_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a command that is given them together, as its argument `decode`."""

    @wraps(command)
    def gathered(
        *,
        avro: tuple[str, ...],
        descriptors: str | None,
        messages: tuple[str, ...],
        registry: str | None,
        **others: object,
    ) -> None:
        command(decode=DecodeOptions(avro, descriptors, messages, registry), **others)

    gathered.__click_params__ = [  # type: ignore[attr-defined]
        *getattr(command, "__click_params__", ()),
        *reversed(_OPTIONS),  # click turns the list around
    ]
    return gathered

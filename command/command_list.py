"""The list of commands, in the order of the help, and the modules of those outside of cli.py.

A command's module is imported when the command is used. The help of all commands imports none.
"""

from __future__ import annotations

from importlib import import_module

import click

from command.help_pages.command_group import CommandGroup, first_sentence
from command.output import echo

_ADMIN = "command.admin"
_CONFIGS = "command.configs"
_RECORDS = "command.records"

MODULES = {
    "format": (
        "command.formatting.format_command",
        "Format empty data folders, as kafka-storage format does.",
    ),
    "dump-log": ("command.dump.dump_command", "Print the contents of files in a data folder."),
    "top": ("command.live.top_command", "Show topics by their rate and groups by their lag, live."),
    "topic": ("command.topics.topic_command", "List, create, describe, alter and delete topics."),
    "produce": (
        f"{_RECORDS}.produce_command",
        "Write records to a topic from lines, JSON or files.",
    ),
    "consume": (f"{_RECORDS}.consume_command", "Print the records of topics from any place on."),
    "group": ("command.groups.group_command", "List, describe, reset and delete consumer groups."),
    "config": (f"{_CONFIGS}.config_command", "Show, set and explain configs."),
    "quota": (f"{_CONFIGS}.quota_command", "List, set and remove quotas of clients."),
    "user": (f"{_ADMIN}.user_command", "Add, list and delete users who log in by SCRAM."),
    "acl": (f"{_ADMIN}.acl_command", "Add, list and delete ACLs, which allow or deny operations."),
    "migrate": (
        "command.migration.migrate_command",
        "Check whether Ottla can take over the nodes of an Apache Kafka cluster.",
    ),
    "profile": (f"{_ADMIN}.profile_command", "Save clusters under names, choose the one to use."),
    "console": ("console.console_command", "Serve a web page that shows the cluster."),
    "completion": (
        "command.completion.completion_command",
        "Print the script by which a shell completes commands.",
    ),
}
"""The module of each command outside of cli.py, and its line in the help, by name."""

SECTIONS = {
    "Run": ("serve", "cluster", "format"),
    "Inspect": ("status", "top", "console", "dump-log", "migrate"),
    "Topics and records": ("topic", "produce", "consume", "group"),
    "Settings and users": ("config", "quota", "user", "acl"),
    "Your shell": ("profile", "completion"),
}


class Commands(CommandGroup):
    """The group of all commands: those of cli.py, and those in MODULES."""

    group_class = CommandGroup

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [name for names in SECTIONS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, and import its module only now; None if there is none."""
        if cmd_name not in MODULES:
            return super().get_command(ctx, cmd_name)
        module, _ = MODULES[cmd_name]
        command = getattr(import_module(module), cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that was typed, for click; `help COMMAND` becomes `COMMAND --help`.
        `help` alone prints the help of all commands and exits.

        Raises UsageError for an unknown command, with a similar name if there is one.
        """
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
            if len(args) == 1:
                echo(ctx.get_help())
                ctx.exit()
        if args and self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            like = get_close_matches(args[0], [*self.list_commands(ctx), "--version"], 1)
            hint = f" Did you mean {like[0]!r}?" if like else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each kind of command, with columns of equal width."""
        width = max(map(len, self.list_commands(ctx)))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name.ljust(width), self._help_line(ctx, name)) for name in names]
                formatter.write_dl(rows)

    def _help_line(self, ctx: click.Context, name: str) -> str:
        """Return the one-line help of a command without importing its module."""
        if name in MODULES:
            return MODULES[name][1]
        command = super().get_command(ctx, name)
        assert command is not None
        return first_sentence(command)

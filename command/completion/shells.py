"""The completions for each shell, in place of click's own.

Any client may choose the name of a group, and a user who completes it presses ENTER next. Zsh and
fish quote completions. Neither bash nor click does: bash sends the line up to the cursor, and gets
the quoted rest of the word (`bash_words`). A bash script of an earlier release asks in click's way,
and gets only names that need no quotes. No shell gets names with invisible characters, such as
control characters or marks of direction.

Owns the scripts of bash and fish. Never asks a cluster (`command.completion.completing`).
"""

from __future__ import annotations

import os

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from command.completion.bash_words import needs_no_quotes, quoted, words_of

_LINE, _WORD = "_OTTLA_LINE", "_OTTLA_WORD"

# $2 is the part that bash takes for the word and replaces. Only bash from 4.4 on has nosort.
_SOURCE_BASH = """\
%(complete_func)s() {
    local response one
    COMPREPLY=()
    response=$(_OTTLA_LINE="${COMP_LINE:0:$COMP_POINT}" _OTTLA_WORD="$2" \
%(complete_var)s=bash_complete "$1" 2>/dev/null)
    while IFS= read -r one; do
        if [[ -n $one ]]; then COMPREPLY+=("$one"); fi
    done <<< "$response"
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || \
complete -F %(complete_func)s %(prog_name)s
"""

# Click's own script cuts a name at its first comma.
_SOURCE_FISH = """\
function %(complete_func)s
    set -l response (env %(complete_var)s=fish_complete COMP_WORDS=(commandline -cp) \
COMP_CWORD=(commandline -t) %(prog_name)s 2>/dev/null)
    for one in $response
        string replace --regex '^plain,' '' -- $one
    end
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class _WholeWords(ShellComplete):
    """The completions of a shell as whole words of the line, without quotes."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the words that begin with `incomplete`.

        For `--group=VALUE`, click returns only the value; the whole word is returned here.
        """
        if incomplete == "=":  # click takes it for the end of an option
            return []
        option, equals, _ = incomplete.partition("=")
        before = option + equals if equals and option.startswith("-") else ""
        return [
            CompletionItem(f"{before}{item.value}", item.type, item.help)
            for item in super().get_completions(args, incomplete)
            if item.value.isprintable()
        ]


class Bash(_WholeWords, BashComplete):
    """The completions of bash, by its line; by click's words for a script of an earlier release."""

    source_template = _SOURCE_BASH

    def complete(self) -> str:
        """Return the completions, a line each, that replace the word as bash sees it."""
        if _LINE not in os.environ:
            return super().complete()
        line, replaced = os.environ[_LINE], os.environ[_WORD]
        *before, current = words_of(line)
        if not before or not current.is_literal or not current.raw.endswith(replaced):
            return ""
        (kept,) = words_of(current.raw.removesuffix(replaced))
        if kept.is_escaping:
            return ""
        items = self.get_completions([word.text for word in before[1:]], current.text)
        names = [item.value for item in items if item.value.startswith(kept.text)]
        return "\n".join(quoted(name.removeprefix(kept.text), kept.quote) for name in names)

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        """Return the completions; for an older script, which does not quote, only plain names."""
        items = super().get_completions(args, incomplete)
        if _LINE in os.environ:
            return items
        return [item for item in items if needs_no_quotes(item.value)]


class Zsh(_WholeWords, ZshComplete):
    """The completions of zsh, which quotes them itself."""


class Fish(_WholeWords, FishComplete):
    """The completions of fish, which quotes them itself."""

    source_template = _SOURCE_FISH


def use_own_shells() -> None:
    """Have click use the completions of this module in place of its own."""
    for kind in (Bash, Zsh, Fish):
        add_completion_class(kind)

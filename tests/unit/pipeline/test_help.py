"""The help of every job: an example that its parser accepts, and a sentence for each option."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from pipeline.command import parser_for
from tests.tools.plain_words import riddles

JOBS = ("generate", "stream", "table", "load", "replay", "audit")


def job_parser(job: str) -> argparse.ArgumentParser:
    (jobs,) = (
        action
        for action in parser_for(job)._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert tuple(jobs.choices) == JOBS
    parser = jobs.choices[job]
    assert isinstance(parser, argparse.ArgumentParser)
    return parser


def begins_with_a_verb(text: str) -> bool:
    return not list(riddles(f"def option():\n    {text!r}"))


OPTIONS = {
    f"{job} {action.option_strings[-1]}": action
    for job in JOBS
    for action in job_parser(job)._actions
    if action.dest != "help"
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_has_a_sentence_that_begins_with_a_verb(name: str) -> None:
    text = OPTIONS[name].help or ""
    assert re.fullmatch(r"[A-Z].*\.( \[default[^\]]*(\[2\])?\])?", text), text
    assert begins_with_a_verb(text)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_names_its_value(name: str) -> None:
    action = OPTIONS[name]
    takes_a_value = action.nargs != 0
    assert not takes_a_value or action.choices or action.metavar


@pytest.mark.parametrize("job", JOBS)
def test_a_job_has_a_sentence_and_an_example_that_it_accepts(
    job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    parser = job_parser(job)
    sentence, _, example = (parser.description or "").partition("\n\n")
    assert sentence.endswith(".") and begins_with_a_verb(sentence)
    program, *words = shlex.split(example)
    assert program == "ottla-pipeline" and words[0] == job
    assert parser_for(job).parse_args(words).job == job
    assert all(len(line) <= 80 for line in parser.format_help().splitlines())


def test_every_job_has_the_short_form_of_ottla_for_the_cluster() -> None:
    for job in JOBS:
        option = OPTIONS[f"{job} --bootstrap-server"]
        assert option.option_strings == ["-b", "--bootstrap-server"]

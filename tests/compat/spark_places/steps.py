"""The jobs in their order, from the generator to the audits: what each is told and must say.

Owns no process: who runs them, and where, is in `places`.
"""

from __future__ import annotations

from dataclasses import dataclass

FORMATS = ("delta", "iceberg", "parquet")


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a job."""

    name: str
    job: str
    arguments: tuple[str, ...]
    says: str


def steps(root: str, events: int, copied: str, report: str) -> list[Step]:
    """All of them. `root`: where tables and checkpoint lie, a folder or its URI; `copied`: where
    the broker's data folder is copied to, before the first step that reads one."""
    topic = ("--topic", "cdr")
    written = ("--results-topic", "sums", "--dead-letters", "dead")
    sums = ("--table", f"{root}/sums", "--checkpoint", f"{root}/checkpoint")
    all_of_it = f"run 1: {events:,} offsets of 6 partitions"
    whole = "nothing lost, nothing duplicated"
    found = [
        Step("generate", "generate", (*topic, "--events", str(events)), "records"),
        Step("stream", "stream", (*topic, *sums, *written, "--once"), "done: all that was there"),
        Step("load", "load", (*topic, "--table", f"{root}/loaded"), all_of_it),
    ]
    for form in FORMATS:
        # Of one the columns are those of the values, and misfits are dead letters.
        columns = ("--value-format", "json") if form == "delta" else ()
        into = ("--to", form, "--table", f"{root}/{form}", *columns)
        found.append(Step(f"table, {form}", "table", (*topic, *into), all_of_it))
    of_folder = ("--from-folder", copied, *topic)
    for form in FORMATS:
        into = ("--to", form, "--table", f"{root}/folder-{form}")
        found.append(Step(f"table of a folder, {form}", "table", (*of_folder, *into), all_of_it))
    # It goes on with what the cluster gave it: nothing is new.
    into = ("--table", f"{root}/loaded")
    found.append(Step("load of a folder", "load", (*of_folder, *into), "nothing new in cdr"))
    for form in FORMATS:
        files = ("--files", f"{root}/{form}", "--format", _format(form))
        said = "records into" if form == "delta" else f"{events:,} records into"
        step = Step(f"replay, {form}", "replay", ("--topic", f"again-{form}", *files), said)
        found.append(step)
    for form in FORMATS:
        for table in (form, f"folder-{form}"):
            looked = ("--table", f"{root}/{table}", "--table-format", form, "--report", report)
            found.append(Step(f"audit, {table}", "audit", (*topic, *looked), whole))
    everything = ("--table", f"{root}/loaded", "--table-format", "parquet", *written)
    seed = ("--against-seed", "--events", str(events), "--report", report)
    looked = (*topic, *everything, "--aggregates", f"{root}/sums", *seed)
    found.append(Step("audit, all", "audit", looked, f"{whole}: 9 checks hold"))
    return found


def _format(form: str) -> str:
    """As `replay` calls it: its `parquet` is any rows."""
    return "table" if form == "parquet" else form

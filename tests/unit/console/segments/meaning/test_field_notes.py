"""Each field has its note."""

from __future__ import annotations

from console.segments.meaning.anatomy import header_fields, record_fields
from console.segments.meaning.field_notes import RECORD_ATTRIBUTES, note_on
from protocol.record_batch import HEADER_SIZE, read_header
from protocol.records import Record
from tests.batches import build_batch


def test_all_fields_and_bits_are_explained() -> None:
    batch = build_batch([Record(-1, 1, b"k", b"v", (("h", b"x"),))])
    header = read_header(batch)
    fields = header_fields(batch, header)
    notes = [note_on(bit.name, "") for one in fields for bit in one.bits]
    fields += record_fields(bytes(batch[HEADER_SIZE:]), 0, header)
    notes += [note_on(one.name, one.type) for one in fields]
    assert all(one.endswith((".", ".")) for one in notes) and len(notes) > 25
    assert note_on("attributes", "int8") == RECORD_ATTRIBUTES != note_on("attributes", "int16")

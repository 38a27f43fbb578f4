from __future__ import annotations

import pytest

from broker.share.state.share_log import SharePartitionKey, key_of

TOPIC_ID = bytes(range(16))
TEXT = "AAECAwQFBgcICQoLDA0ODw"


@pytest.mark.parametrize("group_id", ["g", "a:b", ":", "é"])
def test_a_key_is_read_from_its_text(group_id: str) -> None:
    key = SharePartitionKey(group_id, TOPIC_ID, 7)
    assert key.text == f"{group_id}:{TEXT}:7"
    assert key_of(key.text) == key


@pytest.mark.parametrize(
    ("text", "partition"),
    [(f"g:{TEXT}==:7", 7), (f"g:{TEXT}:+007", 7), (f"g:{TEXT}:-1", -1), (f"g:{TEXT}:7::", 7)],
)
def test_other_forms_that_java_reads(text: str, partition: int) -> None:
    assert key_of(text) == SharePartitionKey("g", TOPIC_ID, partition)


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", "g", f"g:{TEXT}", f":{TEXT}:0", f"  :{TEXT}:0", "g:x:0", f"g:{TEXT}A:0"),
        *(f"g:{TEXT}=:0", f"g:{TEXT}===:0", f"g:{TEXT[:-2]}+/:0", f"g:{TEXT[:-1]}é:0"),
        f"g:{TEXT}::0",
        *(f"g:{TEXT}:", f"g:{TEXT}:x", f"g:{TEXT}:1_0", f"g:{TEXT}: 1", f"g:{TEXT}:2147483648"),
        f"g:{TEXT}:{'9' * 5000}",
    ],
)  # fmt: skip
def test_a_text_that_is_no_key(text: str) -> None:
    assert key_of(text) is None

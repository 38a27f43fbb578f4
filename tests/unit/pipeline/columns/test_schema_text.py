"""Schemas that people write: DDL, JSON, files; and what is wrong with others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id BIGINT NOT NULL, name string", "struct<id:bigint,name:string>"),
        ("a: INT, `b c`: DOUBLE", "struct<a:int,b c:double>"),
        ("`a``b` DATE COMMENT 'it''s, a day'", "struct<a`b:date>"),
        ("price DECIMAL(10, 2), n NUMERIC, m DEC(5)", None),
        ("t TIMESTAMP, l TIMESTAMP_LTZ, n TIMESTAMP_NTZ", None),
        ("tags ARRAY<STRING>, m MAP<STRING, ARRAY<INT>>", None),
        ("s STRUCT<a INT NOT NULL, b: STRUCT<c: REAL>>", None),
        ("x SMALLINT, y LONG, z FLOAT, b BINARY, f BOOLEAN", None),
    ],
)
def test_ddl(text: str, told: str | None) -> None:
    from pipeline.columns.schema_text import parse_schema

    known = {
        "price": "struct<price:decimal(10,2),n:decimal(10,0),m:decimal(5,0)>",
        "t": "struct<t:timestamp,l:timestamp,n:timestamp_ntz>",
        "tags": "struct<tags:array<string>,m:map<string,array<int>>>",
        "s": "struct<s:struct<a:int,b:struct<c:float>>>",
        "x": "struct<x:smallint,y:bigint,z:float,b:binary,f:boolean>",
    }
    schema = parse_schema("--schema", text)
    assert schema.simpleString() == (told or known[text.split()[0]])


def test_what_must_be_there() -> None:
    from pyspark.sql.types import StructType

    from pipeline.columns.schema_text import parse_schema

    schema = parse_schema("--schema", "id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL, b: INT>")
    inside = schema["s"].dataType
    assert isinstance(inside, StructType)
    assert [one.nullable for one in (*schema, *inside)] == [False, True, False, True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it names no column"),
        ("id", "it ends too early"),
        ("id BIGINT name STRING", "column id: a comma is wanted before name"),
        ("id NUMBER", "column id: there is no type NUMBER"),
        ("id TINYINT", "column id: TINYINT is not kept by every table, say SMALLINT"),
        ("id VARCHAR(10)", "column id: VARCHAR is not kept by every table, say STRING"),
        ("a-b INT", "column a: there is no type -"),
        ("(a INT)", r"\( is no name of a column: put it in backquotes"),
        ("a ARRAY", "column a: < is wanted before the end"),
        ("a ARRAY<INT", "column a: > is wanted before the end"),
        ("a MAP<INT, INT>", "column a: the keys of a MAP are STRING"),
        ("a DECIMAL(39)", "column a: DECIMAL.39,0. is no type, precision is at most 38"),
        ("a DECIMAL(2,3)", "column a: DECIMAL.2,3. is no type"),
        ("a DECIMAL(x)", r"column a: DECIMAL\(precision, scale\) is wanted"),
        ("a STRUCT<>", "column a: STRUCT without a field"),
        ("a INT, A INT", "a and A are one column: engines ignore case in names"),
        ("a INT, a INT", "a and a are one column"),
        ("s ARRAY<STRUCT<x INT, X INT>>", "s.x and s.X are one column"),
        ("{", "it is no JSON of a schema of Spark"),
        ('{"fields": 5}', "it is no JSON of a schema of Spark"),
    ],
)
def test_a_mistake_is_one_line(text: str, words: str) -> None:
    from pipeline.columns.schema_text import parse_schema
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match=f"^--schema: {words}"):
        parse_schema("--schema", text)


def test_the_json_of_a_schema_of_spark() -> None:
    from pyspark.sql.types import ByteType, StructField, StructType

    from pipeline.columns.schema_text import parse_schema, told
    from pipeline.errors import PipelineError

    schema = parse_schema("--schema", "id BIGINT NOT NULL, s ARRAY<STRUCT<a: INT>>")
    assert parse_schema("--schema", schema.json()) == schema
    assert told(schema["s"].dataType) == "ARRAY<STRUCT<a: INT>>"
    with pytest.raises(PipelineError, match="column b: TINYINT is not kept"):
        parse_schema("--schema", StructType([StructField("b", ByteType())]).json())


def test_text_or_the_file_that_it_names(tmp_path: Path) -> None:
    from pipeline.columns.schema_text import read_schema
    from pipeline.errors import PipelineError

    ddl, spark_json = tmp_path / "a b.ddl", tmp_path / "schema.json"
    ddl.write_text("id BIGINT,\n  name STRING\n")
    schema = read_schema("schema", "id BIGINT, name STRING")
    spark_json.write_text(json.dumps(schema.jsonValue(), indent=2), "utf-8-sig")
    assert read_schema("schema", str(ddl)) == schema == read_schema("schema", str(spark_json))
    with pytest.raises(PipelineError, match="^--schema nofile.json: No such file"):
        read_schema("schema", "nofile.json")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(PipelineError, match="it is no text"):
        read_schema("schema", str(tmp_path / "bytes"))

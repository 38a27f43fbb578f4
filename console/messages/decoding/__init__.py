"""Values that a schema explains: Avro and Protobuf, by files or a schema registry."""

"""Values and keys of Avro: their schemas, the registry of schemas, and the reader of the values."""

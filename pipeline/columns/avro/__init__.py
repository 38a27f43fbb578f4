"""Values and keys of Avro: their schemas, the registry that has them, and how they are read."""

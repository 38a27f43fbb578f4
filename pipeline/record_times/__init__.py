"""The times of records outside a table's range: how a table keeps them, and the reader of such
records."""

"""The flow of a record: traces of the brokers on this machine, and a test record to trace."""

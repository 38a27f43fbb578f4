"""The typed columns of a topic's records, and the records that do not fit, with the reasons."""

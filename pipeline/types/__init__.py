"""The types of columns, independent of the records' format and of the table's."""

"""A filter of records by their fields: `value.status == "PAID" && value.amount > 100`."""

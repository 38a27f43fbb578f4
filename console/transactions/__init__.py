"""Transactions in the console: open ones, records that wait for them, producers, and aborts."""

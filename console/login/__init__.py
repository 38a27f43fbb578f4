"""Logins to the console: a token or users with passwords, and the page on which they log in."""

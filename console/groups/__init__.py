"""Groups in the console: who reads what, how far behind they are, and since when."""

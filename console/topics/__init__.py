"""Topics: all of them in a list, one of them whole, and what may be changed."""

"""Types of columns, whatever is read into them and whichever table holds them."""

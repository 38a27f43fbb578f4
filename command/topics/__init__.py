"""`ottla topic`: what topics there are, how they are laid out, making and removing them."""

"""`ottla top`: what goes on in a cluster just now."""

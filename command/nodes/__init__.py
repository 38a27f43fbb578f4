"""The nodes of a running `ottla cluster`, controlled from another shell."""

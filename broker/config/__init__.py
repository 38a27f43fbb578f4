"""The configuration of a node: its keys, and how texts are parsed, checked and changed."""

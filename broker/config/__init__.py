"""The configuration of a node: its keys, their texts parsed, checked, described and changed."""

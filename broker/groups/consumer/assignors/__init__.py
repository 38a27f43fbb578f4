"""The assignors of consumer groups: pure functions, one file each."""

"""Who gets what in a group that the broker assigns: pure functions, one file each."""

"""Classic groups, whose members compute the assignment themselves: JoinGroup and SyncGroup."""

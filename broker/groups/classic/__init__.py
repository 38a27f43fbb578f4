"""Groups whose members divide the partitions among themselves: JoinGroup and SyncGroup."""

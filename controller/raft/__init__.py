"""The metadata quorum: KRaft's core, its log, its network and its snapshots."""

"""The records of a share-partition that are in flight: acquired, acknowledged, delivered again."""

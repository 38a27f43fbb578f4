"""The reasons for which a record is rejected, as the dead letters' header `reason` holds them.

Owns the words alone. `pipeline.cdr` checks records with Spark, and `pipeline.generator` makes
records that must be rejected.
"""

from __future__ import annotations

NO_VALUE = "value is missing"
NOT_JSON = "not JSON"
NO_EVENT_ID = "event_id is missing"
NO_SUBSCRIBER = "subscriber is missing"
NO_CELL = "cell is missing"
UNKNOWN_KIND = "kind is unknown"
BAD_DURATION = "duration_s is not a whole number from 0"
BAD_BYTES = "bytes is not a whole number from 0"
BAD_DROPPED = "dropped is neither true nor false"
BAD_TIME = "event_time is not a time"
WRONG_KEY = "key is not the subscriber"
FUTURE = "event_time is later than the record's timestamp"
TOO_LATE = "event_time is too long before the record's timestamp"

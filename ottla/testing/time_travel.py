"""`advance`: move a broker's clocks forward, and do what becomes due until then.

    broker.advance(days=8)      # records older than retention.ms are deleted

What becomes due is done in its order, before the call returns: retention and compaction checks, the
end of group sessions and of transactions, expiry of offsets, producers and transactional ids. The
effect on the rest:

connections         stay open. They do not count as idle, because sockets use the machine's own time
parked requests     a Fetch or a JoinGroup whose time-out passes is answered as usual
group members       have sent no heartbeat in all that time: a member whose session timeout is
                    shorter is removed. Its client learns of it by its next request, and joins again
transactions        that are open for longer than their timeout are aborted, and their producer is
                    fenced
records             that clients write afterwards have the client's time, which is now behind the
                    broker's; with `message.timestamp.type=LogAppendTime` they have the broker's
users and tokens    a delegation token expires; a client that is logged in stays so until its next
                    login
nodes of a cluster  wait for each other in the machine's own time: no heartbeat is missed, no leader
                    is elected and no replica leaves the in-sync set because of it.
                    `Cluster.advance` moves all nodes; a node that is moved alone is ahead of the
                    others. What the nodes have to agree on, such as the end of a transaction, may
                    come some milliseconds after the call: wait for it, as the assertions do

Up to ten seconds pass in steps of 10 ms, a longer time in a thousand steps. What repeats itself
more often than that is done once in each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.topic import Call

TIMEOUT_S = 120.0
_MS = timedelta(milliseconds=1)


def in_ms(duration: timedelta) -> float:
    """Return a duration in milliseconds. Raises Misuse if it is negative."""
    if duration < timedelta():
        raise Misuse(f"time goes on and never back: not by {duration}")
    return duration / _MS


def advance(call: Call, duration: timedelta) -> float:
    """Move the clocks of the broker that `call` reaches, and do what becomes due. Return by how
    many milliseconds they are now ahead of the machine's. Raises Misuse if `duration` is
    negative."""
    args: Mapping[str, Json] = {"ms": in_ms(duration)}
    answer = call("time.advance", args, timeout_s=TIMEOUT_S)
    ahead_ms: float = answer["ahead_ms"]
    return ahead_ms

"""What `advance` does: the clocks of a broker go on by days, and what is due until then is done.

    broker.advance(days=8)      # what is older than retention.ms is deleted

What is due is done in its order: retention and compaction checks, the end of group sessions and of
transactions, expiry of offsets, of producers and of transactional ids. When the call returns, it is
done. What becomes of the rest:

connections         stay. They do not become idle by it: sockets have the machine's own time
parked requests     a Fetch or a JoinGroup whose time is up is answered, as it would have been
group members       have sent no heartbeat in all that time: who is gone longer than its session
                    timeout is no member any more. Its client is told with its next request, and
                    joins again
transactions        that were open for longer than their timeout are aborted, and their producer is
                    fenced
records             that clients write afterwards have the client's time, which is behind the
                    broker's by as much: with `message.timestamp.type=LogAppendTime` they have the
                    broker's
users and tokens    a delegation token expires; who is logged in stays so until the next login
nodes of a cluster  wait for each other in the machine's own time: nobody misses a heartbeat, no
                    leader is elected and no replica leaves the in-sync set because of it.
                    `Cluster.advance` moves all nodes; one that is moved alone is ahead of others
                    What they have to agree on, such as the end of a transaction, may come some
                    milliseconds after the call: wait for it, as the helpers do

A way of up to ten seconds is gone in steps of 10 ms, a longer one in a thousand steps. What repeats
itself more often than that is done once a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from ottla.testing.errors import Misuse
from ottla.testing.frames import Json
from ottla.testing.topic import Call

TIMEOUT_S = 120.0
_MS = timedelta(milliseconds=1)


def in_ms(by: timedelta) -> float:
    """How far that is, in milliseconds."""
    if by < timedelta():
        raise Misuse(f"time goes on and never back: not by {by}")
    return by / _MS


def advance(call: Call, by: timedelta) -> float:
    """Move the clocks; by how many milliseconds they are ahead of the machine's now."""
    args: Mapping[str, Json] = {"ms": in_ms(by)}
    told = call("time.advance", args, timeout_s=TIMEOUT_S)
    ahead_ms: float = told["ahead_ms"]
    return ahead_ms

"""`controller.raft.quorum_state`: the file as Kafka writes it, the table of transitions."""

from __future__ import annotations

import itertools

import pytest

from controller.raft.quorum_state import (
    LEGAL,
    VOTER_ROLES,
    ElectionState,
    QuorumStateError,
    Role,
    check_transition,
    decode_quorum_state,
    encode_quorum_state,
)


def test_byte_for_byte() -> None:
    """The file that Apache Kafka with one static voter left behind."""
    kafka = (
        b'{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,'
        b'"currentVoters":[{"voterId":1}],"data_version":0}'
    )
    state = ElectionState(1, 1)
    assert encode_quorum_state(state, (1,)) == kafka
    assert decode_quorum_state(kafka) == state


def test_version_1() -> None:
    directory = bytes(range(16))
    state = ElectionState(7, None, 3, directory)
    data = encode_quorum_state(state, (), kraft_version=1)
    assert data == (
        b'{"leaderId":-1,"leaderEpoch":7,"votedId":3,'
        b'"votedDirectoryId":"AAECAwQFBgcICQoLDA0ODw","data_version":1}'
    )
    assert decode_quorum_state(data) == state


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"data_version":2}',
        b'{"data_version":0}',
        b'{"leaderId":"x","leaderEpoch":1,"votedId":-1,"data_version":0}',
    ],
)
def test_a_file_that_cannot_be_read_stops_the_node(data: bytes) -> None:
    """KAFKA-15412: a node that forgot its vote could vote twice."""
    with pytest.raises(QuorumStateError):
        decode_quorum_state(data)


def test_every_role_has_its_row() -> None:
    assert list(LEGAL) == list(Role)


@pytest.mark.parametrize(("before", "after"), list(itertools.product(Role, Role)))
def test_transitions(before: Role, after: Role) -> None:
    for is_voter in (True, False):
        legal = after in LEGAL[before] and (is_voter or after not in VOTER_ROLES)
        if legal:
            check_transition(before, after, is_voter)
        else:
            with pytest.raises(AssertionError):
                check_transition(before, after, is_voter)

"""What invariants share: a register, and what of it a reader may see."""

from __future__ import annotations

from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.metadata import MetadataRequest
from simulation.invariants.invariant import Invariant, Promises, Register
from tests.unit.simulation.exchanges import answered_exchange


def write(register: Register[int], value: int, at_ms: float, *, answered: bool = True) -> None:
    register.write(
        answered_exchange(MetadataRequest(), MetadataRequest() if answered else None, at_ms=at_ms),
        value,
    )


def read(register: Register[int], at_ms: float) -> list[int]:
    return register.allowed(answered_exchange(MetadataRequest(), at_ms=at_ms))


def test_a_reader_sees_the_last_write_that_was_acknowledged() -> None:
    register = Register(0)
    assert read(register, 1.0) == [0]
    write(register, 1, 2.0)
    write(register, 2, 3.0)
    assert read(register, 4.0) == [2] and read(register, 2.5) == [1]


def test_what_nobody_was_told_of_may_be_seen_or_not() -> None:
    register = Register(0)
    write(register, 1, 2.0)
    write(register, 2, 3.0, answered=False)
    assert read(register, 4.0) == [1, 2]


def test_a_refused_write_is_none_and_one_that_is_unsure_may_be() -> None:
    for error, seen in ((ErrorCode.ILLEGAL_GENERATION, [0]), (ErrorCode.NOT_COORDINATOR, [0, 1])):
        register = Register(0)
        exchange = answered_exchange(MetadataRequest(), MetadataRequest(), at_ms=2.0)
        register.write(exchange, 1)
        register.refuse(exchange, error)
        assert read(register, 4.0) == seen


def test_a_write_on_its_way_between_nodes_may_come_after_a_later_one() -> None:
    for reordered, seen in ((False, [2]), (True, [2, 1])):
        register = Register(0, reordered=reordered)
        write(register, 1, 1.0, answered=False)
        write(register, 2, 2.0)
        assert read(register, 4.0) == seen
    register.forget()
    assert read(register, 4.0) == [0, 1, 2]


def test_promises_and_the_name_of_what_is_broken() -> None:
    promises = Promises()
    promises.interfere()
    promises.rest(5.0)
    assert promises.interfered and promises.calm_since_ms == 5.0
    promises.power_lost_ms = 3.0
    assert promises.forgotten(answered_exchange(MetadataRequest(), at_ms=2.0))
    assert not promises.forgotten(answered_exchange(MetadataRequest(), at_ms=4.0))
    assert str(Invariant(SimScheduler(), promises).broken("x")) == ": x"

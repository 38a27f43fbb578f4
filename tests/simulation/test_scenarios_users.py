"""SCRAM users set through any broker while the active controller dies: none is lost or half."""

from __future__ import annotations

import pytest

from controller.metadata.image import MetadataImage
from controller.metadata.scram_credential import (
    ITERATIONS_MIN,
    ScramCredential,
    ScramMechanism,
    credential_of,
)
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests.simulation.plans import Layout
from tests.simulation.scenario import Scenario
from tests.simulation.sim_client import SimClient, Waits

pytestmark = pytest.mark.slow

SHA_512 = ScramMechanism.SCRAM_SHA_512
FAILOVERS = 5
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "700"}
"""A node that comes back begins with a snapshot."""


class UserAdmin(SimClient):
    """Sets and deletes one user of its own; knows what the user may have."""

    def __init__(self, name: str, *where: object) -> None:
        super().__init__(name, *where)  # type: ignore[arg-type]
        self.asked: list[ScramCredential | None] = [None]
        self.done_until = 0
        """What stands there in `asked`, or something behind it, holds."""
        self.answers = 0
        self.described = 0

    def life(self) -> Waits:
        while not self.stopping:
            yield 5.0 + self.chance.random() * 60.0
            work = self.chance.choice([self._set, self._set, self._delete, self._describe])
            yield from work()

    def _set(self) -> Waits:
        iterations = ITERATIONS_MIN + len(self.asked)
        salt, salted = self.chance.randbytes(16), self.chance.randbytes(64)
        change = ScramCredentialUpsertion(self.name, SHA_512, iterations, salt, salted)
        request = AlterUserScramCredentialsRequest([], [change])
        yield from self._ask(request, credential_of(SHA_512, salted, salt, iterations))

    def _delete(self) -> Waits:
        change = ScramCredentialDeletion(self.name, SHA_512)
        yield from self._ask(AlterUserScramCredentialsRequest([change]), None)

    def _ask(
        self, request: AlterUserScramCredentialsRequest, after: ScramCredential | None
    ) -> Waits:
        self.asked.append(after)
        here = len(self.asked) - 1
        response = yield from self.call(request, 0)
        if response is not None and not response.results[0].error_code:
            self.done_until = here
            self.answers += 1

    def _describe(self) -> Waits:
        response = yield from self.call(DescribeUserScramCredentialsRequest(None), 0)
        self.described += response is not None

    def may_have(self, image: MetadataImage) -> bool:
        found = image.scram.credential(SHA_512, self.name)
        return found in self.asked[self.done_until :]


@pytest.mark.parametrize(
    ("seed", "layout"),
    [(1, Layout.combined(3)), (2, Layout.apart(3, 3))],
    ids=["combined", "apart"],
)
def test_users_survive_the_death_of_the_active_controller(seed: int, layout: Layout) -> None:
    story = Scenario(seed, layout=layout, properties=SNAPSHOTS)
    admins: list[UserAdmin] = []

    def tell() -> None:
        admins.extend(story.add(UserAdmin, f"admin-{number}") for number in range(3))
        for _ in range(FAILOVERS):
            story.run_for(500)
            dead = story.controller()
            story.kill(dead)
            story.controller()
            story.run_for(500)
            story.start(dead)
        for admin in admins:
            admin.stopping = True
        story.run_until(lambda: all(admin.done for admin in admins), 20_000)
        story.run_for(5_000)  # what a broker still passes on, it has passed on
        images = [one.node.image for one in story.brokers if one.node is not None]
        assert len(images) == len(story.brokers)
        for image in images:
            assert image.scram == images[0].scram
            assert [admin.name for admin in admins if not admin.may_have(image)] == []

    story.run(tell)
    assert all(admin.answers > FAILOVERS for admin in admins)
    assert all(admin.described for admin in admins)

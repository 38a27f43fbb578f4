"""SCRAM users and ACLs changed through any broker while the active controller dies: none is lost
or half."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.requests.context import ANONYMOUS
from controller.metadata.acl import Acl
from controller.metadata.acl_filter import ANY, MATCH
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
from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from simulation.machines.layout import Layout
from simulation.sim_client import Waits
from tests.simulation.scenario import Scenario
from tests.simulation.sim_actor import SimActor

pytestmark = pytest.mark.slow

SHA_512 = ScramMechanism.SCRAM_SHA_512
FAILOVERS = 5
PROPERTIES = {
    # A node that comes back begins with a snapshot.
    "metadata.log.max.record.bytes.between.snapshots": "700",
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": ANONYMOUS,
}


class UserAdmin(SimActor):
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


class AclAdmin(SimActor):
    """Makes ACLs about a topic of its own, each another one, and removes them all; knows which
    there may be."""

    def __init__(self, name: str, *where: object) -> None:
        super().__init__(name, *where)  # type: ignore[arg-type]
        self.made = 0
        self.there: set[Acl] = set()
        """What has to be there."""
        self.maybe: set[Acl] = set()
        """What was asked for without an answer, or may have been removed without one."""
        self.answers = 0
        self.described = 0

    def life(self) -> Waits:
        while not self.stopping:
            yield 5.0 + self.chance.random() * 60.0
            work = self.chance.choice([self._make, self._make, self._make, self._remove, self._see])
            yield from work()

    def _make(self) -> Waits:
        self.made += 1
        acl = Acl(2, self.name, 3, f"User:{self.made}", "*", 3, 3)
        request = CreateAclsRequest([AclCreation(*acl), AclCreation(*acl)])
        response = yield from self.call(request, 3)
        if self._is_done(response and response.results):
            self.there.add(acl)
        else:
            self.maybe.add(acl)

    def _remove(self) -> Waits:
        mine = DeleteAclsFilter(2, self.name, MATCH, None, None, ANY, ANY)
        response = yield from self.call(DeleteAclsRequest([mine]), 3)
        if not self._is_done(response and response.filter_results):
            self.maybe |= self.there
        self.there = set()

    def _is_done(self, results: list[Any] | None) -> bool:
        done = bool(results) and not any(one.error_code for one in results or ())
        self.answers += done
        return done

    def _see(self) -> Waits:
        response = yield from self.call(
            DescribeAclsRequest(ANY, None, ANY, None, None, ANY, ANY), 3
        )
        self.described += response is not None and not response.error_code

    def may_have(self, image: MetadataImage) -> bool:
        found = list(image.acls.about(2, self.name))
        return len(found) == len(set(found)) and self.there <= set(found) <= self.there | self.maybe


@pytest.mark.parametrize(
    ("seed", "layout"),
    [(1, Layout.combined(3)), (2, Layout.apart(3, 3))],
    ids=["combined", "apart"],
)
def test_they_survive_the_death_of_the_active_controller(seed: int, layout: Layout) -> None:
    story = Scenario(seed, layout=layout, properties=PROPERTIES)
    admins: list[UserAdmin | AclAdmin] = []

    def tell() -> None:
        admins.extend(story.add(UserAdmin, f"admin-{number}") for number in range(3))
        admins.extend(story.add(AclAdmin, f"acl-admin-{number}") for number in range(3))
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
            assert image.acls.by_id == images[0].acls.by_id
            assert [admin.name for admin in admins if not admin.may_have(image)] == []

    story.run(tell)
    assert all(admin.answers > FAILOVERS for admin in admins)
    assert all(admin.described for admin in admins)

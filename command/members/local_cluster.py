"""A running `ottla cluster`, for commands in another shell that change its members.

Has the folder's nodes, opens connections to the brokers, and waits. Owns the files of nodes that
join or leave. Never starts or stops a process itself: the running `ottla cluster` and
`command.nodes.running` do.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from client.cluster import ClusterClient
from client.members.quorum import NoQuorumLeader, VoterEndpoint
from client.refusals import Refused
from command.cluster_credentials import ClusterCredentials, client_file, is_secured
from command.cluster_folder import (
    cluster_id_of,
    format_all,
    layout_of,
    nodes_of,
    properties_file,
    voters_of,
    write_node,
)
from command.cluster_layout import (
    REPLICAS_KEY,
    ClusterLayout,
    ClusterNode,
    replication_changes,
    with_keys,
)
from command.cluster_security import ADMIN_USER
from command.members.plans import check_majority
from command.nodes.running import RunningNode, holder_of
from ground.filesystem import LocalFilesystem
from storage.directories.log_dirs import read_meta_properties

WAIT_S = 60.0
"""The time within which each step has to succeed, or to make progress."""
_TIMEOUT_S = 15.0
_POLL_S = 0.2

T = TypeVar("T")


class LocalCluster:
    """The cluster of a folder, which runs."""

    def __init__(self, folder: str, command_config: str | None) -> None:
        """Read the folder. `command_config`: a file of client properties; None: that of the admin,
        if the cluster was made with --secure. Raises StartError if no `ottla cluster` runs there or
        a file is wrong."""
        self.path = Path(folder)
        self.check_runs()
        self.configs: dict[int, BrokerConfig] = nodes_of(self.path)
        self.layout: ClusterLayout = layout_of(self.configs)
        self._secured = is_secured(self.path) and any(
            config.is_secured for config in self.configs.values()
        )
        if command_config is None and self._secured:
            command_config = str(client_file(self.path, ADMIN_USER))
        self._command_config = command_config
        filesystem = LocalFilesystem()
        self._filesystem = filesystem
        ids = [cluster_id_of(config, filesystem) for config in self.configs.values()]
        self.cluster_id = next((cluster_id for cluster_id in ids if cluster_id is not None), "")

    def check_runs(self) -> None:
        """Raise StartError if no `ottla cluster` runs in the folder."""
        if holder_of(self.path) is None:
            raise StartError(
                f"no ottla cluster runs in {self.path}: start it with ottla cluster --dir "
                f"{self.path} (--dir names a cluster)"
            )

    def check_majority(self) -> None:
        """Raise StartError if fewer than a majority of the voters run: each request would only end
        after a long wait then. A voter that a log lacks still makes no false alarm."""
        voters = [node_id for node_id in voters_of(self.configs) if node_id in self.configs]
        check_majority(voters, [node_id for node_id in voters if self.node(node_id).serves()])

    def node(self, node_id: int) -> RunningNode:
        """Return a node, to start and stop it. Raises StartError if there is none."""
        return RunningNode(str(self.path), node_id)

    def directory_id(self, node_id: int) -> bytes:
        """Return the id of the node's metadata directory. Raises StartError if it has none."""
        folder = self.configs[node_id].metadata_log_dir
        properties = read_meta_properties(self._filesystem, folder)
        if properties is None or properties.directory_id is None:
            raise StartError(f"{folder}/meta.properties has no directory.id: is the disk replaced?")
        return properties.directory_id

    def endpoints(self, node_id: int) -> list[VoterEndpoint]:
        """Return the addresses at which a controller is reached by others."""
        return [
            VoterEndpoint(listener.listener_name, listener.host or "localhost", listener.port)
            for listener in self.configs[node_id].advertised_controller_listeners
        ]

    # --- requests --------------------------------------------------------------------------------

    def ask(self, action: Callable[[ClusterClient], T], without: int | None = None) -> T:
        """Return the result of `action` with a connection to any broker but `without`. Raises
        StartError if no broker answers, and the errors of `action`."""
        servers = ",".join(
            f"{config.broker_listeners[0].host or 'localhost'}:{config.broker_listeners[0].port}"
            for node_id, config in self.configs.items()
            if node_id != without
        )
        with ClusterClient(
            servers, self._command_config, _TIMEOUT_S, advises_start=False
        ) as cluster:
            return action(cluster)

    def wait_for(
        self,
        action: Callable[[ClusterClient], tuple[bool, object]],
        complaint: str,
        without: int | None = None,
    ) -> None:
        """Repeat `action` until it returns True and any value.

        As long as the value changes, there is progress. After WAIT_S without progress, raise
        Refused with the complaint and the last value or error. Raises StartError if the cluster
        stops meanwhile.
        """
        last: object = None
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                is_done, now = self.ask(action, without)
            except (StartError, NoQuorumLeader) as error:
                is_done, now = False, str(error)
            if is_done:
                return
            if now != last:
                last, deadline = now, time.monotonic() + WAIT_S
            if time.monotonic() > deadline:
                raise Refused(f"{complaint}{f' ({last})' if last else ''}")
            self.check_runs()
            time.sleep(_POLL_S)

    # --- files -----------------------------------------------------------------------------------

    def add(self, nodes: Sequence[ClusterNode]) -> None:
        """Write and format the files of new nodes. Raises StartError, OSError."""
        credentials = ClusterCredentials(self.path, self.configs) if self._secured else None
        after = self.layout.with_nodes(*nodes)
        for node in nodes:
            self._remove_remains(node.node_id)
            write_node(self.path, node, after, None, credentials)
        format_all(self.path, after, credentials)
        self._reload()

    def write_shared_keys(self) -> int | None:
        """Write to the files of all nodes the keys that depend on the members: the addresses of the
        controllers, and the numbers of replicas. The nodes read them at their next start.

        Return the number of replicas of new topics if it has changed, else None. A static quorum
        names its voters in the files, so they stay; so do numbers that the user has changed.
        """
        replicas = None
        for node_id, config in self.configs.items():
            file = properties_file(self.path, node_id)
            before = file.read_text("utf-8")
            numbers = replication_changes(config.originals, len(self.configs))
            keys = {**numbers, **(self.layout.quorum_keys if self.layout.is_dynamic else {})}
            after = with_keys(before, keys)
            if numbers:
                replicas = int(numbers[REPLICAS_KEY])
            if after != before:
                unfinished = file.with_name(f"{file.name}.tmp")
                shutil.copy(file, unfinished)  # with its mode: a secured file has a password
                unfinished.write_text(after, "utf-8")
                unfinished.replace(file)
        return replicas

    def forget(self, node_id: int) -> list[str]:
        """Delete the files of a node that has left the cluster: first its configuration, so that no
        start uses the rest. Return the data folders that are not in the cluster's folder, which
        stay."""
        config = self.configs[node_id]
        own = self.path / f"broker-{node_id}"
        elsewhere = [
            folder
            for folder in dict.fromkeys([*config.log_dirs, config.metadata_log_dir])
            if not Path(folder).resolve().is_relative_to(own.resolve())
        ]
        properties_file(self.path, node_id).unlink()
        shutil.rmtree(own, ignore_errors=True)
        self._reload()
        return elsewhere

    def _remove_remains(self, node_id: int) -> None:
        """Delete the folder of a node of this cluster whose configuration is gone: its removal was
        interrupted. Raises StartError if the folder belongs to something else."""
        own = self.path / f"broker-{node_id}"
        if not own.exists():
            return
        data = read_meta_properties(self._filesystem, str(own / "data"))
        if (own / "data").exists() and (data is None or data.cluster_id != self.cluster_id):
            raise StartError(f"{own} is there, and is not of this cluster: move it away")
        shutil.rmtree(own)

    def _reload(self) -> None:
        """Read the folder again."""
        self.configs = nodes_of(self.path)
        self.layout = layout_of(self.configs)

"""The folder of an `ottla cluster`: a properties file, the data and the log of each node.

    DIR/broker-1.properties     read at every start; users may edit it
    DIR/broker-1/data           log.dirs, formatted with one cluster id for all
    DIR/broker-1/ottla.log      what the node printed

With --secure there are more files (`command.cluster_credentials`). Creates the folder at the first
start and reuses it at the next ones: same ids, same data, and same ports unless the user asks for
others. Never starts a process, and never formats a formatted data folder.

A new cluster has a dynamic quorum: all nodes are formatted with the same first voters. Later, only
a running cluster changes its voters (`command.members`), so a node that comes later is formatted
without voters.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from broker.config.file import load_config
from broker.config.start_error import StartError
from broker.config.values import BrokerConfig
from broker.node.preparation.first_voters import AS_CONFIGURED, FirstVoters
from broker.node.preparation.storage_folders import format_storage, is_formatted
from broker.process.data_folders import private_folders
from command.cluster_credentials import (
    FILES,
    ClusterCredentials,
    client_file,
    is_secured,
    write_private,
)
from command.cluster_layout import (
    BROKERS_MAX,
    FIRST_PORT,
    HOST,
    PORTS,
    ClusterLayout,
    ClusterNode,
    grown,
    moved,
    new_layout,
    with_keys,
)
from command.cluster_security import NodeSecurity
from controller.raft.quorum_voters import METADATA_FOLDER, voters_on_disk
from controller.random_ids import random_uuid
from controller.storage_format import new_cluster_id
from ground.filesystem import LocalFilesystem
from protocol.primitives import uuid_to_string
from storage.directories.log_dirs import read_meta_properties

DEFAULT_BROKERS = 3

_PROPERTIES_FILE = re.compile(r"broker-([1-9][0-9]*)\.properties")
_NOT_IN_PROPERTIES = re.compile(r"[,\\\x00-\x1f]")


@dataclass(frozen=True)
class ClusterFolder:
    """A cluster's folder that is ready: each node has its properties and formatted data."""

    path: Path
    layout: ClusterLayout
    cluster_id: str
    is_new: bool
    is_secured: bool = False
    """Whether the cluster was made with --secure, so that there are files for its clients."""
    has_acls: bool = False
    """Whether the nodes of a secured cluster have an authorizer."""

    def properties_file(self, node_id: int) -> Path:
        """Return the path of a node's configuration."""
        return properties_file(self.path, node_id)

    def log_file(self, node_id: int) -> Path:
        """Return the path of the file that gets a node's output."""
        return self.path / f"broker-{node_id}" / "ottla.log"

    def client_file(self, user: str) -> Path:
        """Return the path of the client properties of a secured cluster's user."""
        return client_file(self.path, user)


def _make(path: Path) -> None:
    """Create the cluster's folder if it does not exist. Raises StartError if that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(
            f"cannot use the folder {path}: {error.strerror}; for another: ottla cluster --dir DIR"
        ) from error


def open_folder(
    folder: str,
    brokers: int | None,
    first_port: int | None,
    check: Callable[[ClusterLayout], None] = lambda _: None,
    *,
    secure: bool = False,
) -> ClusterFolder:
    """Create the folder, or reuse it, and format its data. Raises StartError, and OSError.

    `brokers` and `first_port` None: as the folder has them, else three nodes from port 9092.
    `check` may reject the layout with StartError, before anything is written. `secure`: a new
    cluster gets TLS and users; an existing cluster without them is rejected with StartError.
    """
    if brokers is not None and not 1 <= brokers <= BROKERS_MAX:
        raise StartError(f"--brokers {brokers}: from 1 to {BROKERS_MAX} run on one machine")
    if first_port is not None and not 1 <= first_port <= 65536 - PORTS:
        raise StartError(
            f"--port {first_port}: the nodes take ports from it to {PORTS - 1} above it, so from "
            f"1 to {65536 - PORTS}"
        )
    if _NOT_IN_PROPERTIES.search(os.path.abspath(folder)):
        raise StartError(f"--dir {folder}: a comma or a backslash cannot stand in log.dirs")
    path = Path(folder)
    configs = nodes_of(path)
    secured = is_secured(path) and any(config.is_secured for config in configs.values())
    if configs:
        if secure and not secured:
            raise StartError(
                f"--secure: {folder} holds a cluster that was made without: choose another --dir"
            )
        layout = _existing_layout(path, configs, brokers, first_port)
    else:
        if path.exists() and any(file.name not in FILES for file in path.iterdir()):
            raise StartError(f"{folder} is not empty and holds no cluster: choose another --dir")
        layout = new_layout(brokers or DEFAULT_BROKERS, first_port or FIRST_PORT, is_dynamic=True)
    check(layout)
    credentials = ClusterCredentials(path, configs) if secured or secure else None
    _make(path)
    if credentials is not None:
        credentials.make(layout.bootstrap_servers)
    for node in layout.nodes:
        config = configs.get(node.node_id)
        write_node(path, node, layout, config, credentials, moved_ports=first_port is not None)
    cluster_id = format_all(path, layout, credentials)
    if credentials is None:
        return ClusterFolder(path, layout, cluster_id, not configs)
    return ClusterFolder(path, layout, cluster_id, not configs, True, credentials.has_acls)


def write_node(
    path: Path,
    node: ClusterNode,
    layout: ClusterLayout,
    config: BrokerConfig | None,
    credentials: ClusterCredentials | None,
    *,
    moved_ports: bool = False,
) -> None:
    """Write or adjust the properties file of a node, and its certificate if it needs one."""
    security = None
    if credentials is not None:
        credentials.certify(node.node_id)
        security = credentials.node(node.node_id)
    if config is not None:
        _adjust(path, node, layout, config, security, moved_ports=moved_ports)
        return
    file = properties_file(path, node.node_id)
    text = layout.properties(node, data_dir(path, node.node_id), security)
    if security is None:
        file.write_text(text, "utf-8")
    else:
        write_private(file, text)


def _existing_layout(
    path: Path, configs: dict[int, BrokerConfig], brokers: int | None, first_port: int | None
) -> ClusterLayout:
    """Return the layout of an existing folder, with more nodes or other ports if asked for.

    Raises StartError if a controller's file is missing, for fewer nodes than there are, or if nodes
    would get the same port.
    """
    for node_id in voters_of(configs):
        if node_id not in configs:
            raise StartError(
                f"{properties_file(path, node_id)} is missing: node {node_id} is a controller of "
                "this cluster"
            )
    if brokers is not None and brokers < len(configs):
        raise StartError(
            f"{path} holds {len(configs)} nodes and --brokers says {brokers}: leave --brokers out, "
            "choose another --dir, or remove nodes from the running cluster with ottla cluster "
            "shrink"
        )
    before = layout_of(configs)
    layout = before if first_port is None else moved(before, first_port)
    if brokers is not None and brokers > len(configs):
        layout = grown(layout, brokers)
    if first_port is not None and len(layout.ports) < len(layout.nodes) + len(layout.controllers):
        kept = ", ".join(str(node.controller_port) for node in layout.nodes if node.controller_port)
        raise StartError(
            f"--port {first_port}: the controllers keep the ports {kept}, which the cluster's "
            "metadata has: choose a --port whose nodes need other ports"
        )
    return layout


def layout_of(configs: dict[int, BrokerConfig]) -> ClusterLayout:
    """Return the layout of the nodes with these configurations. Raises StartError if a node has no
    broker role."""
    is_static = any(config.controller_quorum_voters for config in configs.values())
    nodes = [cluster_node(config) for config in configs.values()]
    return ClusterLayout(nodes, is_dynamic=not is_static)


def voters_of(configs: dict[int, BrokerConfig]) -> list[int]:
    """Return the ids of the voters: those in the files of a static quorum, else those that the
    metadata logs of all controllers name. The log of a node that has missed the latest changes may
    name further ones."""
    static = [
        voter.node_id for config in configs.values() for voter in config.controller_quorum_voters
    ]
    if static:
        return list(dict.fromkeys(static))
    filesystem = LocalFilesystem()
    logs = [
        voters.ids
        for config in configs.values()
        if config.is_controller
        and (voters := voters_on_disk(filesystem, config.metadata_log_dir)) is not None
    ]
    return [node_id for node_id in logs[0] if all(node_id in ids for ids in logs)] if logs else []


def _adjust(
    path: Path,
    node: ClusterNode,
    layout: ClusterLayout,
    config: BrokerConfig,
    security: NodeSecurity | None,
    *,
    moved_ports: bool,
) -> None:
    """Update, in a node's properties file, the keys that depend on the folder and the ports, if
    those changed."""
    place = layout.keys_of_place(node, data_dir(path, node.node_id), security)
    stores = {} if security is None else security.places
    own_folder = Path(place["log.dirs"])
    changed = {}
    if own_folder.is_dir() and not any(Path(folder).exists() for folder in config.log_dirs):
        changed["log.dirs"] = place["log.dirs"]  # the user moved the folder
    for key, store in stores.items():
        if key in config.originals and not Path(config.originals[key]).exists():
            changed[key] = store
    if moved_ports:
        kept = ("log.dirs", *stores)
        changed |= {key: text for key, text in place.items() if key not in kept}
    if changed:
        file = properties_file(path, node.node_id)
        file.write_text(with_keys(file.read_text("utf-8"), changed), "utf-8")


def nodes_of(path: Path) -> dict[int, BrokerConfig]:
    """Return the configurations of the nodes in a folder, by id; none if there is no folder. Raises
    StartError if a configuration is wrong."""
    try:
        names = sorted(file.name for file in path.iterdir())
    except FileNotFoundError:
        return {}
    ids = sorted(int(match[1]) for name in names if (match := _PROPERTIES_FILE.fullmatch(name)))
    configs = {}
    for node_id in ids:
        file = properties_file(path, node_id)
        config = load_config(str(file), ())
        if config.node_id != node_id:
            raise StartError(f"{file}: node.id is {config.node_id}, the file's name says {node_id}")
        configs[node_id] = config
    return configs


def cluster_node(config: BrokerConfig) -> ClusterNode:
    """Return a node's id and ports. Raises StartError if it has no broker role."""
    controllers = config.controller_listeners
    if not config.broker_listeners:
        raise StartError(f"node {config.node_id} is no broker: start it with ottla serve")
    return ClusterNode(
        config.node_id,
        config.broker_listeners[0].port,
        controllers[0].port if controllers else None,
    )


def format_all(path: Path, layout: ClusterLayout, credentials: ClusterCredentials | None) -> str:
    """Format the data of nodes that are not formatted yet. Return the cluster id.

    Raises StartError if the data of all controllers is missing.
    """
    configs = {
        node.node_id: load_config(str(properties_file(path, node.node_id)), ())
        for node in layout.nodes
    }
    filesystem = LocalFilesystem(
        private=[folder for config in configs.values() for folder in private_folders(config)]
    )
    existing_ids = [cluster_id_of(config, filesystem) for config in configs.values()]
    cluster_id = next(
        (existing_id for existing_id in existing_ids if existing_id is not None), None
    )
    if cluster_id is None:
        cluster_id = new_cluster_id(os.urandom)
    formatted = {
        node_id: config
        for node_id, config in configs.items()
        if is_formatted(config, filesystem, cluster_id)
    }
    if len(formatted) == len(configs):
        return cluster_id
    chosen = _first_voters(path, layout, formatted, filesystem)
    for node_id, config in configs.items():
        if node_id not in formatted:
            now_ms = time.time_ns() // 1_000_000
            first_records = () if credentials is None else credentials.first_records()
            format_storage(
                config,
                filesystem,
                os.urandom,
                now_ms,
                cluster_id,
                first_records,
                chosen=chosen[node_id],
            )
    return cluster_id


def _first_voters(
    path: Path,
    layout: ClusterLayout,
    formatted: dict[int, BrokerConfig],
    filesystem: LocalFilesystem,
) -> dict[int, FirstVoters]:
    """Return the choice of the first voters for each node, by id.

    All controllers of a cluster that has never run begin with the same voters, also if an earlier
    start was interrupted between two nodes. Otherwise a node begins without voters: a lost disk is
    another replica. Raises StartError if the data of all controllers is missing.
    """
    if not layout.is_dynamic:
        return {node.node_id: AS_CONFIGURED for node in layout.nodes}
    none = {node.node_id: FirstVoters(none=True) for node in layout.nodes}
    remaining = [node_id for node_id in layout.controllers if node_id in formatted]
    if any(_has_run(config, filesystem) for config in formatted.values()):
        if not remaining:
            raise StartError(
                f"the data of all controllers of {path} is missing, and with it the metadata: "
                "restore a controller's data, or begin with another --dir"
            )
        return none
    entries = {
        node.node_id: (node.controller_port, random_uuid(os.urandom))
        for node in layout.nodes
        if node.controller_port is not None
    }
    for node_id in remaining:
        voters = voters_on_disk(filesystem, formatted[node_id].metadata_log_dir)
        if voters is not None:
            entries = {
                voter.key.id: (voter.endpoints[0].port, voter.key.directory_id)
                for voter in voters.voters
            }
    text = ",".join(
        f"{node_id}@{HOST}:{port}:{uuid_to_string(directory_id)}"
        for node_id, (port, directory_id) in entries.items()
    )
    return none | {node_id: FirstVoters(initial_controllers=text) for node_id in entries}


def _has_run(config: BrokerConfig, filesystem: LocalFilesystem) -> bool:
    """Return whether a node has been started: formatting alone writes no segment of the log."""
    folder = f"{config.metadata_log_dir}/{METADATA_FOLDER}"
    if not filesystem.exists(folder):
        return False
    return any(name.endswith(".log") for name in filesystem.list_dir(folder))


def cluster_id_of(config: BrokerConfig, filesystem: LocalFilesystem) -> str | None:
    """Return the cluster id in a node's data folder, None if that is not formatted."""
    if not is_formatted(config, filesystem):
        return None
    properties = read_meta_properties(filesystem, config.log_dirs[0])
    return properties.cluster_id if properties is not None else None


def properties_file(path: Path, node_id: int) -> Path:
    """Return the path of the configuration of a node in the cluster's folder."""
    return path / f"broker-{node_id}.properties"


def data_dir(path: Path, node_id: int) -> str:
    """Return the data folder of a node as an absolute path.

    A user may start the node by hand in another working directory.
    """
    return str(path.absolute() / f"broker-{node_id}" / "data")

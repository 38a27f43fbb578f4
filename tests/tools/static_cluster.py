"""A folder as earlier releases of `ottla cluster` made it: a quorum whose voters are static."""

from __future__ import annotations

from pathlib import Path

from command.cluster_folder import open_folder
from command.cluster_layout import new_layout


def static_files(folder: Path, brokers: int, first_port: int) -> None:
    """Write and format the files of so many nodes."""
    folder.mkdir(parents=True, exist_ok=True)
    layout = new_layout(brokers, first_port)
    for node in layout.nodes:
        data = folder.absolute() / f"broker-{node.node_id}" / "data"
        text = layout.properties(node, str(data))
        (folder / f"broker-{node.node_id}.properties").write_text(text)
    open_folder(str(folder), None, None)

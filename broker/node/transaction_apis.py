"""The APIs of transactions with their collaborators: loaded with the first request for one of them.

`broker.node.apis` holds the rest, and the table of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.apis.transaction_admin import TransactionAdminApi
from broker.apis.transactions import TransactionsApi
from broker.apis.txn_offset_commit import TxnOffsetCommitApi
from broker.apis.write_txn_markers import WriteTxnMarkersApi
from broker.requests.context import Api

if TYPE_CHECKING:
    from broker.node.broker_server import BrokerServer


def node_transaction_apis(node: BrokerServer) -> list[Api]:
    """The APIs of `broker.node.apis.TRANSACTION_KEYS`."""
    coordinator = node.transactions.coordinator
    return [
        *TransactionsApi(node, coordinator, node.groups.partition_for).apis(),
        *TransactionAdminApi(coordinator).apis(),
        *TxnOffsetCommitApi(node, node.groups).apis(),
        *WriteTxnMarkersApi(node.replicas, node.groups, node.config.request_timeout_ms).apis(),
    ]

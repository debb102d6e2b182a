"""Transactions: the coordinator of transactional ids over `__transaction_state`, as pure decisions and a log.

state             the states, the events and the one table of both
transaction       what is stored of a transactional id, and which markers it lacks
initializing      InitProducerId: who owns the id, and who is fenced (KIP-98, KIP-360)
transaction_partitions
                  the partitions of a transaction: adding and verifying (KIP-890)
ending            EndTxn, timeouts: Prepare and Complete
state_records     Kafka's formats of `__transaction_state`
state_store       the partitions led here; memory follows the log
loading           a partition's records back into memory
ports             what the coordinator needs of its broker
marker_delivery   markers until every partition has its own
inspection        lists, descriptions, the words for a person
transaction_coordinator
                  the entry point
"""

from typing import TYPE_CHECKING

from odradek.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from odradek.coordinator.transactions.ports import Marker, MarkerWriter
    from odradek.coordinator.transactions.transaction import NO_PRODUCER, Producer, TransactionVersion
    from odradek.coordinator.transactions.transaction_coordinator import TransactionCoordinator

__all__ = [
    "NO_PRODUCER",
    "Marker",
    "MarkerWriter",
    "Producer",
    "TransactionCoordinator",
    "TransactionVersion",
]

__getattr__ = lazy_names(
    __name__,
    {
        "Marker": "odradek.coordinator.transactions.ports",
        "MarkerWriter": "odradek.coordinator.transactions.ports",
        "NO_PRODUCER": "odradek.coordinator.transactions.transaction",
        "Producer": "odradek.coordinator.transactions.transaction",
        "TransactionCoordinator": "odradek.coordinator.transactions.transaction_coordinator",
        "TransactionVersion": "odradek.coordinator.transactions.transaction",
    },
)

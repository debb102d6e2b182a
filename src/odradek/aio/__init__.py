"""The asyncio clients of Odradek: their public names, each loaded when it is first used."""

from typing import TYPE_CHECKING

from odradek.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from odradek.base.errors import ProducerFatal, TransactionAbortable, WakeupError
    from odradek.base.ids import TopicPartition
    from odradek.client.aio.admin import Admin
    from odradek.client.aio.consumer import Consumer
    from odradek.client.aio.deliveries import Receipt
    from odradek.client.aio.interceptors import ConsumerInterceptor
    from odradek.client.aio.producer import Producer
    from odradek.client.aio.producer_interceptors import ProducerInterceptor, ProducerRecord
    from odradek.client.aio.rebalance_listener import RebalanceListener
    from odradek.client.aio.table_deliveries import TableReceipt
    from odradek.client.core.consumer.completed_fetch import ConsumerRecord
    from odradek.client.core.consumer.offset_operations import OffsetAndTimestamp
    from odradek.client.core.membership.group_metadata import GroupMetadata
    from odradek.client.core.offset_and_metadata import OffsetAndMetadata
    from odradek.client.core.waiting import Cause, Why

__all__ = [
    "Admin",
    "Cause",
    "Consumer",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "GroupMetadata",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Producer",
    "ProducerFatal",
    "ProducerInterceptor",
    "ProducerRecord",
    "RebalanceListener",
    "Receipt",
    "TableReceipt",
    "TopicPartition",
    "TransactionAbortable",
    "WakeupError",
    "Why",
]

__getattr__ = lazy_names(
    __name__,
    {
        "TransactionAbortable": "odradek.base.errors",
        "ProducerFatal": "odradek.base.errors",
        "GroupMetadata": "odradek.client.core.membership.group_metadata",
        "Admin": "odradek.client.aio.admin",
        "Cause": "odradek.client.core.waiting",
        "Consumer": "odradek.client.aio.consumer",
        "ConsumerInterceptor": "odradek.client.aio.interceptors",
        "ConsumerRecord": "odradek.client.core.consumer.completed_fetch",
        "OffsetAndMetadata": "odradek.client.core.offset_and_metadata",
        "OffsetAndTimestamp": "odradek.client.core.consumer.offset_operations",
        "Producer": "odradek.client.aio.producer",
        "RebalanceListener": "odradek.client.aio.rebalance_listener",
        "ProducerInterceptor": "odradek.client.aio.producer_interceptors",
        "ProducerRecord": "odradek.client.aio.producer_interceptors",
        "Receipt": "odradek.client.aio.deliveries",
        "TableReceipt": "odradek.client.aio.table_deliveries",
        "TopicPartition": "odradek.base.ids",
        "WakeupError": "odradek.base.errors",
        "Why": "odradek.client.core.waiting",
    },
)

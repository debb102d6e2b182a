"""Odradek: a Kafka-compatible log for Python people."""

from typing import TYPE_CHECKING

from odradek.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from odradek.base.error_codes import ErrorCode
    from odradek.base.errors import (
        ApiError,
        ElementsRefused,
        ProducerFatal,
        SettingError,
        TransactionAbortable,
        WakeupError,
    )
    from odradek.base.ids import TopicPartition
    from odradek.base.offset_timestamps import EARLIEST, LATEST, MAX_TIMESTAMP
    from odradek.client.aio.deliveries import Receipt
    from odradek.client.aio.interceptors import ConsumerInterceptor
    from odradek.client.aio.producer_interceptors import ProducerInterceptor, ProducerRecord
    from odradek.client.aio.rebalance_listener import RebalanceListener
    from odradek.client.aio.table_deliveries import TableReceipt
    from odradek.client.blocking.admin import Admin
    from odradek.client.blocking.consumer import Consumer
    from odradek.client.blocking.delivery import Delivery, TableDelivery
    from odradek.client.blocking.producer import Producer
    from odradek.client.core.admin.acls import Acl, AclFilter
    from odradek.client.core.admin.cluster import Election
    from odradek.client.core.admin.configs import Append, Subtract
    from odradek.client.core.admin.features import FeatureChange
    from odradek.client.core.admin.log_dirs import TopicPartitionReplica
    from odradek.client.core.admin.topics import NewTopic
    from odradek.client.core.consumer.completed_fetch import ConsumerRecord
    from odradek.client.core.consumer.offset_operations import OffsetAndTimestamp
    from odradek.client.core.membership.group_metadata import GroupMetadata
    from odradek.client.core.offset_and_metadata import OffsetAndMetadata
    from odradek.client.core.waiting import Cause, Why

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "Acl",
    "AclFilter",
    "Admin",
    "ApiError",
    "Append",
    "Cause",
    "Consumer",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "Delivery",
    "Election",
    "ElementsRefused",
    "ErrorCode",
    "FeatureChange",
    "GroupMetadata",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Producer",
    "ProducerFatal",
    "ProducerInterceptor",
    "ProducerRecord",
    "RebalanceListener",
    "Receipt",
    "SettingError",
    "Subtract",
    "TableDelivery",
    "TableReceipt",
    "TopicPartition",
    "TopicPartitionReplica",
    "TransactionAbortable",
    "WakeupError",
    "Why",
    "__version__",
]

__version__ = "0.1.0"

__getattr__ = lazy_names(
    __name__,
    {
        "TransactionAbortable": "odradek.base.errors",
        "ProducerFatal": "odradek.base.errors",
        "GroupMetadata": "odradek.client.core.membership.group_metadata",
        "Acl": "odradek.client.core.admin.acls",
        "AclFilter": "odradek.client.core.admin.acls",
        "Admin": "odradek.client.blocking.admin",
        "ApiError": "odradek.base.errors",
        "Append": "odradek.client.core.admin.configs",
        "Cause": "odradek.client.core.waiting",
        "Consumer": "odradek.client.blocking.consumer",
        "ConsumerInterceptor": "odradek.client.aio.interceptors",
        "ConsumerRecord": "odradek.client.core.consumer.completed_fetch",
        "Delivery": "odradek.client.blocking.delivery",
        "EARLIEST": "odradek.base.offset_timestamps",
        "Election": "odradek.client.core.admin.cluster",
        "ElementsRefused": "odradek.base.errors",
        "ErrorCode": "odradek.base.error_codes",
        "FeatureChange": "odradek.client.core.admin.features",
        "LATEST": "odradek.base.offset_timestamps",
        "MAX_TIMESTAMP": "odradek.base.offset_timestamps",
        "NewTopic": "odradek.client.core.admin.topics",
        "OffsetAndMetadata": "odradek.client.core.offset_and_metadata",
        "OffsetAndTimestamp": "odradek.client.core.consumer.offset_operations",
        "Producer": "odradek.client.blocking.producer",
        "RebalanceListener": "odradek.client.aio.rebalance_listener",
        "ProducerInterceptor": "odradek.client.aio.producer_interceptors",
        "ProducerRecord": "odradek.client.aio.producer_interceptors",
        "Receipt": "odradek.client.aio.deliveries",
        "SettingError": "odradek.base.errors",
        "Subtract": "odradek.client.core.admin.configs",
        "TableDelivery": "odradek.client.blocking.delivery",
        "TableReceipt": "odradek.client.aio.table_deliveries",
        "TopicPartition": "odradek.base.ids",
        "TopicPartitionReplica": "odradek.client.core.admin.log_dirs",
        "WakeupError": "odradek.base.errors",
        "Why": "odradek.client.core.waiting",
    },
)

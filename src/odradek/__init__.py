"""Odradek: a Kafka-compatible log for Python people."""

from typing import TYPE_CHECKING

from odradek.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from odradek.base.error_codes import ErrorCode
    from odradek.base.errors import ApiError, SettingError
    from odradek.base.ids import TopicPartition
    from odradek.client.blocking.admin import Admin
    from odradek.client.core.admin.cluster import Election
    from odradek.client.core.admin.offsets import EARLIEST, LATEST, MAX_TIMESTAMP
    from odradek.client.core.admin.topics import NewTopic

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "Admin",
    "ApiError",
    "Election",
    "ErrorCode",
    "NewTopic",
    "SettingError",
    "TopicPartition",
    "__version__",
]

__version__ = "0.1.0"

__getattr__ = lazy_names(
    __name__,
    {
        "EARLIEST": "odradek.client.core.admin.offsets",
        "LATEST": "odradek.client.core.admin.offsets",
        "MAX_TIMESTAMP": "odradek.client.core.admin.offsets",
        "Admin": "odradek.client.blocking.admin",
        "ApiError": "odradek.base.errors",
        "Election": "odradek.client.core.admin.cluster",
        "ErrorCode": "odradek.base.error_codes",
        "NewTopic": "odradek.client.core.admin.topics",
        "SettingError": "odradek.base.errors",
        "TopicPartition": "odradek.base.ids",
    },
)

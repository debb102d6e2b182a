"""The admin clients under test, by name."""

from compat.admins.aiokafka import AiokafkaAdmin
from compat.admins.confluent import ConfluentAdmin
from compat.admins.kafka_python import KafkaPythonAdmin
from compat.admins.model import Admin, ConfigSource
from compat.admins.odradek import OdradekAdmin

ADMINS: dict[str, type[Admin]] = {
    admin.name: admin for admin in (ConfluentAdmin, KafkaPythonAdmin, AiokafkaAdmin, OdradekAdmin)
}

__all__ = ["ADMINS", "Admin", "ConfigSource"]

"""The words that some settings are chosen from: help and completion load no table of settings for them."""

from typing import Final

ACKS: Final = ("0", "1", "all", "-1")
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
GROUP_PROTOCOLS: Final = ("consumer", "classic")
ISOLATION_LEVELS: Final = {"read_uncommitted": 0, "read_committed": 1}
"""With their numbers in requests."""

"""Kafka Streams, which uses groups, transactions and internal topics together."""

from compat.streams.counts import Counts
from compat.streams.word_count import WordCount

__all__ = ["Counts", "WordCount"]

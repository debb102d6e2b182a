"""What the codec costs per message: ``python benchmarks/micro/wire.py``.

Prints microseconds per decode and per encode, the best of several rounds, for the messages that a busy broker
sees most. Two cores shared with anything else make it noisy: compare only figures of one run.
"""

import timeit
from collections.abc import Callable
from functools import partial
from uuid import UUID

from odradek.wire.headers import RequestHeader, decode_request_header, encode_request_header
from odradek.wire.message import Message
from odradek.wire.messages import fetch, list_offsets, metadata, produce

ROUNDS = 7
ROUND_S = 0.1


def microseconds(call: Callable[[], object]) -> float:
    """The least time that one call took on average over a round."""
    timer = timeit.Timer(call)
    calls = max(1, int(timer.autorange()[0] * ROUND_S / 0.2))
    return min(timer.repeat(ROUNDS, calls)) / calls * 1e6


def messages() -> dict[str, tuple[Message, int]]:
    """The messages by what they are called in the printout, with their versions."""
    topic_id = UUID(int=0x1234567890ABCDEF1234567890ABCDEF)
    batch = bytes(1024)
    partitions = range(100)
    return {
        "produce v9 request, 1 partition": (
            produce.ProduceRequest(
                acks=-1,
                timeout_ms=30_000,
                topic_data=[
                    produce.TopicProduceData(
                        name="flights", partition_data=[produce.PartitionProduceData(0, batch)]
                    )
                ],
            ),
            9,
        ),
        "produce v9 response, 1 partition": (
            produce.ProduceResponse(
                responses=[
                    produce.TopicProduceResponse(
                        name="flights",
                        partition_responses=[produce.PartitionProduceResponse(index=0, base_offset=42)],
                    )
                ]
            ),
            9,
        ),
        "fetch v13 request, 100 partitions": (
            fetch.FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                topics=[
                    fetch.FetchTopic(
                        topic_id=topic_id,
                        partitions=[
                            fetch.FetchPartition(
                                partition=index, fetch_offset=1_000, partition_max_bytes=1 << 20
                            )
                            for index in partitions
                        ],
                    )
                ],
            ),
            13,
        ),
        "fetch v13 response, 100 partitions": (
            fetch.FetchResponse(
                responses=[
                    fetch.FetchableTopicResponse(
                        topic_id=topic_id,
                        partitions=[
                            fetch.PartitionData(partition_index=index, high_watermark=1_000, records=batch)
                            for index in partitions
                        ],
                    )
                ]
            ),
            13,
        ),
        "metadata v12 response, 100 partitions": (
            metadata.MetadataResponse(
                brokers=[metadata.MetadataResponseBroker(node_id=1, host="localhost", port=9092)],
                cluster_id="cluster",
                controller_id=1,
                topics=[
                    metadata.MetadataResponseTopic(
                        name="flights",
                        topic_id=topic_id,
                        partitions=[
                            metadata.MetadataResponsePartition(
                                partition_index=index, leader_id=1, replica_nodes=[1], isr_nodes=[1]
                            )
                            for index in partitions
                        ],
                    )
                ],
            ),
            12,
        ),
        "list_offsets v7 request, 1 partition": (
            list_offsets.ListOffsetsRequest(
                replica_id=-1,
                topics=[
                    list_offsets.ListOffsetsTopic(
                        name="flights", partitions=[list_offsets.ListOffsetsPartition(timestamp=-1)]
                    )
                ],
            ),
            7,
        ),
    }


def main() -> None:
    """Print the table."""
    print(f"{'µs per message':42}{'decode':>9}{'encode':>9}{'bytes':>9}")
    header = RequestHeader(0, 9, 1, "rdkafka")
    data = encode_request_header(header)
    decoding = microseconds(lambda: decode_request_header(data))
    encoding = microseconds(lambda: encode_request_header(header))
    print(f"{'request header v2':42}{decoding:9.2f}{encoding:9.2f}{len(data):9}")
    for name, (message, version) in messages().items():
        data = message.encode(version)
        kind = type(message)
        decoding = microseconds(partial(kind.decode, data, version))
        encoding = microseconds(partial(message.encode_parts, version))
        print(f"{name:42}{decoding:9.2f}{encoding:9.2f}{len(data):9}")


if __name__ == "__main__":
    main()

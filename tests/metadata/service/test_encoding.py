"""Messages as bytes: whatever is encoded is decoded as itself, and other bytes are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.base.buffers import Buffer
from odradek.base.execution import exhaust
from odradek.metadata.channel import MalformedMessage
from odradek.metadata.service.decoding import decode_to_client, decode_to_server
from odradek.metadata.service.encoding import JOINED_BYTES_MAX, encode
from odradek.metadata.service.messages import (
    CloseSession,
    Greeting,
    Heartbeat,
    Message,
    OpenSession,
    ResumeSession,
    SessionBegan,
    SessionKey,
    Submitted,
    ToClient,
    ToServer,
)
from odradek.metadata.store import (
    Check,
    Checked,
    Children,
    Committed,
    Create,
    Created,
    Data,
    Delete,
    Deleted,
    Existence,
    Exists,
    Failed,
    Fault,
    GetChildren,
    GetData,
    Multi,
    NodeChange,
    NodeStat,
    ReadOperation,
    ReadResult,
    ReadResults,
    Reads,
    Reconnected,
    Result,
    SessionEnded,
    SetData,
    StoreLimits,
    StoreReplied,
    WatchFired,
    WriteOperation,
    WriteResult,
    Written,
)

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1, max_size=5)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: "/" + "/".join(names))
DATA = st.one_of(
    st.binary(max_size=20), st.sampled_from([bytes(JOINED_BYTES_MAX), bytes(JOINED_BYTES_MAX + 1)])
)
VERSIONS = st.integers(-1, 1 << 62)
CALLS = st.integers(0, 1 << 62)
WRITES: st.SearchStrategy[WriteOperation] = st.one_of(
    st.builds(Create, PATHS, DATA, st.booleans(), st.booleans()),
    st.builds(SetData, PATHS, DATA, VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
    st.builds(Check, PATHS, VERSIONS),
)
READS: st.SearchStrategy[ReadOperation] = st.one_of(
    *(
        st.builds(kind, st.one_of(PATHS, st.just("/")), st.booleans())
        for kind in (GetData, GetChildren, Exists)
    )
)
OPERATIONS = st.one_of(
    WRITES.filter(lambda write: not isinstance(write, Check)),
    READS,
    st.lists(WRITES, max_size=5).map(lambda writes: Multi(tuple(writes))),
    st.lists(READS, max_size=5).map(lambda reads: Reads(tuple(reads))),
)
KEYS = st.builds(SessionKey, VERSIONS, st.binary(max_size=20))
TO_SERVER: st.SearchStrategy[ToServer] = st.one_of(
    st.builds(OpenSession, st.integers(1, 1 << 40), st.integers(0, 1 << 30), st.none() | KEYS),
    st.builds(ResumeSession, KEYS),
    st.builds(Submitted, CALLS, OPERATIONS),
    st.just(Heartbeat()),
    st.just(CloseSession()),
)
STATS = st.builds(NodeStat, VERSIONS, VERSIONS, VERSIONS)
FAILURES = st.builds(Failed, st.sampled_from(Fault), st.text(max_size=5), st.integers(0, 1 << 31))
WRITE_RESULTS: st.SearchStrategy[WriteResult] = st.one_of(
    st.builds(Created, PATHS), st.builds(Written, VERSIONS), st.just(Deleted()), st.just(Checked())
)
READ_RESULTS: st.SearchStrategy[ReadResult] = st.one_of(
    st.builds(Data, DATA, STATS),
    st.lists(NAMES, max_size=5).map(lambda names: Children(tuple(names))),
    st.builds(Existence, st.none() | STATS),
    FAILURES,
)
RESULTS: st.SearchStrategy[Result] = st.one_of(
    WRITE_RESULTS,
    READ_RESULTS,
    st.lists(WRITE_RESULTS, max_size=5).map(lambda results: Committed(tuple(results))),
    st.lists(READ_RESULTS, max_size=5).map(lambda results: ReadResults(tuple(results))),
)
TO_CLIENT: st.SearchStrategy[ToClient] = st.one_of(
    st.builds(Greeting, st.integers(0, 65_535), st.builds(StoreLimits, *[st.integers(0, (1 << 32) - 1)] * 3)),
    st.builds(SessionBegan, KEYS),
    st.just(Reconnected()),
    st.just(SessionEnded()),
    st.builds(StoreReplied, CALLS, RESULTS),
    st.builds(WatchFired, PATHS, st.sampled_from(NodeChange)),
    st.just(Heartbeat()),
)


def encoded(message: Message) -> bytes:
    parts: list[Buffer] = exhaust(encode(message))
    return b"".join(parts)


@settings(max_examples=40, deadline=None)
@given(TO_SERVER)
def test_what_a_client_sends_is_decoded_as_itself(message: ToServer) -> None:
    assert exhaust(decode_to_server(encoded(message))) == message


@settings(max_examples=40, deadline=None)
@given(TO_CLIENT)
def test_what_a_server_sends_is_decoded_as_itself(message: ToClient) -> None:
    assert exhaust(decode_to_client(encoded(message))) == message


@settings(max_examples=40, deadline=None)
@given(st.one_of(TO_SERVER, TO_CLIENT), st.data())
def test_a_message_that_is_cut_is_refused(message: Message, data: st.DataObject) -> None:
    whole = encoded(message)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    for decode in (decode_to_server, decode_to_client):
        with pytest.raises(MalformedMessage):
            exhaust(decode(cut))


@settings(max_examples=40, deadline=None)
@given(st.one_of(TO_SERVER, TO_CLIENT), st.data())
def test_a_message_with_other_bytes_is_another_message_or_is_refused(
    message: Message, data: st.DataObject
) -> None:
    damaged = bytearray(encoded(message))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, min(len(damaged), 60) - 1))] = data.draw(st.integers(0, 255))
    for decode in (decode_to_server, decode_to_client):
        try:
            other = exhaust(decode(bytes(damaged)))
        except MalformedMessage:
            continue
        assert exhaust(decode(encoded(other))) == other


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=100))
def test_any_bytes_are_a_message_or_are_refused(noise: bytes) -> None:
    for decode in (decode_to_server, decode_to_client):
        try:
            exhaust(decode(noise))
        except MalformedMessage:
            continue


HEAD = bytes([2]) + bytes(8)
CHECKED = encoded(Submitted(0, Multi((Check("/a", 1),))))
READING = encoded(Submitted(0, Reads((Exists("/a"),))))


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"", "a message ends within its fields"),
        (b"\x09", "a message of the kind 9, which no client sends"),
        (b"\x04\x00", "1 bytes behind the end of a message"),
        (b"\x01" + bytes(8) + bytes(4) + b"\x00", "a session timeout of 0 ms"),
        (
            encoded(Submitted(0, Multi((Check("/a", 1),)))).replace(b"\x05", b"\x09", 1),
            "a Check within reads",
        ),
        (
            encoded(Submitted(0, Reads((Exists("/a"),)))).replace(b"\x09", b"\x05", 1),
            "a Exists within a multi",
        ),
        (encoded(Submitted(0, Delete("/a"))).replace(b"/a", b"aa"), "'aa' is no path of a node"),
        (encoded(Submitted(0, Delete("/a"))).replace(b"/a", b"/\xff"), "a text is not UTF-8"),
        (encoded(Submitted(0, Delete("/"))), "the root is neither made nor deleted"),
        (HEAD + b"\x04" + bytes(7) + b"\x01\x00\x00\x00\x02\x00\x00\x00\x00/a", "a check outside of a multi"),
        (
            HEAD + b"\x05" + b"\x00\x00\x00\x00\xff\xff\xff\xff" + bytes(8),
            "4294967295 elements are announced",
        ),
    ],
)
def test_what_is_wrong_is_said(frame: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage) as refused:
        exhaust(decode_to_server(frame))
    assert reason in str(refused.value)


def steps_of(message: Message) -> tuple[int, int]:
    """How many steps encoding and decoding take."""
    sent = 0
    encoding = encode(message)
    try:
        while True:
            next(encoding)
            sent += 1
    except StopIteration as end:
        frame = b"".join(end.value)
    received = sum(1 for _ in (decode_to_server if frame[0] < 32 else decode_to_client)(frame))
    return sent, received


def test_large_messages_are_encoded_and_decoded_in_steps() -> None:
    many = Multi(tuple(SetData(f"/n{number}", b"{}") for number in range(5_000)))
    assert min(steps_of(Submitted(0, many))) >= 49
    done = Committed(tuple(Written(number) for number in range(5_000)))
    assert min(steps_of(StoreReplied(0, done))) >= 49
    names = Children(tuple(map(str, range(10_000))))
    assert min(steps_of(StoreReplied(0, names))) >= 9
    big = ReadResults((Data(bytes(1 << 20), NodeStat(0, 0, 0)),) * 10)
    assert min(steps_of(StoreReplied(0, big))) >= 9
    megabytes = Multi(tuple(SetData(f"/n{number}", bytes(200_000)) for number in range(20)))
    assert steps_of(Submitted(0, megabytes))[1] >= 9

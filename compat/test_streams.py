"""Kafka Streams with `exactly_once_v2`: each word is counted once, whichever process is killed."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from peers import BrokerProcess
from peers.waiting import WAIT_S_MAX

from compat.clients import Client, Record
from compat.streams import Counts, WordCount

pytestmark = pytest.mark.needs_api(
    "JoinGroup", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn", "DeleteRecords"
)

PARTITIONS = 2
LINE_COUNT = 300
WORDS = ("flight", "gate", "delay", "runway", "crew", "fuel", "tower")
# At its first start it takes this long for each count, so that the 900 fill many transactions (of 100 ms).
PAUSE_MS = 5
LOOK_INTERVAL_S = 0.05


@pytest.fixture
def lines() -> list[str]:
    """Lines of three words each; every word is in every partition, many times."""
    return [
        " ".join(WORDS[(number + step) % len(WORDS)] for step in range(3)) for number in range(LINE_COUNT)
    ]


@pytest.fixture
def start(
    broker: BrokerProcess, new_topic: Callable[..., str], fresh_name: Callable[[], str], tmp_path: Path
) -> Iterator[Callable[[str], tuple[WordCount, Counts]]]:
    """Make a word count over a topic, and its topic of counts; it is killed when the test ends."""
    if WordCount.missing():
        pytest.skip(WordCount.missing())
    made: list[WordCount] = []

    def make(lines_topic: str) -> tuple[WordCount, Counts]:
        counts_topic = new_topic()
        made.append(WordCount(broker.bootstrap, fresh_name(), lines_topic, counts_topic, tmp_path))
        return made[-1], Counts(broker.bootstrap, counts_topic)

    yield make
    for each in made:
        each.kill()


def until(word_count: WordCount, counts: Counts, condition: Callable[[], bool], complaint: str) -> None:
    """Check repeatedly until the condition holds; fails with the counts and the application's output."""
    deadline = time.monotonic() + WAIT_S_MAX
    while not condition():
        if time.monotonic() > deadline:
            stable, end = counts.ends()
            counted = number_of(counts.committed())
            pytest.fail(
                f"{complaint}; {counted} counts are committed, the last stable offset is {stable}, "
                f"the end {end}; it printed: {word_count.output()}"
            )
        time.sleep(LOOK_INTERVAL_S)


def number_of(counted: dict[str, list[int]]) -> int:
    return sum(map(len, counted.values()))


@pytest.mark.parametrize("state", ["kept", "wiped"])
def test_a_word_count_killed_in_a_transaction_counts_each_word_once(
    state: str,
    start: Callable[[str], tuple[WordCount, Counts]],
    all_clients: dict[str, Client],
    new_topic: Callable[..., str],
    lines: list[str],
) -> None:
    source = new_topic(partitions=PARTITIONS)
    records = [Record(line.encode(), partition=number % PARTITIONS) for number, line in enumerate(lines)]
    all_clients["confluent-kafka"].write(source, records)
    word_count, counts = start(source)
    word_count.start(PAUSE_MS)

    def is_in_the_middle() -> bool:
        stable, end = counts.ends()
        return 0 < stable < end

    def is_killed_in_the_middle() -> bool:
        # Frozen only when the moment is near: a process that is frozen at every check hardly starts.
        if not is_in_the_middle():
            return False
        with word_count.frozen():
            is_sure = is_in_the_middle()
            if is_sure:
                word_count.kill()
        return is_sure

    until(
        word_count,
        counts,
        is_killed_in_the_middle,
        "no transaction was ever found open behind a committed one",
    )
    words = Counter(word for line in lines for word in line.split())
    before = counts.committed()
    assert 0 < number_of(before) < words.total(), before
    if state == "wiped":
        word_count.wipe()
    word_count.start()

    def are_all_counted() -> bool:
        return number_of(counts.committed()) >= words.total()

    until(word_count, counts, are_all_counted, "not all words were counted")
    word_count.close()
    assert counts.committed() == {word: list(range(1, count + 1)) for word, count in words.items()}
    stable, end = counts.ends()
    assert stable == end, "a transaction was left open"

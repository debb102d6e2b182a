"""Compares the topic of dead letters with the ledger: each dead letter that was sent is there once.

With `verifying`, which counts rows and the ledger's dead letters against the topics that were read, this says
that each record is once in the sink or in the topic of dead letters. A replay changes nothing here: what it
takes back stays in the topic.
"""

from collections.abc import Mapping

from odradek.base.ids import TopicPartition
from odradek.records.columnar.varints import Longs
from odradek.spark.pipeline.dead_letter_topic import LetterNote, newest_letter_note
from odradek.spark.pipeline.description import TOPIC, Description
from odradek.spark.pipeline.ledger import Table, TableRefused
from odradek.spark.pipeline.row_offsets import PartitionOffsets, in_words, joined, without
from odradek.spark.pipeline.topic_counting import letter_offsets, may_have_repeated
from odradek.spark.pipeline.verifying import Findings
from odradek.spark.pipeline.verifying_replays import letters_of, readable_commits


def check_letters(found: Findings, description: Description, ledger: Table) -> None:
    """Note what the topic of dead letters has other than it should. Raises OdradekError.

    Batches that were committed before the topic was named need not be there, and may be.
    """
    topic = description.letters_topic
    # Of a topic as the sink, rows and dead letters were sent as one.
    note = None if description.sink_format == TOPIC else _note(description, ledger)
    if note is not None and note.batch < 0:
        found.letters_pending = sum(
            one.dead_letters for one in readable_commits(ledger) if one.letters_topic == topic
        )
        return
    # The topic is read first: the ledger has what a run has sent meanwhile.
    sent, has_lost = letter_offsets(description, note.starts if note else {})
    known: PartitionOffsets = {}
    due: PartitionOffsets = {}
    for commit in readable_commits(ledger):
        if commit.is_replay:
            continue
        letters = letters_of(ledger, commit)
        known = joined(known, letters)
        if commit.letters_topic != topic:
            continue
        if note is not None and commit.batch > note.batch:
            found.letters_pending += commit.dead_letters
            continue
        due = joined(due, letters)
    missing = without(due, sent.offsets)
    found.letters_sent = _count(due) - _count(missing)
    if has_lost:
        found.letters_gone = _count(missing)
    else:
        for words in in_words(missing):
            found.fault(f"topic {topic} lacks dead letters, {words}")
    if may_have_repeated(description, ledger):
        return
    for words in in_words(without(sent.offsets, known)):
        found.fault(f"topic {topic} has dead letters that the ledger does not have, {words}")
    double = {one: mine[1:][mine[1:] == mine[:-1]] for one, mine in sent.offsets.items()}
    for words in in_words({one: mine for one, mine in double.items() if len(mine)}):
        found.fault(f"topic {topic} has dead letters more than once, {words}")


def _note(description: Description, ledger: Table) -> LetterNote:
    """What is noted of this table; a batch of -1 if nothing is."""
    note = newest_letter_note(description)
    try:
        is_known = note is not None and note.is_of(ledger)
    except TableRefused:  # `verify` names it
        is_known = False
    return note if note is not None and is_known else LetterNote(-1, 0)


def _count(offsets: Mapping[TopicPartition, Longs]) -> int:
    return sum(len(mine) for mine in offsets.values())

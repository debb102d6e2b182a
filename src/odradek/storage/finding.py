"""Findings: problems that the broker detects at startup, or at the first use of a file after it."""

from enum import Enum

from odradek.base.values import value


class FindingKind(Enum):
    """The kinds of findings; the sentence of a finding names the place and the remedy."""

    SETTING_REFUSED = "a setting in the metadata store cannot be in force"
    UNCLEAN_STOP = "the last stop was not clean"
    DIRECTORY_OFFLINE = "a log directory cannot be used"
    DIRECTORY_COPIED = "a log directory is an old copy"
    METADATA_COPIED = "the metadata store is older than a log directory"
    LOGS_MISSING = "logs lie in a directory that is missing"
    LOGS_VANISHED = "logs are missing although no directory is"
    CREATION_INTERRUPTED = "logs were not made before the stop"
    STRAYS_SET_ASIDE = "logs that the metadata store does not have here were set aside"
    STRAYS_LEFT = "logs that an earlier start set aside are still there"
    STRAYS_BACK = "logs that were set aside have their topics again"
    REPLICAS_MOVED = "replicas were moved to other brokers while this one was away"
    MOVE_DONE = "logs were moved to another directory, but for names of files"
    MOVE_CONTINUED = "logs are still to be moved to another directory"
    MOVE_ENDED = "copies have records that their logs lack"
    MOVE_LEFT = "a copy of a log that is not there"
    NOT_A_LOG = "something among the logs is no log"
    FILE_DAMAGED = "a file is damaged"
    LOG_CUT = "the end of a log was cut off"
    LOG_START_TAKEN = "only the leader epochs of a log have its start"
    INDEX_REBUILT = "an index was made again"
    RECORDS_LOST = "a log ends before what it had reached"
    REPAIRED = "a file was made again while the broker runs"


@value
class Finding:
    """One problem, with a sentence for the operator."""

    kind: FindingKind
    sentence: str

    def __str__(self) -> str:
        return self.sentence

"""Reports what was found when the log directories were opened, for the operator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from odradek.base.ids import TopicPartition
from odradek.base.some_names import some_of
from odradek.storage.checkpoint import Damage
from odradek.storage.finding import Finding
from odradek.storage.finding import FindingKind as Kind
from odradek.storage.loading import LogRecovery


@dataclass(slots=True)
class OpeningReport:
    """What was found when the directories were opened (L4, R15)."""

    unclean_directories: list[str] = field(default_factory=list)
    """The directories whose last stop was not clean: their logs were verified."""
    offline_directories: dict[str, str] = field(default_factory=dict)
    """The directories that cannot be used, with the cause and the remedy."""
    damages: list[Damage] = field(default_factory=list)
    """Checkpoint files that were ignored."""
    ignored: list[str] = field(default_factory=list)
    """Directories that are not logs."""
    logs: list[LogRecovery] = field(default_factory=list)
    """Every log that was verified, repaired or cut."""
    copied_directories: dict[str, int] = field(default_factory=dict)
    """The directories with the clean-stop mark of a run before the last, and its broker epoch."""
    later_directories: dict[str, int] = field(default_factory=dict)
    """The directories with the mark of a run that the metadata store does not know yet, and its epoch."""
    new_directories: list[str] = field(default_factory=list)
    """The directories that had no id yet."""
    strays: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs of unknown topics, set aside just now."""
    strays_left: dict[str, list[str]] = field(default_factory=dict)
    """By directory, the strays that earlier startups set aside."""
    moved_away: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs of replicas that other brokers have now, all in sync: removed."""
    strays_moved: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs of replicas that other brokers have now, set aside just now."""
    moved_left: dict[str, list[str]] = field(default_factory=dict)
    """By directory, such logs that earlier startups set aside."""
    strays_back: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs that an earlier start had set aside and whose topics are known again."""
    moves_done: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs whose move to it was done but for the names of files, and was finished."""
    moves_continued: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs that are moved to it: their copies are completed."""
    moves_begun_anew: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs that are moved to it, and whose copies are made again from the beginning."""
    moves_ended: dict[str, list[str]] = field(default_factory=dict)
    """By directory, copies that were set aside because they have records that their logs lack."""
    moves_left: list[str] = field(default_factory=list)
    """The paths of unfinished copies whose logs are not served."""
    missing_directories: tuple[UUID, ...] = ()
    """Log directories that this broker had and that are not there, as far as logs are missing."""
    missing_logs: list[TopicPartition] = field(default_factory=list)
    """Logs that the store expects here, in sync, and that lay in a directory that is missing or offline."""
    vanished_logs: list[TopicPartition] = field(default_factory=list)
    """Logs that the store expects here, in sync, although no directory is missing: made anew."""
    unmade_logs: list[TopicPartition] = field(default_factory=list)
    """Logs that the broker was to make when it stopped: nothing was ever written to them."""
    creations_undone: dict[str, list[TopicPartition]] = field(default_factory=dict)
    """By directory, the logs without records that a failing disk left, and that are in another directory."""

    @property
    def lacks_records(self) -> bool:
        """Whether a log is gone, or ends below an offset that it had reached by a checkpoint."""
        return bool(self.vanished_logs) or any(log.lost_up_to is not None for log in self.logs)

    def findings(self) -> list[Finding]:
        """One finding for each problem."""
        found = [
            Finding(Kind.UNCLEAN_STOP, f"{path} was not stopped cleanly, its logs were verified")
            for path in self.unclean_directories
        ]
        found += [
            Finding(Kind.DIRECTORY_OFFLINE, f"the log directory {path} is offline: {reason}")
            for path, reason in self.offline_directories.items()
        ]
        found += self._findings_of_places() + self._findings_of_strays() + self._findings_of_moves()
        found += [Finding(Kind.NOT_A_LOG, f"{path} is not a log and was left alone") for path in self.ignored]
        found += [Finding(Kind.FILE_DAMAGED, str(damage)) for damage in self.damages]
        for log in self.logs:
            found += log.findings()
        return found

    def lines(self) -> list[str]:
        """The sentences of `findings`."""
        return [finding.sentence for finding in self.findings()]

    def _findings_of_places(self) -> list[Finding]:
        found = [
            Finding(
                Kind.DIRECTORY_COPIED,
                f"{path} was stopped cleanly in an earlier run of this broker (epoch {epoch}), not in its"
                " last one: it looks like an old copy, and records written since are missing in it",
            )
            for path, epoch in self.copied_directories.items()
        ]
        found += [
            Finding(
                Kind.METADATA_COPIED,
                f"{path} was stopped cleanly in a later run of this broker (epoch {epoch}) than the metadata"
                " store knows: the store looks like an old copy, and what was created, deleted or altered"
                " since is missing in it",
            )
            for path, epoch in self.later_directories.items()
        ]
        if self.missing_logs:
            sentence = (
                f"not served, because {self._cause()}: {some_of(self.missing_logs)}; with the directory back"
                " at a later start they are served again; where another broker has all records, this one"
                " copies them from it; to give the others up, delete the topics"
            )
            found.append(Finding(Kind.LOGS_MISSING, sentence))
        if self.vanished_logs:
            sentence = (
                f"the metadata store has {some_of(self.vanished_logs)} and no log directory has a log of it:"
                " it is made anew, and no offset that a checkpoint names is given out again"
            )
            found.append(Finding(Kind.LOGS_VANISHED, sentence))
        if self.unmade_logs:
            sentence = (
                f"the creation of {some_of(self.unmade_logs)} was interrupted before there was a log: it is"
                " finished now"
            )
            found.append(Finding(Kind.CREATION_INTERRUPTED, sentence))
        found += _by_directory(
            Kind.CREATION_INTERRUPTED,
            self.creations_undone,
            "the creation of {names} in {path} was interrupted, and the logs were made in another directory:"
            " what was left in {path} has no records and is removed",
        )
        return found

    def _cause(self) -> str:
        causes = [f"{path} is offline" for path in self.offline_directories]
        if self.missing_directories:
            ids = some_of(self.missing_directories)
            causes.append(f"a log directory that this broker had is missing (directory.id {ids})")
        if self.new_directories:
            causes.append(f"{', '.join(self.new_directories)} is new or another disk")
        return " and ".join(causes)

    def _findings_of_strays(self) -> list[Finding]:
        return [
            *_by_directory(
                Kind.STRAYS_SET_ASIDE,
                self.strays,
                "the metadata store has no such topics: {names} in {path} were renamed to ...-stray"
                " and are not served; if it has lost them, start with the metadata file that knows them and"
                " the logs are taken back, otherwise remove them",
            ),
            *_by_directory(
                Kind.STRAYS_LEFT,
                self.strays_left,
                "{path} still holds logs of topics that the metadata store does not have: {names};"
                " remove them if their records are not needed",
            ),
            *_by_directory(
                Kind.REPLICAS_MOVED,
                self.moved_away,
                "while this broker was away, the replicas of {names} in {path} were moved to other brokers,"
                " which are all in sync: the logs here are removed",
            ),
            *_by_directory(
                Kind.STRAYS_SET_ASIDE,
                self.strays_moved,
                "while this broker was away, the replicas of {names} in {path} were moved to other brokers,"
                " which may not have all of their records: the logs here were renamed to ...-stray and are"
                " not served; remove them once those brokers are in sync",
            ),
            *_by_directory(
                Kind.STRAYS_LEFT,
                self.moved_left,
                "{path} still holds logs whose replicas other brokers have: {names}; remove them once those"
                " brokers are in sync",
            ),
            *_by_directory(
                Kind.STRAYS_BACK,
                self.strays_back,
                "the metadata store has their topics again: {names} in {path} were taken back",
            ),
        ]

    def _findings_of_moves(self) -> list[Finding]:
        found = [
            *_by_directory(
                Kind.MOVE_DONE,
                self.moves_done,
                "{names} had been copied to {path} when the broker stopped: they are served from there",
            ),
            *_by_directory(
                Kind.MOVE_CONTINUED, self.moves_continued, "moving {names} to {path} goes on where it was"
            ),
            *_by_directory(
                Kind.MOVE_CONTINUED,
                self.moves_begun_anew,
                "moving {names} to {path} begins again: it is not known how much of the unfinished copies is"
                " on disk after an unclean stop, and they are removed",
            ),
            *_by_directory(
                Kind.MOVE_ENDED,
                self.moves_ended,
                "{path} holds unfinished copies that end above their logs, which lost their last records:"
                " {names}; the logs are not moved, and the copies stay, renamed to ...-stray; look"
                " at them with 'odradek log dump', and remove them if their records are not needed",
            ),
        ]
        found += [
            Finding(
                Kind.MOVE_LEFT,
                f"{path} is an unfinished copy of a log that is not served here: it is left alone; remove it"
                " if its records are not needed",
            )
            for path in self.moves_left
        ]
        return found


def _by_directory(kind: Kind, found: Mapping[str, Sequence[object]], sentence: str) -> list[Finding]:
    """A finding for each directory, in a sentence with its {path} and the first {names} of what it holds."""
    return [Finding(kind, sentence.format(path=path, names=some_of(names))) for path, names in found.items()]

"""What brokers answer when mishaps are over, to clients that do what those of the load seldom do.

The load's clients give up where they are fenced, and no mishap comes between two requests just then. Here a
client of its own asks what it knows the only right answer to: requests of fenced producers, offsets committed
in transactions, batches sent again, records deleted, members of an earlier generation. In between leaders
move. It comes after all other checkers and draws nothing, so that trials go the same way with and without it.
"""

from __future__ import annotations

from odradek.testing.sim.trial.checkers.checker import Checker
from odradek.testing.sim.trial.checkers.examiner import Examiner, Unanswered
from odradek.testing.sim.trial.checkers.group_exam import examine_groups
from odradek.testing.sim.trial.checkers.record_exam import examine_records
from odradek.testing.sim.trial.checkers.transaction_exam import examine_transactions


class AnswersAreRight(Checker):
    """P7, R11, KIP-360, KIP-447, KIP-890: see the module's head."""

    NAME = "answers are right when all is quiet"

    def conclude(self) -> None:
        """See `Checker.conclude`."""
        examiner = Examiner(self.scene, lambda words: self.violated(words, words))
        has_transactions = self.scene.has_transactions
        # Two of four seeds have transactions, and one of these two each protocol, to save time.
        parts = (examine_transactions,) if has_transactions else (examine_groups,)
        for examine in (*parts, examine_records):
            try:
                examine(examiner)
            except Unanswered as error:
                self.violated("unanswered", str(error))
                return

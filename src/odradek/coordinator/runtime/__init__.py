"""What every coordinator stands on: classic groups, consumer groups and transactions.

    event → a decision: records and effects → append → apply → effects → answers at HW

A record that is appended counts at once: the next decision builds on it and does not wait. What leaves the
broker (an answer, a marker) waits until every in-sync replica has all that it builds on (R19). A write whose
outcome is not known is never treated as one that did not happen. A coordinator that loses its partition
forgets everything; the next leader, the same one included, loads what the log kept.

steps           one step after another, answers when no step is under way: the one trampoline
answers         an answer, and the error in its place where the log may not keep what it builds on
log_errors      the error codes of clients where the log refuses
bounds          how many of a kind a broker keeps
memory_log      the ports over memory, with a high watermark that may lag: for tests and the simulator
partition_log   one led partition: appends, and what is held until they are replicated
"""

"""Shared by all coordinators: classic groups, consumer groups and transactions.

    event → a decision: records and effects → append → apply → effects → answers at HW

An appended record counts at once: the next decision uses it and does not wait. What is sent from the broker
(an answer, a marker) waits until every in-sync replica has all records that it depends on (R19). A write with
an unknown outcome is never treated as one that did not happen. A coordinator that loses its partition drops
all its state; the next leader, which may be the same broker, loads what the log kept.

trampoline      one step after another, answers between steps
answers         an answer, and the error sent instead when its records may be lost
log_errors      the error codes that clients get when the log refuses a write
bounds          upper bounds on the number of groups, members and the like
memory_log      the ports over memory, with a high watermark that may lag: for tests and the simulator
partition_log   one led partition: appends, and what is held until they are replicated
"""

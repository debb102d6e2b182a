"""Group and transaction coordinators: state machines over the logs of internal topics.

They do no I/O and read no clock of their own.

runtime     shared by all of them: steps, appends, answers that wait for HW (R19)
ports       what a coordinator needs of the broker: append to a partition of its topic, and read it back
placement   which partition, and so which broker, coordinates a group or a transactional id
classic     the classic group protocol: members, rebalances, sessions (G1, G2, G4)
consumer    the consumer group protocol (KIP-848): the broker assigns, members follow
assignors   for KIP-848: which member gets which partitions
groups      all groups of the partitions led here: offsets, loading, expiry, the entry point of requests
"""

"""Group and transaction coordinators: state machines over the logs of internal topics.

No I/O, and no clock of their own.

runtime     what all of them stand on: steps, appends, answers that wait for HW (R19)
ports       what a coordinator needs of the broker: append to a partition of its topic, and read it back
placement   which partition, and so which broker, coordinates a group or a transactional id
classic     the classic group protocol: members, rebalances, sessions (G1, G2, G4)
consumer    the consumer group protocol (KIP-848): the broker assigns, members follow
assignors   which member gets which partitions there
groups      all groups of the partitions led here: offsets, loading, expiry, the requests' front door
"""

"""The coordinators in their broker: their topics and logs, and what they and the leaders of partitions ask.

group_host, transaction_host       load a coordinator when its partition is led here, unload it afterwards
internal_topic, coordinator_log    the topic that a coordinator keeps its state in, and the port to its log
markers                            the end of a transaction, written by the leaders of its partitions
transaction_admission              the question of a leader before a transactional append
producer_ids                       ids for producers, from blocks of the controller
"""

"""`./dev crash`: kill -9 under load, again and again, and check that no promise is broken.

Real clients work while the broker is killed at a random moment, sometimes a second time while it starts, and
started again on the same directory. The load records what the broker promised to clients, and compares it
with what the broker then has. With `--brokers 3` it is a cluster, and one of many mishaps each round.

    __main__       the command
    campaign       kills, restarts and counts; the interface of a load
    cluster_*      the same with a cluster
    mishaps        what happens to a cluster in one round
    replicas_check what must hold of the replicas of a cluster that has stopped
    produces       acknowledged records
    commits        acknowledged offsets of groups
    rebalances     groups whose members come and go
    transactions   consume, transform, produce: whole or not at all, and once
    *_check        what must hold, without clients or brokers; tests/campaigns proves that each check can fail
"""

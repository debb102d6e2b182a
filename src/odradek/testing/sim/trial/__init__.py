"""Trials: clusters under load and mishaps, drawn from seeds, looked at by checkers.

- `plan`: what a seed decides before a trial begins.
- `trial`: runs one.
- `mishaps`: what goes wrong, and to whom; `mishap_kinds`: the kinds; `schedule`: when they end.
- `actions`: what a mishap can do; `disk_losses`: how much of it the promises of acks=all allow.
- `missed_deletions`: what compaction promises of a replica that was away.
- `scripts`, `cluster_client`, `load`: clients as generators; `workloads`: what they do.
- `groups`: what members and administrators of groups sent and learned; `group_load`: who they are.
- `history`: what clients sent and learned. `cluster_view`: the cluster as it truly is.
- `checkers`: what must be true. `counts`: what happened.
"""

"""The consumer group protocol (KIP-848): members send heartbeats, and the broker assigns.

states                the states of members and groups, and the outcome of each event: tables
member, consumer_membership
                      the state of a member, and of a group's members together
changes, draft        the changes of a step, and the group as it will be once the log has them
assignments           arithmetic of partitions by topic
validating            the checks of a heartbeat's fields
subscribing           what a group reads: names, expressions, topics created and deleted
expression_lookup     the topics that expressions match, looked up once for all groups
requesting_member     the member that a request is for, and epochs that do not fit
targeting             the target assignment: the partitions of each member, and its epoch
reconciling           from a member's partitions to its target, without two owners at a time
heartbeats, leaving   one request each
classic_members       members of such a group that speak the classic protocol
classic_subscriptions the subscriptions and assignments in their requests
member_watch          the deadlines of heartbeats, revocations, joins and syncs
answers               the answers to members
consumer_protocol     the protocol as one group runs it: takes requests and deadlines, carries effects out
consumer_words        what a group waits for, in words
"""

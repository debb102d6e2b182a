"""The consumer group protocol (KIP-848): members send heartbeats, and the broker assigns.

states                what a member and a group may be, and what comes of an event: tables
member, consumer_membership
                      what is known of a member, and of a group's members together
changes, draft        what a step would change, and the group as it will be when the log has it
assignments           arithmetic of partitions by topic
validating            what a heartbeat must hold
subscribing           what a group reads: names, expressions, topics that come and go
expression_lookup     the topics that expressions match, looked up once for all groups
membership            the member that a request is for, and epochs that do not fit
targeting             the target assignment: the partitions of each member, and its epoch
reconciling           from a member's partitions to its target, without two owners at a time
heartbeats, leaving   one request each
classic_members       members that speak the classic protocol in the midst of it
embedded              what those put into their protocol
member_watch          heartbeats, revocations, joins and syncs that are waited for
answers               what members are answered
consumer_protocol     the protocol as one group runs it: takes requests and deadlines, carries effects out
consumer_words        what a group waits for, in words
"""

"""Makes the member of a group, in either protocol; the code of the other one is not loaded."""

from odradek.base.chance import Chance
from odradek.client.core.cluster_view import ClusterView
from odradek.client.core.membership.member import CLASSIC, Member, MemberOptions
from odradek.client.core.routing import Routing


def new_member(
    protocol: str, options: MemberOptions, view: ClusterView, routing: Routing, chance: Chance
) -> Member:
    """A member that has not joined; `protocol` is CLASSIC or CONSUMER."""
    if protocol == CLASSIC:
        from odradek.client.core.membership.classic_member import ClassicMember  # 20 ms each

        return ClassicMember(options, view, routing, chance)
    from odradek.client.core.membership.consumer_member import ConsumerMember

    return ConsumerMember(options, view, routing, chance)

"""How a broker joins the cluster and competes for the controllership: processes, no state.

The controllership is the ephemeral node `/controller`, taken in one write with the next controller epoch,
so that no two controllers ever have the same epoch. A broker that loses watches the node and tries again when
it is gone.

A node's owner is the session with which it is deleted. So a broker whose claim succeeded although the answer
was lost recognises its own node. And it does not take the node of its earlier session, which names the same
broker and will soon be deleted, for a node of the current session.
"""

from odradek.base.chance import Chance
from odradek.base.ids import BrokerId
from odradek.metadata import codec, paths
from odradek.metadata.image import BrokerImage
from odradek.metadata.startup import found_cluster, read_document, register_broker
from odradek.metadata.store import (
    ATTEMPTS_MAX,
    Committed,
    Create,
    Failed,
    Fault,
    Multi,
    SetData,
    StoreRefused,
    StoreSteps,
    WriteOperation,
    read_data,
)

_CLAIM_MAY_STAND = (Fault.NODE_EXISTS, Fault.BAD_VERSION, Fault.CONNECTION_LOSS)
"""A claim that failed like this may have been done before, with its answer lost."""


def join(
    registration: BrokerImage, session: int, chance: Chance, timestamp_ms: int
) -> StoreSteps[tuple[str, BrokerImage]]:
    """Found the cluster if there is none, and register; returns the cluster's id, the broker with its epoch.

    Raises IdInUse while another session holds that id (`register_broker`).
    """
    cluster_id = yield from found_cluster(chance)
    return cluster_id, (yield from register_broker(registration, session, timestamp_ms))


def compete(broker_id: BrokerId, session: int, timestamp_ms: int) -> StoreSteps[int | None]:
    """Become the controller, or learn that another one is; returns the version of the epoch's node, or None.

    Either way a watch on `/controller` fires when that changes.
    """
    claim = Create(paths.CONTROLLER, codec.encode_controller(broker_id, timestamp_ms), ephemeral=True)
    for _ in range(ATTEMPTS_MAX):
        epoch = yield from read_document(paths.CONTROLLER_EPOCH, codec.decode_controller_epoch)
        raised: WriteOperation
        if epoch is None:
            raised = Create(paths.CONTROLLER_EPOCH, codec.encode_controller_epoch(1))
        else:
            data = codec.encode_controller_epoch(epoch.value + 1)
            raised = SetData(paths.CONTROLLER_EPOCH, data, epoch.stat.version)
        result = yield Multi((claim, raised))
        if isinstance(result, Failed) and result.fault not in _CLAIM_MAY_STAND:
            raise StoreRefused(result)
        holder = yield from read_data(paths.CONTROLLER, watch=True)
        if holder is None:
            continue  # the holder went in between
        if holder.stat.owner != session:
            return None
        if isinstance(result, Committed):
            return 0 if epoch is None else epoch.stat.version + 1
        # An earlier claim of this session was done, and its answer was lost. No other broker can have raised
        # the epoch since: that is done together with creating the node that this session holds.
        epoch = yield from read_document(paths.CONTROLLER_EPOCH, codec.decode_controller_epoch)
        assert epoch is not None, "the epoch is written together with the claim, and never deleted"
        return epoch.stat.version
    raise StoreRefused(Failed(Fault.NODE_EXISTS, paths.CONTROLLER))


def is_held_by(session: int) -> StoreSteps[bool]:
    """Whether the broker of that session is the controller still; leaves a watch if there is a controller."""
    holder = yield from read_data(paths.CONTROLLER, watch=True)
    return holder is not None and holder.stat.owner == session

"""Eligible leader replicas (R15e, KIP-966): replicas outside the ISR that have all records below HW.

The leader and the controller both write ISRs; both take the ELR that goes with the new ISR from here. HW does
not move while the ISR is below min ISR, nor while the leader knows an ELR (`Partition.raise_high_watermark`).
So whoever leaves such an ISR has all records below HW, and still has them when it is elected:

    min ISR 2     ISR 1 2 3, ELR -     all are in sync
    3 leaves      ISR 1 2,   ELR -     HW moves on without 3
    2 leaves      ISR 1,     ELR 2     HW stands; 2 may lead when 1 cannot, 3 may not
    3 joins       ISR 1 3,   ELR -     HW moves on without 2

Invariant: a new ELR is a part of the earlier ISR and ELR, whatever min ISR is thought to be. An ELR that is
too small costs availability, and never a record.
"""

from odradek.base.ids import BrokerId


def eligible_after(
    isr: tuple[BrokerId, ...], elr: tuple[BrokerId, ...], new_isr: tuple[BrokerId, ...], min_isr: int
) -> tuple[BrokerId, ...]:
    """The ELR that goes with `new_isr`, which follows on `isr` and `elr`; empty at min ISR."""
    if len(new_isr) >= min_isr:
        return ()
    return tuple(replica for replica in (*elr, *isr) if replica not in new_isr)

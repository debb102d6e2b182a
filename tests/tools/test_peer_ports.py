"""Ports for brokers, of which several processes start some."""

from itertools import islice

from peers.process import PORTS, PORTS_OF_A_PART, free_port, ports_of_this_process


def test_two_processes_have_no_port_in_common() -> None:
    # What one holds is held against every other, in this process too.
    count = PORTS_OF_A_PART + 1
    first = set(islice(ports_of_this_process(), count))
    second = set(islice(ports_of_this_process(), count))
    assert len(first) == len(second) == count
    assert first <= set(PORTS)
    assert second <= set(PORTS)
    assert not first & second


def test_a_port_is_given_once() -> None:
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == len(ports)

from odradek.base.error_codes import ErrorCode
from odradek.server.faults.rules import HELPERS_CLIENT_ID, FaultRules, Kind, Rule

PRODUCE, FETCH = 0, 1


def rules_of(*rules: Rule) -> FaultRules:
    found = FaultRules()
    for rule in rules:
        found.add(rule)
    return found


def numbers(rules: FaultRules, api_key: int, client: str | None = "c", *topics: str) -> list[int]:
    met = rules.meet(api_key, client, topics)
    for rule in met:
        rule.hit()
    return [rule.number for rule in met]


def test_the_example_of_the_module_holds() -> None:
    rules = rules_of(Rule(1, Kind.ERROR, PRODUCE, "c", code=ErrorCode.NOT_LEADER_OR_FOLLOWER, times_left=2))
    assert numbers(rules, PRODUCE) == [1]
    assert numbers(rules, PRODUCE, "other") == []
    assert numbers(rules, PRODUCE) == [1]
    assert numbers(rules, PRODUCE) == []
    assert [(rule.hits, rule.times_left) for rule in rules] == [(2, 0)]


def test_filters_that_are_not_given_match_everything() -> None:
    rules = rules_of(Rule(1, Kind.DROP))
    assert numbers(rules, FETCH, None) == numbers(rules, PRODUCE, "x", "t") == [1]


def test_a_topic_is_one_of_those_that_the_request_names() -> None:
    rules = rules_of(Rule(1, Kind.DROP, PRODUCE, topic="t"))
    assert numbers(rules, PRODUCE, "c", "s", "t") == [1]
    assert numbers(rules, PRODUCE, "c", "s") == []


def test_our_own_clients_meet_a_rule_only_if_it_names_them() -> None:
    assert numbers(rules_of(Rule(1, Kind.DROP)), PRODUCE, HELPERS_CLIENT_ID) == []
    assert numbers(rules_of(Rule(1, Kind.DROP, client=HELPERS_CLIENT_ID)), PRODUCE, HELPERS_CLIENT_ID) == [1]


def test_every_delay_counts_and_of_the_others_the_first() -> None:
    rules = rules_of(
        Rule(1, Kind.DELAY),
        Rule(2, Kind.ERROR, times_left=1),
        Rule(3, Kind.DROP),
        Rule(4, Kind.DELAY),
        Rule(5, Kind.FULL_DISK),
    )
    assert numbers(rules, PRODUCE) == [1, 2, 4]
    assert numbers(rules, PRODUCE) == [1, 3, 4]


def test_a_number_is_not_given_again() -> None:
    rules = FaultRules()
    rules.add(Rule(rules.next_number(), Kind.DROP))
    assert rules.remove(1)
    assert not rules.remove(1)
    assert rules.next_number() == 2

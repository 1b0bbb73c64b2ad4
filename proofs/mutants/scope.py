"""What of the kernel is mutated, and the proofs that can see it, the cheapest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SURVIVED, TIME_OUT, IMPORT = "survived", "time-out", "import"
"""What may become of a mutant beside that a proof fails: the last is that it cannot even be imported."""
APART = (IMPORT, TIME_OUT, SURVIVED)

_RULE = "test_rule.py::test_the_rule_is_the_statement"
_POSITIONS = (
    "an_entry_is_its_event",
    "how_writes_stand",
    "answers",
    "names_are_narrowed",
    "numbers_are_positions",
    "times_are_positions",
    "given_times_are_bare",
    "what_has_no_numbers_gives_no_order",
)
_CHANGES = (
    "dropped_history_is_unverifiable",
    "an_equal_probe_is_a_read",
    "another_version_is_stale",
    "what_is_stale_stays_stale",
    "acknowledgement_is_not_inherited",
)

_INTERVALS = (
    "test_intervals_symbolic.py::test_the_relations_are_what_the_predicates_say",
    "test_intervals_symbolic.py::test_an_interval_is_refused_exactly_where_it_ends_before_it_starts",
    "test_intervals_orders.py::test_events_stand_by_their_times",
    "test_intervals_orders.py::test_a_name_that_is_none_of_the_thirteen_is_refused",
    "test_intervals_orders.py::test_every_weak_order",
    "test_intervals_orders.py::test_thirteen_names_and_every_one_occurs",
    "test_intervals_orders.py::test_five_table",
    "test_intervals_orders.py::test_converse_table",
    "test_intervals_orders.py::test_composition_of_proper_intervals_is_the_textbook_table",
    "test_intervals_orders.py::test_six_entries_grow_with_instants",
    "test_intervals_orders.py::test_composition_is_exact",
)
_STALENESS = (
    "test_graphs.py::test_reasons",
    "test_graphs.py::test_ages",
    "test_graphs.py::test_worst",
    "test_graphs.py::test_parts",
    "test_graphs.py::test_memory",
    "test_graphs.py::test_sources",
    "test_verdicts_orders.py::test_the_verdict_is_counted",
    f"{_RULE}[what_it_rests_on]",
    f"{_RULE}[which_witness_counts]",
    *(f"test_changes.py::test_{each}" for each in _CHANGES),
    f"{_RULE}[what_part_counts]",
    "test_verdicts.py::test_the_verdicts_are_exact[one write]",
    f"{_RULE}[who_is_spared]",
    "test_graphs.py::test_graphs",
    f"{_RULE}[what_one_event_does]",
)
_ADMISSION = ("test_admission.py::test_pins", "test_admission.py::test_decisions")

PROOFS: Mapping[str, Sequence[str]] = {
    "intervals": _INTERVALS,
    "events": (
        "test_resource_names.py::test_names_are_segments",
        "test_resource_names.py::test_contradictions",
        *(f"test_positions.py::test_{each}" for each in _POSITIONS),
        "test_verdicts_orders.py::test_the_verdict_is_counted",
        f"{_RULE}[what_part_counts]",
    ),
    "views": (*(f"test_positions.py::test_{each}" for each in _POSITIONS), *_STALENESS),
    "staleness": _STALENESS,
    "admission": _ADMISSION,
}
"""By module, in the order in which they are run."""

_CHECKED = "checks what people hand in and converts it: no law; held by tests/laws/test_events.py"

LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "events": dict.fromkeys(
        ("dependency", "dependencies", "Dependency", "_fresh_id", "_aware", "_whole", "check_window", "Event"), _CHECKED
    ),
}
"""Functions and classes of these modules that no proof is about, with the reason."""

UNPROVED = ("audit", "explain", "index", "memos", "nodes", "sessions")
"""The kernel's other modules. They are held by tests."""

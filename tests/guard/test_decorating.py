"""Decorating: what a tool is told to be is checked where it is said, and the message names the fix."""

from __future__ import annotations

import functools
import inspect
import math
import operator
import typing
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from helpers import guard_at, outcomes

from intervalguard import Guard, clear_registry, last_event, registry, tracked
from intervalguard.logs import MemoryLog
from intervalguard.shell.guard import ToolOptions


def tool(order_id: str, amount: int = 0) -> str:
    """Does it."""
    return order_id


async def later(*_: object) -> None: ...


class AsyncCallable:
    async def __call__(self, *_: object) -> None: ...


def stream(order_id: str) -> Any:
    yield order_id


async def async_stream(order_id: str) -> Any:
    yield order_id


def own(order_id: str, depends_on: Any = None) -> None: ...


READ = {"reads": "orders/{order_id}"}
WRITE = {"writes": "orders/{order_id}"}

MISUSE: list[tuple[dict[str, Any], Any, type[Exception], str]] = [
    ({}, tool, TypeError, r"touches nothing: give reads=, writes= or both"),
    ({"reads": []}, tool, ValueError, r"reads=\[\] names nothing: name what the tool touches, or leave reads= out"),
    ({"writes": ()}, tool, ValueError, r"writes=\[\] names nothing"),
    (
        {"reads": "orders/{order}"},
        tool,
        ValueError,
        r"field='order' that is no parameter: the tool's parameters are order_id",
    ),
    ({"writes": "orders/{order}"}, tool, ValueError, r"^writes= of 'tool': .*field='order'"),
    ({**WRITE, "rests_on": "x/{y}"}, tool, ValueError, r"^rests_on= of 'tool': .*field='y'"),
    ({"reads": ["a", "orders/{order}"]}, tool, ValueError, r"field='order'"),
    ({"reads": "orders/{order_id.x}"}, tool, ValueError, r"not just a parameter's name"),
    ({"reads": "orders//{order_id}"}, tool, ValueError, r"empty segment"),
    ({"reads": 7}, tool, TypeError, r"give a template such as"),
    ({"reads": lambda order: order}, tool, ValueError, r"unknown to the tool"),
    ({"writes": lambda result: result}, tool, ValueError, r"must be known before the call runs"),
    ({**WRITE, "rests_on": lambda result: result}, tool, ValueError, r"must be known before the call runs"),
    ({"reads": lambda result: result}, stream, ValueError, r"must be known before the call runs"),
    ({"reads": later}, tool, TypeError, r"is async"),
    ({**READ, "validity_window_seconds": -1}, tool, ValueError, r"use None for no limit"),
    ({**READ, "validity_window_seconds": math.nan}, tool, ValueError, r"is not finite"),
    ({**READ, "validity_window_seconds": math.inf}, tool, ValueError, r"use None for no limit"),
    ({**READ, "validity_window_seconds": "30"}, tool, TypeError, r"no number of seconds; None is no limit"),
    ({**READ, "validity_window_seconds": True}, tool, TypeError, r"no number of seconds"),
    ({**READ, "version": 7}, tool, TypeError, r"version=7 is no function"),
    ({**READ, "version": later}, tool, TypeError, r"version=.* is async.*give a plain function"),
    ({**READ, "version": AsyncCallable()}, tool, TypeError, r"is async"),
    ({**READ, "observed_at": "now"}, tool, TypeError, r"observed_at='now' is no function"),
    ({**READ, "observed_at": later}, tool, TypeError, r"observed_at=.* is async"),
    ({**WRITE, "observed_at": len}, tool, ValueError, r"observed_at= is for reads, and the tool reads nothing"),
    ({**READ, "version": str, "probe": 7}, tool, TypeError, r"probe=7 is no function"),
    ({**READ, "probe": str}, tool, ValueError, r"probe= without version=: there is nothing to compare"),
    ({**READ, "version": str}, stream, TypeError, r"is a stream, which has no result: leave out version="),
    ({**READ, "observed_at": str}, async_stream, TypeError, r"is a stream, which has no result"),
    ({**WRITE, "no_effect_on": "ValueError"}, tool, TypeError, r"='ValueError' is no exception class, nor a list"),
    ({**WRITE, "no_effect_on": None}, tool, TypeError, r"no_effect_on=None is no exception class, nor a list"),
    ({**WRITE, "unknown_on": [ValueError, 7]}, tool, TypeError, r"unknown_on=.* holds 7, which is no exception class"),
    ({**WRITE, "unknown_on": ValueError()}, tool, TypeError, r"unknown_on=.*is no exception class"),
    ({**WRITE, "may_land_for_seconds": -1}, tool, ValueError, r"may_land_for_seconds=-1 is not finite and >= 0"),
    ({**WRITE, "may_land_for_seconds": "1"}, tool, TypeError, r"may_land_for_seconds='1' is no number"),
    ({**READ, "may_land_for_seconds": 1}, tool, ValueError, r"is for writes, and the tool writes nothing"),
    ({**WRITE, "refuse": "all"}, tool, ValueError, r"refuse='all' is not one of 'suspect', 'stale'"),
    ({**WRITE, "mode": "off"}, tool, ValueError, r"mode='off' is not one of 'enforce', 'warn', 'observe'"),
    ({**WRITE, "mode": ["warn"]}, tool, ValueError, r"mode=\['warn'\] is not one of"),
    ({**WRITE, "wait_seconds": -1}, tool, ValueError, r"wait_seconds=-1 is not finite"),
    ({**WRITE, "wait_seconds": math.inf}, tool, ValueError, r"wait_seconds=inf is not finite"),
    ({**WRITE, "wait_seconds": "5"}, tool, TypeError, r"wait_seconds='5' is no number"),
    (WRITE, own, TypeError, r"parameter of its own called 'depends_on'.*rename it"),
    (WRITE, 7, TypeError, r"is no function: decorate a function"),
    (WRITE, dict, TypeError, r"is no function: decorate a function"),
    (WRITE, property(tool), TypeError, r"is no function"),
    ({**READ, "windows": 3}, tool, TypeError, r"unexpected keyword argument 'windows'"),
]


@pytest.mark.parametrize(("options", "function", "kind", "message"), MISUSE, ids=[each[3][:30] for each in MISUSE])
def test_misuse_fails_at_decoration(options: dict[str, Any], function: Any, kind: type[Exception], message: str) -> None:
    """Each with a message that says what to write, and nothing is recorded."""
    guard = guard_at()
    with pytest.raises(kind, match=message):
        guard.tool(**options)(function)
    assert guard.log.events() == []


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"refuse": "none"}, ValueError, r"refuse='none' is not one of"),
        ({"mode": "strict"}, ValueError, r"mode='strict' is not one of"),
        ({"wait_seconds": None}, TypeError, r"every wait is bounded; 0 does not wait"),
        ({"wait_seconds": -1}, ValueError, r"wait_seconds=-1"),
        ({"wait_seconds": True}, TypeError, r"wait_seconds=True"),
        ({"on_decision": 7}, TypeError, r"on_decision=7 is no function"),
        ({"on_decision": later}, TypeError, r"on_decision=.* is async"),
        ({"require_session": "yes"}, TypeError, r"require_session='yes' is neither True nor False"),
        ({"require_session": 1}, TypeError, r"require_session=1 is neither True nor False"),
        ({"require_session": None}, TypeError, r"require_session=None is neither True nor False"),
        ({"log": "guard.db"}, TypeError, r"log='guard.db' is no log, for it has no .*: pass MemoryLog\(\), SQLiteLog"),
        ({"log": MemoryLog}, TypeError, r"is no log"),
    ],
)
def test_misuse_of_a_guard_fails_where_it_is_made(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    """Not at the first call."""
    with pytest.raises(kind, match=message):
        Guard(**options)


class Takes:
    """Methods that take what they take."""

    def none(self) -> None: ...
    def one(self, _: object) -> None: ...


def twice(function: Callable[..., Any]) -> Callable[..., Any]:
    """A wrapper with other parameters than what it wraps."""
    return functools.wraps(function)(lambda one: function(one, one))


ONE_ARGUMENT: dict[Callable[..., Any], bool] = {
    (lambda: None): False,
    (lambda one, two: None): False,
    (lambda *, name: None): False,
    (lambda one, *, name: None): False,
    Takes().none: False,
    Takes: False,
    dict.get: False,
    functools.partial(lambda one: None, 1): False,
    (lambda one: None): True,
    (lambda one, /, two=2, *, name=None: None): True,
    (lambda *many: None): True,
    Takes().one: True,
    functools.partial(lambda one, two: None, 1): True,
    twice(lambda one, two: None): True,
    len: True,
    str: True,
    int: True,
    operator.itemgetter("etag"): True,
    {}.get: True,
    [].append: True,
}
"""Whether each of these can be called with one argument, or does not tell."""


@pytest.mark.parametrize("option", ["version", "probe", "observed_at", "on_decision"])
@pytest.mark.parametrize(("function", "fits"), ONE_ARGUMENT.items(), ids=map(str, range(len(ONE_ARGUMENT))))
def test_a_function_that_cannot_take_its_argument_fails_where_it_is_given(
    option: str, function: Callable[..., Any], fits: bool
) -> None:
    """And none is refused that can, or that does not tell what it takes."""
    options: dict[str, Any] = {"version": len, option: function}
    with nullcontext() if fits else pytest.raises(TypeError, match=f"^{option}=.* alone .*: give a function of one"):
        if option == "on_decision":
            Guard(on_decision=function)
        else:
            guard_at().tool(**READ, **options)(tool)


def test_a_guarded_function_is_not_guarded_again() -> None:
    """Two events of one call belong to one decorator; a method that wraps another is found too."""
    guard = guard_at()
    guarded = guard.tool(**WRITE)(tool)
    wrapped: Callable[..., Any] = functools.wraps(guarded)(lambda *args, **kwargs: guarded(*args, **kwargs))
    for each in (guarded, wrapped):
        with pytest.raises(TypeError, match="is guarded already: name all that it touches in one"):
            guard.tool(**READ)(each)


def test_one_decorator_serves_many_functions() -> None:
    """Each gets its own templates checked, and its own name."""
    guard = guard_at()
    decorate = guard.tool(**WRITE)

    @decorate
    def one(order_id: str) -> None: ...

    @decorate
    def two(amount: int, order_id: str) -> None: ...

    with pytest.raises(ValueError, match="field='order_id'"):
        decorate(lambda other: None)
    one("1")
    two(5, "2")
    assert [(each.name, each.tool and each.tool.split(".")[-1]) for each in guard.log.events()] == [
        ("orders/1", "one"),
        ("orders/2", "two"),
    ]


def test_the_short_form_is_the_general_one() -> None:
    """`tracked` takes a list of names of one kind, the window, and every option of `tool`."""
    guard = guard_at()

    @guard.tracked(["a", "orders/{order_id}"], 30, writes=False, version=lambda result: result)
    def read(order_id: str) -> str:
        return order_id

    @guard.tracked("orders/{order_id}", writes=True, no_effect_on=KeyError, refuse="stale")
    def write(order_id: str) -> None:
        raise KeyError

    assert read("1") == "1"
    with pytest.raises(KeyError):
        write("1")
    assert outcomes(guard) == [("read", "a", "ok"), ("read", "orders/1", "ok"), ("write", "orders/1", "failed")]
    assert [(each.validity_window_seconds, each.version) for each in guard.log.events()] == [
        (30, "1"),
        (30, "1"),
        (None, None),
    ]


def test_the_short_forms_are_typed_as_the_general_one() -> None:
    """What a type checker lets `tracked` pass on is what `tool` takes, option by option."""
    general = typing.get_type_hints(Guard.tool)
    for said in ("given", "reads", "writes", "validity_window_seconds", "return"):
        del general[said]
    assert typing.get_type_hints(ToolOptions) == general


@pytest.mark.parametrize("writes", [0, 1, "yes", []])
def test_writes_is_true_or_false(writes: Any) -> None:
    """Anything else is an error, not a guess."""
    with pytest.raises(TypeError, match="is neither True nor False"):
        guard_at().tracked("a", writes=writes)


def test_tracked_checks_at_decoration_too() -> None:
    """With and without `writes=`."""
    for writes in (True, False, None):
        with pytest.raises(ValueError, match="field='x'"):
            guard_at().tracked("orders/{x}", writes=writes)(tool)
        with pytest.raises(ValueError, match="validity_window_seconds=-1"):
            guard_at().tracked("a", -1, writes=writes)(tool)


def test_tracked_without_writes_warns_at_each_call_and_reads() -> None:
    """The warning points to the caller's line."""
    guard = guard_at()

    @guard.tracked("a")
    def unstated() -> int:
        return 7

    for _ in range(2):
        with pytest.warns(UserWarning, match="did not specify writes=") as caught:
            assert unstated() == 7
        assert caught[0].filename == __file__
    assert outcomes(guard) == [("read", "a", "ok")] * 2


def test_tracked_with_writes_is_silent() -> None:
    """Who said what it does is not warned."""
    clear_registry()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracked("a", writes=True)(tool)("1")
        tracked("a", writes=False)(tool)("1")
    assert [each.kind for each in registry] == ["write", "read"]
    clear_registry()


def test_options_that_are_one_exception_or_many() -> None:
    """A class alone, a list, a tuple: all the same."""
    for given in (KeyError, [KeyError], (ValueError, KeyError)):
        guard = guard_at()

        @guard.tool(writes="a", no_effect_on=given)
        def write() -> None:
            raise KeyError

        with pytest.raises(KeyError):
            write()
        assert outcomes(guard) == [("write", "a", "failed")]


def test_depends_on_is_consumed() -> None:
    """A function with `**kwargs` never sees it, nor does the signature show it."""
    guard = guard_at()

    @guard.tool(writes="a")
    def write(*args: Any, **kwargs: Any) -> Any:
        return args, kwargs

    assert write(1, x=2, depends_on=[]) == ((1,), {"x": 2})
    assert "depends_on" not in inspect.signature(write).parameters


def test_arguments_that_do_not_fit_are_pythons_own_error() -> None:
    """As the bare function says it, with nothing recorded."""
    guard = guard_at()
    guarded = guard.tool(**WRITE)(tool)
    for args, kwargs in [((), {}), ((1, 2, 3), {}), (("1",), {"order_id": "2"}), (("1",), {"nope": 2})]:
        with pytest.raises(TypeError, match=r"^tool\(\) "):
            guarded(*args, **kwargs)
    with pytest.raises(TypeError, match=r"^Shop\.outside\(\) missing a required argument: 'order_id'$"):
        Shop.outside()  # type: ignore[call-arg]
    assert guard.log.events() == []


@pytest.mark.parametrize("value", ["", None, 1.5, True, b"1", ["1"]])
def test_a_value_that_is_no_segment_stops_the_call(value: Any) -> None:
    """Before the body, and it says which field."""
    guard, done = guard_at(), []

    @guard.tool(**WRITE)
    def write(order_id: Any) -> None:
        done.append(order_id)

    with pytest.raises((TypeError, ValueError), match="order_id"):
        write(value)
    assert (done, guard.log.events()) == ([], [])


class Shop:
    """Methods of every kind."""

    guard = guard_at()

    @guard.tool(**WRITE)
    def method(self, order_id: str) -> tuple[Any, str]:
        return self, order_id

    @guard.tool(**WRITE)
    @classmethod
    def inside(cls, order_id: str) -> tuple[Any, str]:
        return cls, order_id

    @classmethod
    @guard.tool(**WRITE)
    def outside(cls, order_id: str) -> tuple[Any, str]:
        return cls, order_id

    @guard.tool(**WRITE)
    @staticmethod
    def static(order_id: str) -> str:
        return order_id

    @guard.tool(writes=lambda self: f"shops/{self.name}")
    def named(self) -> None: ...

    name = "s1"


def test_methods_of_every_kind() -> None:
    """Bound as Python binds them, `depends_on=` included; a name function may ask `self`."""
    shop = Shop()
    assert shop.method("1") == (shop, "1")
    assert Shop.method(shop, "1") == (shop, "1")
    assert shop.inside("2") == Shop.inside("2") == (Shop, "2")
    assert shop.outside("3") == Shop.outside("3") == (Shop, "3")
    assert shop.static("4") == Shop.static("4") == "4"
    shop.named()
    event = last_event()
    assert event is not None
    assert event.name == "shops/s1"
    names = [each.name for each in Shop.guard.log.events()]
    assert names == [f"orders/{number}" for number in "11223344"] + ["shops/s1"]
    assert shop.method("1", depends_on=[event]) == (shop, "1")


def test_templates_do_not_take_self() -> None:
    """An object is no segment; the message shows the function to write."""
    with pytest.raises(ValueError, match="give a function: lambda self"):

        class Bad:
            @guard_at().tool(writes="shops/{self}")
            def method(self) -> None: ...


def test_callable_objects_and_partials() -> None:
    """What can be called can be guarded."""

    class Callable:
        def __call__(self, order_id: str) -> str:
            return order_id

    guard = guard_at()
    assert guard.tool(**WRITE)(Callable())("1") == "1"
    assert guard.tool(writes="a")(functools.partial(tool, "2"))() == "2"
    assert [each.tool for each in guard.log.events()] == ["Callable", "tool"]


# ------------------------------------------------------------------------------------------------- blocks


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_block_checks_where_it_is_made(kind: str) -> None:
    """Names, windows and options, before it is entered."""
    guard = guard_at()
    make = getattr(guard, kind)
    for name, error in (("", ValueError), ("a//b", ValueError), (7, TypeError), (None, TypeError)):
        with pytest.raises(error):
            make(name)
    with pytest.raises(ValueError, match="validity_window_seconds=-1"):
        make("a", validity_window_seconds=-1)
    with pytest.raises(TypeError, match=rf"guard\.{kind}\(\) got unknown options: depend_on, probes"):
        make("a", depend_on=[], probes=1)
    with pytest.raises(ValueError, match="mode='off'"):
        make("a", mode="off")
    with pytest.raises(ValueError, match="empty segment"):
        make("a", rests_on="")
    for given, options in (("orders/{oid}", {}), ("a", {"rests_on": "b/{oid}"}), ("a", {"rests_on": ["c", "b/{oid}"]})):
        with pytest.raises(ValueError, match=r"it is no template, so \{oid\}"):
            make(given, **options)
    assert guard.log.events() == []


def test_a_block_is_a_call() -> None:
    """Its interval is the block, its outcome what came out of it, its event there from the start."""
    guard = guard_at()
    with guard.read("a", validity_window_seconds=9, tool="peek") as block:
        assert (block.event.outcome, block.event.end_time) == ("pending", None)
        with guard.write("b") as inner:
            assert inner.event.parent == block.event.id
    assert (block.event.outcome, block.event.validity_window_seconds, block.event.tool) == ("ok", 9, "peek")
    assert last_event() == block.event
    with pytest.raises(KeyError), guard.write("c", no_effect_on=KeyError):
        raise KeyError
    assert outcomes(guard)[-1] == ("write", "c", "failed")


def test_a_block_is_entered_once() -> None:
    """It says how to have another; before it is entered it has no event."""
    guard = guard_at()
    block = guard.read("a")
    with pytest.raises(ValueError, match="has not been entered"):
        _ = block.event
    with block:
        pass
    with pytest.raises(RuntimeError, match=r"call guard\.read\(\) or guard\.write\(\) again"), block:
        pytest.fail("it was entered twice")
    assert outcomes(guard) == [("read", "a", "ok")]


def test_a_bare_decorator_is_an_error_at_once() -> None:
    """`@tracked` without its names is told where it stands, not at the first call."""
    guard = Guard()
    with pytest.raises(TypeError, match=r"names no resource: write @tracked"):

        @guard.tracked
        def get_order(order_id: str) -> None: ...

    with pytest.raises(TypeError, match=r"^tool\(.*get_price\) names no resource: write @guard\.tool\(reads='orders"):

        @guard.tool
        def get_price(order_id: str) -> None: ...


def test_names_without_their_kind_are_an_error_at_once() -> None:
    """The general form cannot guess whether a name is read or written."""
    with pytest.raises(TypeError, match=r"^tool\('a/\{id\}'\) .*: write reads='a/\{id\}' or writes='a/\{id\}'$"):
        guard_at().tool("a/{id}")  # type: ignore[arg-type]


@pytest.mark.parametrize("tracks", [tracked, guard_at().tracked])
def test_tracked_says_whose_options_it_does_not_know(tracks: Any) -> None:
    """What it passes on is not blamed on what it passes it to."""
    with pytest.raises(TypeError, match=r"^tracked\(\) got unknown options: kind, reads$"):
        tracks("a", writes=False, reads="b", kind="read")

"""Names given to a decorator: one value is one segment, a template is what `str.format` would say of the segments."""

from __future__ import annotations

import enum
import functools
import inspect
import re
import uuid
from collections import OrderedDict
from inspect import Parameter
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from intervalguard import GuardError
from intervalguard.kernel.events import check_name, conflict
from intervalguard.shell.names import Names, compile_names, literal_name, segment


class Color(enum.Enum):
    RED = "red/ish"
    SEVEN = 7
    ID = uuid.UUID(int=5)
    PAIR = (1, 2)
    YES = True
    HALF = 0.5
    EMPTY = ""


class Text(enum.StrEnum):
    A = "a b"


class Mixed(str, enum.Enum):  # noqa: UP042 - its str() is not its value
    A = "a"


class Number(enum.IntEnum):
    TWO = 2


class Nested(enum.Enum):
    TEXT = Text.A
    COLOR = Color.RED


class Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "../../x"

    def __format__(self, spec: str) -> str:
        return "../../x"


class Loud(int):
    def __repr__(self) -> str:
        return "a/b"

    __str__ = __repr__


HOSTILE = [
    "../x", "a/b", "a%2Fb", "%2F", "%", "%%", "/", "//", ".", "..", "\x00", "\n", "\r\n", "\x7f", "\x85", "\ud800",
    "\udfff\ud800", "\ud83d\ude00", "\U0001f600", "\u2028", "\u202e", "\u200b", "\ufeff", "\U000e0041", "\xad",
    "{other}", "{order_id.__class__}", "{", "}}", " ", "a:b", "é", "e\u0301", "x" * 100_000, "/" * 10_000,
]  # fmt: skip
PLAIN = [
    "42",
    "ord-42",
    "a:b",
    ".",
    "..",
    "a b",
    "été",
    "日本",
    "\U0001f600",
    "A_z~!@#$&*()+=,;'\"",
]

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(), min_size=1),
    st.text(st.sampled_from("/%2Ff5a:.{}\x00\ud800\udc00\U00010000é\u2028"), min_size=1),
)
values = st.one_of(texts, st.integers(), st.uuids(), st.sampled_from([Color.RED, Color.SEVEN, Text.A, Number.TWO]))


def unsegment(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "surrogatepass")


def signature_of(function: object) -> inspect.Signature:
    return inspect.signature(function)  # type: ignore[arg-type]


def compiled(spec: object, tool: object, *, allow_result: bool = False, allow_empty: bool = False) -> Names:
    return compile_names(
        spec,  # type: ignore[arg-type]
        signature_of(tool),
        allow_result=allow_result,
        tool="tool",
        what="names of 'tool'",
        allow_empty=allow_empty,
    )


def of_call(spec: object, tool: object, *args: object, **kwargs: object) -> tuple[str, ...]:
    return compiled(spec, tool).of_call(args, kwargs)


def refund(order_id, amount=10, /, cart=Number.TWO, *more, note="n", **extra): ...


def get_order(order_id): ...


# ------------------------------------------------------------------------------------------------ segment


@given(texts)
def test_a_string_can_be_told_from_its_segment(text):
    """`segment` is injective on strings: it has an inverse."""
    assert text == unsegment(segment(text))


@given(values)
def test_a_segment_is_one_segment(value):
    """Whatever the value: not empty, no slash, encodable, nothing invisible, and a name of its own."""
    text = segment(value)
    assert type(text) is str
    assert text
    assert "/" not in text
    assert text == text.encode().decode()
    assert text == check_name(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u200b-\u200f\ufeff]", text)


@given(texts, texts)
@example("a/b", "a%2Fb")
@example("a", "a/b")
def test_different_strings_are_resources_that_do_not_conflict(one, other):
    """Two orders conflict only if they are the same order."""
    assert (one == other) == conflict(f"orders/{segment(one)}", f"orders/{segment(other)}")


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_stays_as_it_is(text):
    """What is safe in a name stays readable: also `:`, dots, spaces, letters of all scripts."""
    assert text == segment(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a/b", "a%2Fb"),
        ("a%2Fb", "a%252Fb"),
        ("{id}", "%7Bid%7D"),
        ("}{", "%7D%7B"),
        ("%7Bid%7D", "%257Bid%257D"),
        ("\x00", "%00"),
        ("\n", "%0A"),
        ("\x85", "%C2%85"),
        ("\ud800", "%ED%A0%80"),
        ("\u202e", "%E2%80%AE"),
        ("\U000e0041", "%F3%A0%81%81"),
        (42, "42"),
        (-1, "-1"),
        ("42", "42"),
        (uuid.UUID("{ABCDEF00-0000-0000-0000-000000000001}"), "abcdef00-0000-0000-0000-000000000001"),
        (Color.RED, "red%2Fish"),
        (Color.SEVEN, "7"),
        (Color.ID, "00000000-0000-0000-0000-000000000005"),
        (Text.A, "a b"),
        (Mixed.A, "a"),
        (Number.TWO, "2"),
        (Nested.TEXT, "a b"),
        (Shouting("a/b"), "a%2Fb"),
        (Loud(3), "3"),
    ],
)
def test_segments_by_example(value, expected):
    """The escape is part of what a durable log holds, so it is fixed; subclasses cannot print around it."""
    assert expected == segment(value)
    assert (f"orders/{expected}",) == of_call("orders/{order_id}", get_order, value)


@pytest.mark.parametrize(
    "value",
    [None, True, False, 1.5, b"a", ["a"], ("a",), {"a": 1}, object(), Color.PAIR, Color.YES, Color.HALF, Nested.COLOR,
     str],
)  # fmt: skip
def test_other_types_are_refused(value):
    """A type without one obvious text is a TypeError that says what to do."""
    with pytest.raises(TypeError, match=r"value=.* is of type .*: convert it, for example segment\(str\(value\)\)"):
        segment(value)
    with pytest.raises(TypeError, match=r"^names of 'tool': field \{order_id\} of 'orders/\{order_id\}': value="):
        of_call("orders/{order_id}", get_order, value)


@pytest.mark.parametrize("value", ["", Color.EMPTY, Shouting("")])
def test_an_empty_segment_is_an_error(value):
    """An empty id names no resource."""
    with pytest.raises(ValueError, match="empty segment: value="):
        segment(value)
    with pytest.raises(ValueError, match=r"field \{order_id\} of 'orders/\{order_id\}': empty segment"):
        of_call("orders/{order_id}", get_order, order_id=value)


def test_a_huge_value_is_told_in_few_words():
    """A message does not repeat a value of any length."""
    with pytest.raises(TypeError) as caught:
        segment(["x" * 1000] * 1000)
    assert len(str(caught.value)) < 400


def test_an_int_that_python_will_not_print_is_a_value_error():
    """Python's own bound on digits holds, on both ways to a segment."""
    with pytest.raises(ValueError, match="limit"):
        segment(10**10_000)
    with pytest.raises(ValueError, match="limit"):
        of_call("orders/{order_id}", get_order, 10**10_000)


def test_the_quick_way_of_a_template_misses_nothing():
    """Character by character, alone and inside: a template escapes what `segment` escapes."""
    names = compiled("{order_id}", get_order)
    for c in map(chr, [*range(0x3000), *range(0xD7F0, 0x10010), *range(0xDFF00, 0xE0100)]):
        assert (segment(f"a{c}z"),) == names.of_call((f"a{c}z",), {})


# -------------------------------------------------------------------------------------------- templates


@st.composite
def tools(draw):
    """A function with any signature, which returns its arguments, and the parameters that a template can name."""
    names = draw(st.permutations(["a", "b", "c", "d", "e", "result"]))[: draw(st.integers(0, 5))]
    kinds = [Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY]
    parameters, defaulted = [], False
    for name, kind in zip(names, sorted(draw(st.sampled_from(kinds)) for _ in names), strict=True):
        has_default = draw(st.booleans()) or (defaulted and kind is not Parameter.KEYWORD_ONLY)
        defaulted = has_default
        default = draw(values) if has_default else Parameter.empty
        parameters.append(Parameter(name, kind, default=default))
    keyword_only = [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]
    parameters = [p for p in parameters if p.kind is not Parameter.KEYWORD_ONLY]
    if draw(st.booleans()):
        parameters.append(Parameter("rest", Parameter.VAR_POSITIONAL))
    parameters += keyword_only
    if draw(st.booleans()):
        parameters.append(Parameter("extra", Parameter.VAR_KEYWORD))
    return tool_of(inspect.Signature(parameters)), names


def tool_of(signature):
    """A real function: what fits it is Python's word, not that of `inspect`."""
    bare = signature.replace(
        parameters=[
            p if p.default is Parameter.empty else p.replace(default=Name(f"default_{p.name}"))
            for p in signature.parameters.values()
        ]
    )
    scope = {f"default_{p.name}": p.default for p in signature.parameters.values()}
    exec(f"def tool{bare}: return dict(locals())", scope)
    return scope["tool"]


class Name(str):
    __slots__ = ()
    __repr__ = str.__str__


@st.composite
def calls(draw, tool):
    """Arguments, most of which fit ``tool``: by position, by name or left to the default; the others nearly do."""
    args, kwargs, by_position = [], {}, True
    for name, parameter in signature_of(tool).parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            args += draw(st.lists(values, max_size=2)) if by_position else []
        elif parameter.kind is Parameter.VAR_KEYWORD:
            kwargs = draw(st.dictionaries(st.sampled_from([*"abcde", "result", "other"]), values, max_size=2)) | kwargs
        elif parameter.default is not Parameter.empty and draw(st.booleans()):
            by_position = False
        elif parameter.kind is Parameter.POSITIONAL_ONLY:
            args += [draw(values)] if by_position else []
        elif parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and by_position and draw(st.booleans()):
            args.append(draw(values))
        else:
            by_position = by_position and parameter.kind is Parameter.KEYWORD_ONLY
            kwargs[name] = draw(values)
    change = draw(st.sampled_from(["", "", "", "", "more", "fewer", "other", "without"]))
    if change == "more":
        args.append("x")
    elif change == "fewer":
        args = args[:-1]
    elif change == "other":
        kwargs[draw(st.sampled_from([*"abcde", "result", "other"]))] = "x"
    elif change == "without" and kwargs:
        del kwargs[draw(st.sampled_from(sorted(kwargs)))]
    return tuple(args), kwargs


literals = st.text(st.sampled_from("xy%:-é{}"), min_size=1, max_size=3).map(
    lambda t: t.replace("{", "{{").replace("}", "}}")
)


@st.composite
def templates(draw, fields):
    if not fields:
        return "/".join(draw(st.lists(literals, min_size=1, max_size=3)))
    chosen = draw(st.lists(st.sampled_from(fields), min_size=1, max_size=3))
    text = draw(st.sampled_from(["", "orders/", "o-"])) + f"{{{chosen[0]}}}"
    for field in chosen[1:]:
        text += draw(st.one_of(st.just("/"), literals)) + f"{{{field}}}"
    return text + draw(st.sampled_from(["", "/items", "-x", "}}"]))


@given(st.data(), tools())
def test_a_template_is_str_format_of_the_segments(data, tool_and_fields):
    """For any signature and any call: the real call's values, escaped, and a TypeError where the call has one."""
    tool, fields = tool_and_fields
    args, kwargs = data.draw(calls(tool))
    spec = data.draw(st.lists(templates(fields), max_size=3))
    names = compiled(spec, tool)
    try:
        bound = tool(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError):
            names.of_call(args, kwargs)
        return
    escaped = {name: segment(bound[name]) for name in fields}
    expected = tuple(OrderedDict.fromkeys(template.format(**escaped) for template in spec))
    assert expected == names.of_call(args, kwargs)
    assert expected == tuple(map(check_name, expected))
    assert names.of_result(args, kwargs, object()) == ()
    assert not names.needs_result


@given(st.data(), tools())
def test_a_function_gets_what_the_call_gives(data, tool_and_fields):
    """A function of all parameters, `*args` and `**kwargs` too, sees what the body sees."""
    tool, _ = tool_and_fields
    args, kwargs = data.draw(calls(tool))
    parameters = signature_of(tool).parameters
    seen = []
    scope = {"seen": seen}
    exec(f"def name({', '.join(parameters)}):\n seen.append(dict(locals()))\n return 'x'", scope)
    names = compiled(scope["name"], tool)
    try:
        bound = tool(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError):
            names.of_call(args, kwargs)
        assert seen == []
        return
    assert names.of_call(args, kwargs) == ("x",)
    assert [bound] == seen


@given(texts, texts, texts, texts)
@example("a/b", "c", "a", "b/c")
@example("%2F", "x", "/", "x")
def test_templates_are_injective_where_a_segment_has_one_field(a, b, c, d):
    """Different values are different resources."""

    def tool(a, b): ...

    names = compiled("x/{a}/y-{b}", tool)
    assert ((a, b) == (c, d)) == (names.of_call((a, b), {}) == names.of_call((c, d), {}))


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_value_stays_in_its_segment(value):
    """No value reaches another resource, is formatted a second time, or crashes."""
    [name] = of_call("orders/{order_id}/items", get_order, value)
    first, middle, last = name.split("/")
    assert ("orders", segment(value), "items") == (first, middle, last)
    assert value == unsegment(middle)


@pytest.mark.parametrize(
    ("template", "call", "expected"),
    [
        ("orders/{order_id}", lambda f: f("42"), "orders/42"),
        ("orders/{order_id}", lambda f: f(42), "orders/42"),
        ("order-{order_id}", lambda f: f("a/b"), "order-a%2Fb"),
        ("{order_id}", lambda f: f("42"), "42"),
        ("a/{amount}", lambda f: f("42"), "a/10"),
        ("a/{amount}", lambda f: f("42", 11), "a/11"),
        ("a/{amount}", lambda f: f("42", amount=11), "a/10"),
        ("a/{cart}", lambda f: f("42"), "a/2"),
        ("a/{cart}", lambda f: f("42", 1, "c"), "a/c"),
        ("a/{cart}", lambda f: f("42", cart="c"), "a/c"),
        ("a/{note}", lambda f: f("42", 1, "c", "d", "e"), "a/n"),
        ("a/{note}", lambda f: f("42", note="m"), "a/m"),
        ("{cart}:{order_id}/{note}", lambda f: f("42", order_id="43"), "2:42/n"),
        ("all", lambda f: f("42"), "all"),
        ("{{{order_id}}}", lambda f: f("42"), "{42}"),
        ("{{order_id}}", lambda f: f("42"), "{order_id}"),
        ("a/{order_id}", lambda f: f("{b}"), "a/%7Bb%7D"),
        ("a/{order_id}", lambda f: f("}{"), "a/%7D%7B"),
        ("a/b%2Fc", lambda f: f("42"), "a/b%2Fc"),
    ],
)
def test_templates_by_example(template, call, expected):
    """By position, by keyword, by default; a keyword for a positional-only name belongs to `**extra`."""
    assert (expected,) == call(functools.partial(of_call, template, refund))


@given(st.one_of(texts, st.from_regex(r"\{\w+\}")))
def test_no_value_makes_a_name_that_cannot_be_given(value):
    """Whatever stands in an argument, what a template or `segment` makes of it can be given as a name."""
    for name in (f"orders/{segment(value)}", *of_call("orders/{order_id}", get_order, value)):
        assert literal_name(name) == name


@pytest.mark.parametrize("name", ["orders/{order_id}", "{x}", "a/{_é1}/b", "a/b{x}"])
def test_a_literal_name_is_no_template(name):
    """A forgotten f, or a template where there are no arguments, would name a resource that nothing else does."""
    with pytest.raises(ValueError, match=r"^name=.* .*: it is no template, so \{\w+\} in it stands for nothing"):
        literal_name(name)


@pytest.mark.parametrize("name", ["a/{}", "a/{", "{1}", "{a b}", "{a.b}", "a}{b"])
def test_braces_around_what_is_no_name_of_a_parameter_are_literal(name):
    """They are refused where they look like a field, and nowhere else."""
    assert literal_name(name) == name


@pytest.mark.parametrize(
    "call",
    [
        lambda f: f(),
        lambda f: f(order_id="42"),
        lambda f: f("42", 1, "c", cart="d"),
        lambda f: f(cart="c"),
    ],
)
@pytest.mark.parametrize("spec", ["all", "a/{order_id}", ["a/{order_id}", "b"], lambda order_id: "x", []])
def test_a_call_that_does_not_fit_is_a_type_error(spec, call):
    """What the call would raise is raised before anything is recorded of it, whatever the names are."""
    with pytest.raises(TypeError):
        call(refund)
    with pytest.raises(TypeError):
        call(functools.partial(of_call, spec, refund))


def test_the_type_error_says_whose_and_which_argument():
    """The message is that of `Signature.bind`, after the function's name, as in Python's own."""
    with pytest.raises(TypeError, match=r"^tool\(\) missing a required argument: 'order_id'$"):
        of_call("orders/{order_id}", get_order)
    with pytest.raises(TypeError, match=r"^tool\(\) got an unexpected keyword argument 'id'$"):
        of_call("orders/{order_id}", get_order, "42", id=1)
    with pytest.raises(TypeError, match=r"^tool\(\) too many positional arguments$"):
        of_call("orders/{order_id}", get_order, "42", 1)


def test_a_parameter_called_result_is_an_argument_in_a_template():
    """`{result}` is the tool's parameter, or an error."""

    def save(result): ...

    names = compiled("results/{result}", save, allow_result=True)
    assert names.of_call(("r1",), {}) == ("results/r1",)
    assert not names.needs_result
    with pytest.raises(ValueError, match="field='result' that is no parameter"):
        compiled("orders/{result}", get_order, allow_result=True)


def test_the_same_name_twice_is_one_name():
    """A transfer within one account touches one resource; the first mention gives the place."""

    def transfer(source, target): ...

    spec = ["a/{target}", "a/{source}", "a/{target}", lambda source: ["b", f"a/{source}"]]
    assert of_call(spec, transfer, "1", "1") == ("a/1", "b")
    assert of_call(spec, transfer, "1", "2") == ("a/2", "a/1", "b")


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("orders/{}", "a field that is not just a parameter's name, ''.*lambda"),
        ("orders/{0}", "'0'.*lambda"),
        ("orders/{order_id.x}", "'order_id.x'.*lambda"),
        ("orders/{order_id[0]}", r"'order_id\[0\]'.*lambda"),
        ("orders/{order_id!r}", "'order_id!r'.*lambda"),
        ("orders/{order_id:>10}", "'order_id:>10'.*lambda"),
        ("orders/{order_id:{cart}}", "'order_id:{cart}'.*lambda"),
        ("orders/{ order_id }", "' order_id '.*lambda"),
        ("orders/{order_id/x}", "'order_id/x'.*lambda"),
        ("orders/{order", "does not parse.*literal braces"),
        ("orders/}", "does not parse.*literal braces"),
        ("orders/{", "does not parse.*literal braces"),
        ("orders/{id}", "field='id' that is no parameter.*order_id, amount, cart, more, note, extra"),
        ("orders/{more}", r"field='more', which is \*more.*lambda more: "),
        ("orders/{extra}", r"field='extra', which is \*\*extra.*lambda extra: "),
        ("{order_id}{cart}", "joins {order_id} and {cart} without a literal.*{order_id}/{cart}"),
        ("", "empty segment in name=''"),
        ("/orders", "empty segment in name='/orders'"),
        ("orders/", "empty segment in name='orders/'"),
        ("/{order_id}", "empty segment in name='/{order_id}'"),
        ("{order_id}/", "empty segment in name='{order_id}/'"),
        ("orders//{order_id}", "empty segment in name='orders//{order_id}'"),
        ("{order_id}//{cart}", "empty segment in name="),
        ("{order_id}//", "empty segment in name="),
        ("orders/\ud800", "UTF-8"),
        ("\ud800/{order_id}", "UTF-8"),
    ],
)
@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: ["ok", t], lambda t: ("ok/{order_id}", t)])
def test_a_wrong_template_is_an_error_at_decoration(template, words, wrap):
    """The message begins with the tool, holds the template and says what to write."""
    with pytest.raises(ValueError, match=f"^names of 'tool': .*{words}"):
        compiled(wrap(template), refund)


@pytest.mark.parametrize("first", ["self", "cls"])
def test_self_is_for_functions_only(first):
    """A template cannot put an instance into a name; a function can use it; elsewhere the names are ordinary."""
    scope = {}
    exec(f"def method({first}, order_id): ...\ndef plain(order_id, {first}): ...", scope)
    with pytest.raises(ValueError, match=f"field='{first}', which is no segment.*lambda {first}:"):
        compiled(f"orders/{{{first}}}", scope["method"])
    function = eval(f"lambda order_id, {first}: f'{{{first}}}/{{order_id}}'")
    assert of_call(function, scope["method"], "t", "42") == ("t/42",)
    assert of_call(f"{{{first}}}", scope["plain"], "42", "t") == ("t",)


def test_a_tool_without_parameters_is_told_so():
    """The list of parameters is never an empty sentence."""
    with pytest.raises(ValueError, match="the tool's parameters are none"):
        compiled("orders/{order_id}", lambda: None)


@pytest.mark.parametrize("spec", [None, 1, b"orders", {"orders"}, {"a": "b"}, [None], [["orders"]], ["a", ("b",)]])
def test_what_is_no_name_is_a_type_error_at_decoration(spec):
    """A name is a template, a function or a list of these."""
    with pytest.raises(TypeError, match=r"^names of 'tool': .* is of type .*; give a template such as"):
        compiled(spec, refund)


# -------------------------------------------------------------------------------------------- functions


def test_a_function_of_the_result():
    """Names from the result are known after the call only, and stand beside those known before."""
    spec = [
        "lists/{owner}",
        lambda result: [f"orders/{segment(o)}" for o in result],
        lambda result, owner: f"{owner}/{len(result)}",
    ]

    def list_orders(owner="me"): ...

    names = compiled(spec, list_orders, allow_result=True)
    assert names.needs_result
    assert names.of_call((), {}) == ("lists/me",)
    assert names.of_result((), {}, ["1", "a/b"]) == ("orders/1", "orders/a%2Fb", "me/2")
    assert names.of_result((), {}, []) == ("me/0",)


def test_a_function_of_the_result_alone_names_nothing_before():
    """Such a read has no name until it ends, and may have none then."""
    names = compiled(lambda result: result, get_order, allow_result=True)
    assert names.of_call(("42",), {}) == ()
    assert names.of_result(("42",), {}, []) == ()
    with pytest.raises(TypeError, match="missing a required argument"):
        names.of_call((), {})


def test_result_is_for_reads_only():
    """What a write touches must be known before it runs."""
    with pytest.raises(ValueError, match=r"declares result, but these names must be known before .* order_id"):
        compiled(lambda result: "x", get_order)


def test_result_must_not_mean_two_things():
    """Of a read of a tool with a parameter `result`, a function cannot say which one it means; of a write it can."""

    def save(result): ...

    with pytest.raises(ValueError, match="declares result, which is the call's result and a parameter"):
        compiled(lambda result: "x", save, allow_result=True)
    assert of_call(lambda result: result, save, "r1") == ("r1",)


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("a/b", ("a/b",)),
        (["b", "a", "b"], ("b", "a")),
        (("a",), ("a",)),
        ({"b", "c", "a"}, ("a", "b", "c")),
        (frozenset("cab"), ("a", "b", "c")),
        ((n for n in "ba"), ("b", "a")),
        (dict.fromkeys("ba").keys(), ("b", "a")),
        (Text.A, ("a b",)),
        ([Shouting("a/b")], ("a/b",)),
    ],
)
def test_what_a_function_may_return(returned, expected):
    """A name or any iterable of names, each once; a set in an order that does not change between runs."""
    found = of_call(lambda order_id: returned, get_order, "42")
    assert expected == found
    assert all(type(name) is str for name in found)


@pytest.mark.parametrize("result_kind", [False, True])
@pytest.mark.parametrize(
    ("returned", "cause", "words"),
    [
        (None, None, "returned None of type NoneType: return a name, or a list of names"),
        (1, None, "returned 1 of type int"),
        ({"a": 1}, None, "of type dict"),
        (b"a", TypeError, "name=97"),
        (["a", None], TypeError, "name=None"),
        ([["a"]], TypeError, r"name=\['a'\]"),
        ("", ValueError, "name=''"),
        (["a", "a//b"], ValueError, "name='a//b'"),
        ("/a", ValueError, "name='/a'"),
        ("\ud800", ValueError, "UTF-8"),
    ],
)
def test_what_a_function_must_not_return(returned, cause, words, result_kind):
    """What is no name never reaches the log, and the error, a fault, tells whose function it was."""

    def name_it(order_id):
        return returned

    def name_result(result):
        return returned

    names = compiled(name_result if result_kind else name_it, get_order, allow_result=result_kind)
    with pytest.raises(GuardError, match=rf"^names of 'tool': function \S*name_(it|result)\b.*{words}") as caught:
        names.of_result(("42",), {}, None) if result_kind else names.of_call(("42",), {})
    assert type(caught.value.__cause__) is (cause or type(None))


def test_a_list_may_be_empty_where_the_message_says_so():
    """`[]` for none is an answer of what is rested on, and of a result; what is touched is known before."""
    none = lambda order_id: None  # noqa: E731
    with pytest.raises(GuardError, match=r"return a name, or a list of names$"):
        of_call(none, get_order, "42")
    with pytest.raises(GuardError, match=r"return a name, or a list of names, \[\] for none$"):
        compiled(none, get_order, allow_empty=True).of_call(("42",), {})
    with pytest.raises(GuardError, match=r"return a name, or a list of names, \[\] for none$"):
        compiled(lambda result: None, get_order, allow_result=True).of_result(("42",), {}, None)


def test_no_name_at_all_is_an_error_unless_allowed():
    """A write whose function names nothing would go unguarded; an empty list given at decoration says so plainly."""

    def delete(ids): ...

    spec = lambda ids: [f"orders/{i}" for i in ids]  # noqa: E731
    with pytest.raises(GuardError, match=r"names of 'tool': the name function returned names=\(\): return one"):
        of_call(spec, delete, [])
    with pytest.raises(GuardError, match=r"names=\(\)"):
        of_call([spec, spec], delete, [])
    assert of_call([spec, "orders"], delete, []) == ("orders",)
    assert compiled(spec, delete, allow_empty=True).of_call(([],), {}) == ()
    assert of_call([], delete, []) == ()
    assert of_call((), delete, []) == ()


def test_an_exception_of_a_function_is_a_fault_that_says_whose():
    """It is the cause, be it raised in the function or in a generator that it returns: never taken for the tool's own."""

    class BrokenError(ValueError): ...

    def lazily():
        yield "a"
        raise BrokenError("lazily")

    def broken(order_id):
        raise BrokenError("at once")

    for function, words in ((broken, "broken raised BrokenError: at once"), (lambda order_id: lazily(), "lazily")):
        with pytest.raises(GuardError, match=f"^names of 'tool': function .*{words}$") as caught:
            of_call(function, get_order, "42")
        assert type(caught.value.__cause__) is BrokenError
        said = caught.value.for_model()
        assert said.startswith("This call was not carried out: what it touches cannot be told from its arguments.")
        assert said.endswith("Look at the arguments, then call again; if they are right, ask someone for help.")


def test_how_a_function_may_declare_its_parameters():
    """In any order and of any kind; one that the tool lacks keeps its default."""

    def name(note, /, prefix="p", order_id="never", *, cart, suffix="s"):
        return f"{prefix}/{order_id}/{cart}/{note}/{suffix}"

    def positional(prefix="p", order_id="never", /):
        return f"{prefix}/{order_id}"

    class Namer:
        def __call__(self, order_id):
            return f"n/{order_id}"

        def method(self, order_id):
            return f"m/{order_id}"

    assert of_call(name, refund, "42") == ("p/42/2/n/s",)
    assert of_call(positional, refund, "42") == ("p/42",)
    assert of_call(lambda amount, p="p": f"{p}/{amount}", refund, "42") == ("p/10",)
    assert of_call([Namer(), Namer().method], refund, "42") == ("n/42", "m/42")
    assert of_call(functools.partial(name, prefix="q"), refund, "42", 1, "c") == ("q/42/c/n/s",)
    assert of_call(lambda: "x", refund, "42") == ("x",)
    assert of_call(
        lambda more, extra: ["x/" + "/".join(more), *(f"{k}/{v}" for k, v in extra.items())],
        refund, "42", 10, "c", "1", "2", note="m", y="z",
    ) == ("x/1/2", "y/z")  # fmt: skip


async def coroutine(order_id):
    return "x"


async def stream(order_id):
    yield "x"


class Opaque:
    __signature__ = 3

    def __call__(self, order_id):
        return "x"


class AsyncNamer:
    async def __call__(self, order_id):
        return "x"


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda id: "x", ValueError, r"<lambda> declares parameter='id', unknown to the tool: .* order_id, amount"),
        (lambda depends_on: "x", ValueError, "declares parameter='depends_on'"),
        (lambda *args: "x", ValueError, r"declares \*args: name each parameter; .* order_id, amount"),
        (lambda **kwargs: "x", ValueError, r"declares \*\*kwargs: name each parameter"),
        (coroutine, TypeError, "coroutine is async: .* plain function"),
        (stream, TypeError, "stream is async"),
        (AsyncNamer(), TypeError, "is async"),
        (functools.partial(coroutine), TypeError, "is async"),
        (Opaque(), TypeError, "tells no signature: wrap it, as in lambda"),
    ],
)
@pytest.mark.parametrize("allow_result", [False, True])
def test_a_wrong_function_is_an_error_at_decoration(function, error, words, allow_result):
    """Each parameter is one of the tool's, and names are found without waiting."""
    with pytest.raises(error, match=f"^names of 'tool': function .*{words}"):
        compiled(["ok", function], refund, allow_result=allow_result)

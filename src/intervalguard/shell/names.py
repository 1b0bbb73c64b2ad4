"""Names of resources, as a decorator is given them, compiled to fast functions of a call.

A user names what a tool touches by a template over its arguments (``"orders/{order_id}"``), by a function of
them, of a read also by a function of its ``result``, or by a list of these. What can be wrong with that is an
error where the tool is decorated; what is left for the call is to fetch values and join them. Values enter a
template through `segment` alone: whatever a model writes in an argument, it stays within its segment.

Pure: no clock, no I/O. It reads a call's arguments and never calls the tool.
"""

from __future__ import annotations

import inspect
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from inspect import Parameter, Signature
from string import Formatter
from typing import Any, TypeAlias
from uuid import UUID

import attrs

from intervalguard.kernel.events import check_name

from .errors import GuardError, said

__all__ = ["NameFunction", "NameSpec", "Names", "check_name", "compile_names", "literal_name", "segment"]

NameFunction: TypeAlias = Callable[..., str | Iterable[str]]
NameSpec: TypeAlias = str | NameFunction | Sequence[str | NameFunction]

_Args: TypeAlias = tuple[Any, ...]
_Kwargs: TypeAlias = Mapping[str, Any]
_Get: TypeAlias = Callable[[_Args, _Kwargs, Any], Any]
_Text: TypeAlias = Callable[[_Args, _Kwargs], str]
_Source: TypeAlias = Callable[[_Args, _Kwargs, Any], tuple[str, ...]]

# A fixed list, not a property from `unicodedata`: hosts with different Pythons that share a log must agree.
_RESERVED = "%/{}"
_UNSAFE = re.compile(
    f"[{_RESERVED}"
    "\x00-\x1f\x7f-\x9f"  # control characters
    "\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible: joiners, directions, line ends
    "\ud800-\udfff"  # lone surrogates: they have no encoding in UTF-8
    "\U000e0000-\U000e007f"  # tags: invisible to a person, read by a model
    "]"
)


def segment(value: str | int | UUID | Enum) -> str:
    """``value`` as exactly one segment of a resource's name: not empty, without ``/``, encodable as UTF-8.

    Injective on strings: ``/``, ``%``, braces, control and invisible characters and lone surrogates become
    ``%XX``, byte by byte of their UTF-8; all else stays as it is, ``:``, ``.`` and ``..`` too. Nothing is normalized:
    strings that differ stay different, however alike they look. Between types it is not injective: an ``int``
    or ``UUID`` gives the segment of its ``str``, so 42 and ``"42"`` are one resource; a member of an ``Enum``
    gives that of its value.

    Raises ``ValueError`` for an empty string, ``TypeError`` for any other type, ``bool`` included. O(length).
    """
    plain = value.value if isinstance(value, Enum) else value
    # By the base type's own method: a subclass may print itself in any way.
    if isinstance(plain, str):
        if not plain:
            raise ValueError(f"empty segment: value={value!r} names no resource; pass the id of one")
        return _UNSAFE.sub(_percent, str.__str__(plain))
    if isinstance(plain, int) and not isinstance(plain, bool):
        return int.__repr__(plain)
    if isinstance(plain, UUID):
        return UUID.__str__(plain)
    raise TypeError(
        f"value={reprlib.repr(value)} is of type {type(value).__name__}; a segment is a str, int, UUID or"
        " an Enum member with such a value: convert it, for example segment(str(value)) in a name function"
    )


_NO_PART = frozenset(_RESERVED)
_FIELD = re.compile(r"\{[^\W\d]\w*\}")


def literal_name(name: str) -> str:
    """``name``, if it is the name of a resource, and none that was meant to be a template or an f-string.

    Raises as `check_name` does, and ``ValueError`` for a name with what looks like a field. No `segment` has one.
    """
    field = _FIELD.search(check_name(name))
    if field is not None:
        raise ValueError(
            f"name={name!r} is taken as it is: it is no template, so {field[0]} in it stands for nothing. Put the value in,"
            " as in f'orders/{segment(order_id)}'; where braces are meant, write what segment() makes of them, %7B and %7D"
        )
    return name


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


@attrs.frozen(eq=False)
class Names:
    """What one list of names (``reads=``, ``writes=``, ``rests_on=``) of a tool says of a call."""

    of_call: Callable[[_Args, _Kwargs], tuple[str, ...]]
    """The names known before the body runs, each once, in the order given.

    Raises ``TypeError`` where the arguments do not fit the tool's signature, as the call itself would: such a
    call is stopped before anything is recorded of it. Raises ``TypeError`` or ``ValueError`` for a template's
    value that is no segment, `GuardError` for a name function that raises or gives what is no name.
    """
    of_result: Callable[[_Args, _Kwargs, Any], tuple[str, ...]]
    """The names that only the result tells, for a call that has passed ``of_call``. Raises as that does."""
    needs_result: bool
    """Whether ``of_result`` can give any."""


def compile_names(
    spec: NameSpec, signature: Signature, *, tool: str, allow_result: bool, what: str, allow_empty: bool = False
) -> Names:
    """``spec`` as functions of the calls of ``tool``, which has ``signature``; ``what`` begins every message.

    A **template** has the names of parameters as fields: ``"orders/{order_id}"``; ``{{`` is a brace.
    A field takes what `segment` takes, and is a segment or a part of one (``"order-{id}"``). Where no segment
    has two fields, different segments from the values give different names. Two in one segment need a literal
    between them and can still coincide: ``"{a}-{b}"`` is ``1-2-3`` for ``("1-2", "3")`` and ``("1", "2-3")``.
    Prefer ``"{a}/{b}"``.

    A **function** declares parameters of the tool by their names and gets what the call gives them, or their
    defaults; where ``allow_result``, also ``result``. A parameter that the tool lacks keeps its default, and
    must have one. It returns a name or an iterable of names (those of a set are sorted). ``self`` and ``cls``
    are for functions only.

    Without ``allow_empty`` it is an error if functions of the arguments return no name at all: a write would
    go unguarded. An empty ``spec`` is none: it says so plainly.

    Raises ``ValueError`` or ``TypeError`` for everything that can be seen to be wrong before any call. What
    it leaves to the call: a default that is no segment, such as ``None``, is an error where it is used.
    """
    items = spec if isinstance(spec, list | tuple) else (spec,)
    before: list[_Source] = []
    after: list[_Source] = []
    for item in items:
        if isinstance(item, str):
            text = _template(item, signature, what)
            if len(items) == 1:
                return Names(_of_call_text(signature, tool, text), _none, needs_result=False)
            before.append(_alone(text))
        elif callable(item):
            needs_result, source = _function(item, signature, allow_result, allow_empty, what)
            (after if needs_result else before).append(source)
        else:
            raise TypeError(
                f"{what}: {reprlib.repr(item)} is of type {type(item).__name__}; give a template such as"
                " 'orders/{order_id}', a function of the call's arguments, or a list of these"
            )
    known = _joined(before)
    if before and not allow_empty:
        known = _some(known, what)
    return Names(_of_call(signature, tool, known), _joined(after), needs_result=bool(after))


def _of_call(signature: Signature, tool: str, source: _Source) -> Callable[[_Args, _Kwargs], tuple[str, ...]]:
    low, high, check = _fit(signature, tool)

    def of_call(args: _Args, kwargs: _Kwargs) -> tuple[str, ...]:
        if kwargs or not low <= len(args) <= high:
            check(args, kwargs)
        return source(args, kwargs, None)

    return of_call


def _of_call_text(signature: Signature, tool: str, text: _Text) -> Callable[[_Args, _Kwargs], tuple[str, ...]]:
    # One template is what almost every tool has: two closures instead of four.
    low, high, check = _fit(signature, tool)

    def of_call(args: _Args, kwargs: _Kwargs) -> tuple[str, ...]:
        if kwargs or not low <= len(args) <= high:
            check(args, kwargs)
        return (text(args, kwargs),)

    return of_call


def _none(args: _Args, kwargs: _Kwargs, result: Any) -> tuple[str, ...]:
    return ()


def _alone(text: _Text) -> _Source:
    return lambda args, kwargs, result: (text(args, kwargs),)


def _joined(sources: list[_Source]) -> _Source:
    if not sources:
        return _none
    if len(sources) == 1:
        return sources[0]

    def names(args: _Args, kwargs: _Kwargs, result: Any) -> tuple[str, ...]:
        found: list[str] = []
        for source in sources:
            found += source(args, kwargs, result)
        return tuple(dict.fromkeys(found))

    return names


def _some(source: _Source, what: str) -> _Source:
    def names(args: _Args, kwargs: _Kwargs, result: Any) -> tuple[str, ...]:
        found = source(args, kwargs, result)
        if not found:
            raise _fault(f"{what}: the name function returned names=(): return one that covers the call")
        return found

    return names


# ---------------------------------------------------------------------------------------------- templates


def _template(template: str, signature: Signature, what: str) -> _Text:
    literals, fields = _parse(template, what)
    for name in fields:
        _check_field(name, template, signature, what)
    try:
        # A field is never empty and has no slash: the names are names if the template, read as one, is.
        check_name(template if fields else literals[0])
    except ValueError as error:
        raise _blamed(error, what) from None
    if not fields:
        return lambda args, kwargs: literals[0]
    afters = [""] * (len(fields) - 1) + literals[-1:]
    puts = [
        _put(signature, name, before, after, f"{what}: field {{{name}}} of {template!r}")
        for name, before, after in zip(fields, literals, afters, strict=False)
    ]
    return puts[0] if len(puts) == 1 else lambda args, kwargs: "".join([put(args, kwargs) for put in puts])


def _parse(template: str, what: str) -> tuple[list[str], list[str]]:
    """The literals of ``template`` and the fields between them: one literal more than fields."""
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(
            f"{what}: template={template!r} does not parse ({error}): write {{{{ and }}}} for literal braces"
        ) from None
    literals, fields = [""], list[str]()
    for literal, field, format_spec, conversion in parsed:
        literals[-1] += literal
        if field is None:
            continue
        if format_spec or conversion or not field.isidentifier():
            shown = field + (f"!{conversion}" if conversion else "") + (f":{format_spec}" if format_spec else "")
            raise ValueError(
                f"{what}: template={template!r} has a field that is not just a parameter's name, {shown!r}:"
                " write {order_id}, or for more a function: lambda order: f'orders/{segment(order.id)}'"
            )
        if fields and not literals[-1]:
            raise ValueError(
                f"{what}: template={template!r} joins {{{fields[-1]}}} and {{{field}}} without a literal:"
                f" different resources would share a name; write {{{fields[-1]}}}/{{{field}}}"
            )
        fields.append(field)
        literals.append("")
    return literals, fields


def _check_field(name: str, template: str, signature: Signature, what: str) -> None:
    parameter = signature.parameters.get(name)
    if parameter is None:
        raise ValueError(
            f"{what}: template={template!r} has a field={name!r} that is no parameter: {_listed(signature)}"
        )
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        raise ValueError(
            f"{what}: template={template!r} has a field={name!r}, which is {parameter}, many values:"
            f" give a function: lambda {name}: [...]"
        )
    if name in ("self", "cls") and name == next(iter(signature.parameters)):
        raise ValueError(
            f"{what}: template={template!r} has a field={name!r}, which is no segment:"
            f" give a function: lambda {name}: f'orders/{{segment({name}.order_id)}}'"
        )


def _put(signature: Signature, name: str, before: str, after: str, where: str) -> _Text:
    """The segment of a parameter's value between two literals."""
    index, key, default = _place(signature, name)

    def put(args: _Args, kwargs: _Kwargs) -> str:
        value = args[index] if len(args) > index else kwargs.get(key, default)
        kind = type(value)
        # What `segment` says of the usual values, in a fifth of its time: of ASCII, all else in _UNSAFE is unprintable.
        if kind is int or (
            kind is str
            and value.isascii()
            and (value.isalnum() or (value and value.isprintable() and _NO_PART.isdisjoint(value)))
        ):
            return f"{before}{value}{after}"
        try:
            return f"{before}{segment(value)}{after}"
        except (TypeError, ValueError) as error:
            raise _blamed(error, where) from None

    return put


# ---------------------------------------------------------------------------------------------- functions


def _function(
    function: NameFunction, signature: Signature, allow_result: bool, allow_empty: bool, what: str
) -> tuple[bool, _Source]:
    """Whether ``function`` needs the call's result, and the names that it gives."""
    where = f"{what}: function {getattr(function, '__qualname__', None) or reprlib.repr(function)}"
    if any(
        test(each)
        for test in (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
        for each in (function, type(function).__call__)
    ):
        raise TypeError(f"{where} is async: names are found without waiting, so give a plain function")
    try:
        declared = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise TypeError(f"{where} tells no signature: wrap it, as in lambda order_id: ...") from None
    needs_result = False
    positional: list[_Get] = []
    by_name: dict[str, _Get] = {}
    for parameter in declared:
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            raise ValueError(f"{where} declares {parameter}: name each parameter; {_listed(signature)}")
        if parameter.name == "result" and _takes_result(signature, allow_result, where):
            needs_result = True
            get: _Get = _result
        else:
            get = _argument(signature, parameter, where)
        if parameter.kind is Parameter.KEYWORD_ONLY:
            by_name[parameter.name] = get
        else:
            positional.append(get)

    may_be_empty = needs_result or allow_empty

    def names(args: _Args, kwargs: _Kwargs, result: Any) -> tuple[str, ...]:
        try:
            given = function(
                *[get(args, kwargs, result) for get in positional],
                **{name: get(args, kwargs, result) for name, get in by_name.items()},
            )
            return _returned(given, where, may_be_empty)
        except GuardError:
            raise
        except Exception as error:
            raise _fault(f"{where} raised {said(error)}") from error

    return needs_result, names


def _takes_result(signature: Signature, allow_result: bool, where: str) -> bool:
    """Whether ``result``, declared by a name function, is the call's result, not an argument."""
    if "result" in signature.parameters:
        if allow_result:
            raise ValueError(
                f"{where} declares result, which is the call's result and a parameter of the tool: rename the"
                " tool's, or name it in a template, where {result} is the parameter"
            )
        return False
    if not allow_result:
        raise ValueError(
            f"{where} declares result, but these names must be known before the call runs: declare parameters"
            f" of the tool; {_listed(signature)}"
        )
    return True


def _result(args: _Args, kwargs: _Kwargs, result: Any) -> Any:
    return result


def _argument(signature: Signature, parameter: Parameter, where: str) -> _Get:
    """What a call gives to the tool's parameter of the same name."""
    name = parameter.name
    if name not in signature.parameters:
        if parameter.default is Parameter.empty:
            raise ValueError(f"{where} declares parameter={name!r}, unknown to the tool: {_listed(signature)}")
        return lambda args, kwargs, result: parameter.default
    kind = signature.parameters[name].kind
    if kind is Parameter.VAR_POSITIONAL:
        many = len(_positional(signature))
        return lambda args, kwargs, result: args[many:]
    if kind is Parameter.VAR_KEYWORD:
        named = {p.name for p in signature.parameters.values() if p.kind in _BY_NAME}
        return lambda args, kwargs, result: {k: v for k, v in kwargs.items() if k not in named}
    index, key, default = _place(signature, name)
    return lambda args, kwargs, result: args[index] if len(args) > index else kwargs.get(key, default)


def _fault(message: str) -> GuardError:
    """A name function did not do its part."""
    return GuardError(
        message,
        told="This call was not carried out: what it touches cannot be told from its arguments. Nothing was changed."
        f" ({message}) Look at the arguments, then call again; if they are right, ask someone for help.",
    )


def _returned(given: object, where: str, may_be_empty: bool) -> tuple[str, ...]:
    """The names in what a name function returned, each once."""
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise _fault(
            f"{where} returned {reprlib.repr(given)} of type {type(given).__name__}:"
            f" return a name, or a list of names{', [] for none' if may_be_empty else ''}"
        )
    names: dict[str, None] = {}
    for name in given:
        try:
            names[str.__str__(check_name(name))] = None
        except (TypeError, ValueError) as error:
            raise _fault(f"{where}: {error}") from error
    return tuple(sorted(names) if isinstance(given, set | frozenset) else names)


# ---------------------------------------------------------------------------------------------- signatures

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _positional(signature: Signature) -> list[Parameter]:
    return [p for p in signature.parameters.values() if p.kind in _BY_POSITION]


def _place(signature: Signature, name: str) -> tuple[int, Any, Any]:
    """Where a fitting call has a parameter's value: ``args[index]``, else ``kwargs[key]``, else ``default``.

    The key of a positional-only parameter is ``None``, which no call gives: its name may be in ``**kwargs``.
    """
    parameter = signature.parameters[name]
    names = [p.name for p in _positional(signature)]
    index = names.index(name) if name in names else sys.maxsize
    return index, name if parameter.kind in _BY_NAME else None, parameter.default


def _fit(signature: Signature, tool: str) -> tuple[int, int, Callable[[_Args, _Kwargs], None]]:
    """When arguments fit ``signature``: ``low`` to ``high`` of them and no keywords, or ``check`` passes.

    ``check`` raises the ``TypeError`` of ``Signature.bind``, after the tool's name, and takes its time only then.
    """
    parameters = signature.parameters.values()
    positional = _positional(signature)
    single = [p for p in parameters if p.kind in (*_BY_POSITION, *_BY_NAME)]
    needed = {p.name for p in single if p.default is Parameter.empty}
    by_name = {p.name for p in parameters if p.kind in _BY_NAME}
    most = len(positional)
    high = sys.maxsize if any(p.kind is Parameter.VAR_POSITIONAL for p in parameters) else most
    extra = any(p.kind is Parameter.VAR_KEYWORD for p in parameters)
    # By the number of positional parameters filled by position: what must, may and must not come by name.
    must, may, must_not = [], [], []
    for count in range(most + 1):
        filled = {p.name for p in positional[:count]}
        must.append(frozenset(needed - filled))
        may.append(frozenset(by_name - filled))
        must_not.append(frozenset(by_name & filled))
    # Positional-only parameters that are needed count as missing even where **kwargs holds their names.
    at_least = max((i + 1 for i, p in enumerate(positional) if p.name in needed - by_name), default=0)
    low = next((count for count, names in enumerate(must) if not names), sys.maxsize)

    def check(args: _Args, kwargs: _Kwargs) -> None:
        count = len(args) if len(args) < most else most
        if (
            at_least <= len(args) <= high
            and must[count].issubset(kwargs)
            and (must_not[count].isdisjoint(kwargs) if extra else may[count].issuperset(kwargs))
        ):
            return
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{tool}() {error}") from None
        # Python 3.13.0 binds what no call takes: a needed positional-only parameter whose name is in **kwargs.
        raise TypeError(f"{tool}() missing a required positional-only argument: the call has {len(args)} of {at_least}")

    return low, high, check


def _listed(signature: Signature) -> str:
    return f"the tool's parameters are {', '.join(signature.parameters) or 'none'}"


def _blamed(error: Exception, where: str) -> Exception:
    """``error`` of the same kind, that says where."""
    return (TypeError if isinstance(error, TypeError) else ValueError)(f"{where}: {error}")

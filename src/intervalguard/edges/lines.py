"""The lines of an event file: read in pieces, none longer than `LONGEST_LINE`, each decoded as one JSON object.

msgspec decodes where it is installed, the standard library elsewhere. What msgspec refuses, or may have read otherwise,
goes to the standard library as well, so there is one opinion of what is wrong with a line.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import reprlib
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from io import BufferedReader
from typing import Any, TypeAlias, cast

from intervalguard.kernel.explain import quoted, visible

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line. A longer one is an error before it is in memory."""

_PIECE = 1 << 16
_SPACED_KEY = re.compile(rb'"[ \t\r]+:')

Path: TypeAlias = "str | os.PathLike[str]"
Record: TypeAlias = dict[str, Any]
Decoded: TypeAlias = "tuple[list[Record | None], Fault | None]"
"""The objects of the lines, ``None`` for a blank one, and what is wrong with the line after them, if anything is."""
Progress: TypeAlias = Callable[[int, int | None], object]
"""Told how many bytes of a file were read, and of how many where that is known."""


class EventFileError(ValueError):
    """An event file that cannot be read, or says what cannot be: where, what, and what to do about it.

    ``line`` counts from 1. ``line``, ``field`` and ``value`` are ``None`` where the trouble is with the whole.
    """

    def __init__(self, words: str, file: str, line: int | None = None, field: str | None = None, value: Any = None) -> None:
        place = visible(file) if line is None else f"{visible(file)}:{line}"
        super().__init__(f"{place}: {visible(words)}")
        self.file = file
        self.line = line
        self.field = field
        self.value = value


class Fault(Exception):
    """What is wrong with one field of a line; the reader adds the file and the line."""

    def __init__(self, field: str | None, value: Any, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.field = field
        self.value = value
        self.words = words
        self.line = line


def fault(field: str, value: Any, why: str) -> Fault:
    """A `Fault` in the words ``FIELD=VALUE WHY``."""
    return Fault(field, value, f"{field}={given(value)} {why}")


_short = reprlib.Repr()
_short.maxlevel, _short.maxlist, _short.maxdict, _short.maxlong = 2, 4, 4, 40


def given(value: Any) -> str:
    """A value of a line in a message: on one line, cut where it is long."""
    return quoted(value) if isinstance(value, str) else visible(_short.repr(value))


# -- lines


def pieces(path: Path, progress: Progress | None = None) -> Iterator[bytes]:
    """A file in pieces of whole lines, without the last line end.

    O(size), and O(a piece) of memory. ``-`` is standard input; a name that ends in ``.gz`` is unpacked. Raises
    `EventFileError` for what cannot be read, and `Fault` where something is wrong after the last piece.
    """
    file = os.fspath(path)
    try:
        with ExitStack() as stack:
            read, place, size = _open(file, stack)
            done, rest = 0, b""
            for piece in iter(lambda: read(_PIECE), b""):
                done += len(piece)
                if progress is not None:
                    progress(done if place is None else place(), size)
                first = piece.find(b"\n")
                if len(rest) + (first if first >= 0 else len(piece)) > LONGEST_LINE:
                    raise _too_long()
                if first < 0:
                    rest += piece
                    continue
                end = piece.rfind(b"\n")
                part, rest = rest + piece[:end], piece[end + 1 :]
                yield part
            if rest:
                yield rest
    except (EOFError, zlib.error) as error:
        raise Fault(None, None, f"the compressed file is cut short or damaged: {error}") from None
    except gzip.BadGzipFile as error:
        raise EventFileError(f"not a gzip file, or damaged: {error}", file) from None
    except OSError as error:
        raise EventFileError(f"cannot be read: {error.strerror or error}", file) from None


def _too_long() -> Fault:
    words = f"longer than {LONGEST_LINE // 1024**2} MiB, which no event is: is it JSON Lines, one event a line?"
    return Fault(None, None, words)


_Read: TypeAlias = Callable[[int], bytes]


def _open(file: str, stack: ExitStack) -> tuple[_Read, Callable[[], int] | None, int | None]:
    """What reads the bytes, and how far its file was read and how long that is, where it is known."""
    if file == "-":
        if sys.stdin is None:
            raise EventFileError("cannot be read: standard input is closed", file)
        return cast("BufferedReader", sys.stdin.buffer).read1, None, None
    try:
        raw = stack.enter_context(open(file, "rb"))  # noqa: SIM115
    except ValueError as error:
        raise EventFileError(f"cannot be read: {error}", file) from None
    size = os.fstat(raw.fileno()).st_size or None
    if file.endswith(".gz"):
        return stack.enter_context(gzip.GzipFile(fileobj=raw)).read, raw.tell, size
    return raw.read, raw.tell, size


# -- objects


def _object(pairs: list[tuple[str, Any]]) -> Record:
    record = dict(pairs)
    if len(record) != len(pairs):
        seen: set[str] = set()
        for key, value in pairs:
            if key in seen:
                raise Fault(key, value, f"the key {quoted(key)} is given twice: keep one, for they may differ")
            seen.add(key)
    return record


def _constant(text: str) -> Any:
    raise Fault(None, text, f"{text} is no JSON: write null, or a number that is finite")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def decode(line: bytes) -> Record:
    """One line as a JSON object. Raises `Fault`. O(length)."""
    try:
        record = _decoder.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        if line[:3] == b"\xef\xbb\xbf":
            raise Fault(None, None, "a byte order mark at the start: save the file as UTF-8 without one") from None
        words = f"not UTF-8, at byte {error.start + 1} of the line: {error.reason}; is it JSON Lines?"
        raise Fault(None, line[error.start : error.end], words) from None
    except json.JSONDecodeError as error:
        if line[:3] == b"\xef\xbb\xbf":
            raise Fault(None, None, "a byte order mark at the start: save the file as UTF-8 without one") from None
        hint = "is the line cut short?" if _is_cut(error) else "write one JSON object a line"
        raise Fault(None, None, f"no JSON, at character {error.colno}: {error.msg}; {hint}") from None
    except RecursionError:
        raise Fault(None, None, "nested too deeply for an event") from None
    except ValueError as error:
        raise Fault(None, None, f"a number that is too long: {error}") from None
    if type(record) is not dict:
        raise Fault(None, record, f"{given(record)} is no event: write one JSON object a line")
    return record


def _is_cut(error: json.JSONDecodeError) -> bool:
    return error.msg.startswith("Unterminated") or not error.doc[error.pos :].strip()


def decoder() -> Callable[[bytes], Decoded]:
    """The quickest way that is installed to `decode` each line of a piece.

    Of several equal keys it takes the last, as most decoders do. So what it gives is taken where it is sure that the
    piece says just that, and else each line is decoded by `decode`.
    """
    quick: Callable[[bytes], Any] = _quickly
    with suppress(ImportError):
        import msgspec

        quick = msgspec.json.Decoder().decode

    def decode_part(part: bytes) -> Decoded:
        lines = part.split(b"\n")
        if part[:1] == b"{":
            with suppress(ValueError, RecursionError, Fault):
                records = [*map(quick, lines)]
                if set(map(type, records)) == {dict} and _has_no_key_twice(part, records):
                    return records, None
        return _one_by_one(lines)

    return decode_part


_plain = json.JSONDecoder(parse_constant=_constant)


def _quickly(line: bytes) -> Any:
    """One line by the standard library, which takes the last of several equal keys."""
    return _plain.decode(line.decode("utf-8"))


def _one_by_one(lines: list[bytes]) -> Decoded:
    decoded: list[Record | None] = []
    try:
        for line in lines:
            decoded.append(decode(line) if line and not line.isspace() else None)
    except Fault as found:
        return decoded, found
    return decoded, None


def _has_no_key_twice(part: bytes, records: list[Any]) -> bool:
    """Whether it is sure that no object has a key twice. It may say no where none has.

    Each key is followed by '":', so there are as many of these as keys, or more. No more than different keys: no key is
    given twice.
    """
    keys = part.count(b'":')
    if keys != sum(map(len, records)) and keys != sum(map(_keys, records)):
        return False
    spaced = (b" " in part and b'" ' in part) or b"\t" in part or b"\r" in part
    return not (spaced and _SPACED_KEY.search(part))


def _keys(value: Any) -> int:
    """How many keys a decoded value has, in objects up to a few levels deep."""
    count, level = 0, [value]
    for _ in range(4):
        below: list[Any] = []
        for each in level:
            if type(each) is dict:
                count += len(each)
                below += each.values()
            else:
                below += each
        level = [each for each in below if type(each) is dict or type(each) is list]
        if not level:
            break
    return count

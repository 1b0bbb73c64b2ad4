"""Runs the proofs against every mutant of the kernel, and keeps what killed each: ``python -m mutants``, from `proofs`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence

from . import direct
from .edits import Edit, edit_between, made_again
from .results import Mutant, Results, changed, in_scope, load, present, save, write_readme
from .runner import Job, run
from .scope import LEFT_OUT, PROOFS, SURVIVED, UNPROVED
from .source import bare, executable, function_at, left_out, path_of


def read(module: str) -> str:
    return path_of(module).read_text(encoding="utf-8")


def made(module: str, only: str | None) -> list[Edit]:
    """The mutants of a module that are in scope, or of one function of it."""
    from .mutators import mutants  # which needs mutmut

    code = bare(read(module))
    edits = []
    for each in mutants(code):
        if not left_out(code, each.line, LEFT_OUT.get(module, {})):
            edit = edit_between(code, each.text, each.line)
            if made_again(code, edit) != each.text:
                raise RuntimeError(f"what is kept of a mutant does not make it again: {edit.shown}")
            edits += [edit] if only in (None, edit.function) else []
    return edits


def lines(module: str) -> dict[str, int]:
    """How many executable lines a module has, and for how many of them mutmut by itself, and this run, has a mutant."""
    from .mutators import lines_of_mutmut, mutants

    code = bare(read(module))
    every = executable(code)
    inside = {line for line in every if not left_out(code, line, LEFT_OUT.get(module, {}))}
    mutated = {each.line for each in mutants(code)} & inside
    for line in sorted(inside - mutated):
        print(f"no mutant: {module}.{function_at(code, line).name}: {code.splitlines()[line - 1].strip()}")
    alone = lines_of_mutmut(code) & inside
    return {"executable": len(every), "in scope": len(inside), "by mutmut": len(alone), "mutated": len(mutated)}


def prove(module: str, edits: Sequence[Edit], results: Results, workers: int, seconds: int) -> None:
    """Find and keep what kills each of these mutants. Ends where proofs fail with the kernel that ships."""
    code = bare(read(module))
    left = edits
    for proofs in filter(None, in_turn(PROOFS[module])):
        if run([Job(module, code, proofs)], 1, seconds) != [SURVIVED]:
            sys.exit(f"{module}: one of {', '.join(proofs)} fails with the kernel that ships: mend that first")
        jobs = [Job(module, made_again(code, each), proofs) for each in left]

        def tell(number: int, by: str, took: float, left: Sequence[Edit] = left) -> None:
            results.killers[module, left[number]] = by
            if by == SURVIVED:
                print(f"{number + 1}/{len(left)} survives {took:.1f} s  {module}.{left[number].shown}", flush=True)
            elif number % 50 == 49:
                print(f"{number + 1}/{len(left)}", flush=True)
                save(results)

        said = run(jobs, workers, seconds, tell)
        left = [edit for edit, by in zip(left, said, strict=True) if by == SURVIVED]
        save(results)


def in_turn(proofs: Sequence[str]) -> list[list[str]]:
    """The proofs that are called as they are, which is quicker, and then those that pytest runs."""
    return [[each for each in proofs if direct.is_direct([each]) is first] for first in (True, False)]


def killed_again(mutants: Sequence[Mutant], results: Results, workers: int, seconds: int) -> list[str]:
    """What the proof that killed each of these mutants says of it now; then, of each of the modules that ship."""
    jobs = [Job(module, made_again(bare(read(module)), edit), [results.killers[module, edit]]) for module, edit in mutants]
    for module in dict(mutants):
        its = {results.killers[each] for each in mutants if each[0] == module}
        jobs.append(Job(module, bare(read(module)), sorted(its)))
    return run(jobs, workers, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("--only", metavar="MODULE[.FUNCTION]", help="one module, or one function, of the kernel")
    parser.add_argument("--changed", action="store_true", help="the functions that have changed since the results were kept")
    parser.add_argument("--survivors", action="store_true", help="the survivors that are kept, and no other mutant")
    parser.add_argument("--again", type=int, nargs="+", metavar="N", help="these mutants alone, by number; keeps nothing")
    parser.add_argument("--readme", action="store_true", help="run nothing, put the numbers that are kept into the README")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="so many processes at a time")
    parser.add_argument("--seconds", type=int, default=30, help="of processor time, after which a mutant counts as killed")
    given = parser.parse_args()
    results = load()
    if given.again:
        mutants = [[*results.killers][number] for number in given.again]
        print(json.dumps(killed_again(mutants, results, given.workers, given.seconds)))
        return
    if given.readme:
        write_readme(results)
        return
    stale = changed(results.digests, present(PROOFS))
    wanted = stale if given.changed else [given.only] if given.only else list(PROOFS)
    for each in wanted:
        since = time.monotonic()
        module, _, function = each.partition(".")
        edits = made(module, function or None)
        if given.survivors:
            if any(name.partition(".")[0] == module for name in stale):
                sys.exit(f"{module} has changed since: run `python -m mutants --changed` first")
            edits = [edit for edit in edits if results.killers.get((module, edit), SURVIVED) == SURVIVED]
        else:
            if not function:
                results.lines.pop(module, None)
            results.forget(module, function or None, in_scope(module, read(module)))
        prove(module, edits, results, given.workers, given.seconds)
        results.lines[module] = lines(module)
        save(results)
        survivors = sum(results.killers[module, edit] == SURVIVED for edit in edits)
        print(f"{each}: {len(edits)} mutants, {survivors} survive; {time.monotonic() - since:.0f} s", flush=True)
    results.lines |= {
        module: {"executable": len(executable(bare(read(module))))} for module in {*PROOFS, *UNPROVED} - {*results.done}
    }
    save(results)
    write_readme(results)


if __name__ == "__main__":
    main()

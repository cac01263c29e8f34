"""Mutants of a module: its syntax tree with one small fault.

A mutant is known by its function, the expression before and after, and, where a function has the
same fault in several places, its number among them: that survives changes elsewhere in the file.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mutation.operators import variants

_LONGEST = 110  # of the text that a mutant is known by
_SAYS_LITTLE = (ast.UnaryOp, ast.Slice, ast.Tuple, ast.Starred)


@dataclass(frozen=True)
class Name:
    """How a mutant is told from the others."""

    module: str
    function: str
    change: str
    nth: int = 1

    def __str__(self) -> str:
        number = "" if self.nth == 1 else f" (no. {self.nth})"
        return f"{self.module} {self.function}: {self.change}{number}"


@dataclass(frozen=True)
class Mutant:
    """One fault; `applied` puts it into the tree."""

    name: Name
    first: int
    """lines of the statement that it is in"""
    last: int
    outermost: tuple[str, int] | None
    """name and first line of the function that the fault is in; None outside of functions"""
    constant: bool
    """whether it is in the value of a name of the module"""
    parent: Any
    field: str
    index: int | None
    changed: Any


class Source:
    """A module and all its mutants."""

    def __init__(self, module: str, path: str, text: str):
        self.module, self.path = module, path
        self.tree = ast.parse(text, path)
        self._seen: set[tuple[int, str]] = set()
        self._names: Counter[tuple[str, str]] = Counter()
        self.mutants = list(self._of(self.tree, _Place()))

    def compiled(self, mutant: Mutant) -> Any:
        """The code of the module with this fault."""
        with applied(mutant):
            return compile(self.tree, self.path, "exec", dont_inherit=True)

    def _of(self, node: ast.AST, place: "_Place") -> Iterator[Mutant]:
        place = place.within(node)
        for parent, field, index, child in _children(node):
            if not _is_number(parent, field, child):
                continue
            inside = place.around(node, field)
            for changed in variants(child, parent, field, inside.outermost is not None):
                made = self._mutant(inside, parent, field, index, child, changed)
                if made is not None:
                    yield made
            yield from self._of(child, inside)

    def _mutant(
        self, place: "_Place", parent: Any, field: str, index: int | None, child: Any, changed: Any
    ) -> Mutant | None:
        statement = child if isinstance(child, ast.stmt) else place.statement
        for new in ast.walk(changed):
            if isinstance(new, ast.expr | ast.stmt):
                ast.copy_location(new, child)
        draft = Mutant(Name("", "", ""), 0, 0, None, False, parent, field, index, changed)
        shown = place.shown(child)
        before = ast.unparse(shown)
        with applied(draft):
            after = ast.unparse(changed if shown is child else shown)
            whole = ast.unparse(changed if statement is child else statement)
        if (statement.lineno, whole) in self._seen or before == after:
            return None
        self._seen.add((statement.lineno, whole))
        change = " ".join(f"{before} → {after or 'pass'}".split())
        self._names[place.function, change] += 1
        name = Name(self.module, place.function, change, self._names[place.function, change])
        first, last = _lines(statement, child)
        constant = place.function == "module" and isinstance(statement, ast.Assign)
        return Mutant(name, first, last, place.outermost, constant, parent, field, index, changed)


@dataclass(frozen=True)
class _Place:
    function: str = "module"
    outermost: tuple[str, int] | None = None
    statement: Any = None
    expression: Any = None
    """the nearest around, that says something"""

    def within(self, node: ast.AST) -> "_Place":
        """Of what is in `node`."""
        if isinstance(node, ast.stmt):
            return replace(self, statement=node, expression=None if _has_body(node) else node)
        says = isinstance(node, ast.expr) and not isinstance(node, _SAYS_LITTLE)
        return replace(self, expression=node) if says else self

    def shown(self, child: Any) -> Any:
        """What a change is shown by: a number alone says little."""
        small = isinstance(child, ast.Constant | ast.Name | ast.operator | ast.UnaryOp)
        if small and self.expression and len(ast.unparse(self.expression)) <= _LONGEST:
            return self.expression
        return child

    def around(self, node: ast.AST, field: str) -> "_Place":
        """Of a field of `node`: only the body of a function is in that function."""
        if isinstance(node, ast.ClassDef) and field == "body":
            return replace(self, function=_joined(self.function, node.name))
        if isinstance(node, ast.FunctionDef) and field == "body":
            name = _joined(self.function, node.name)
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return replace(self, function=name, outermost=self.outermost or (name, first))
        return self


def _has_body(node: ast.stmt) -> bool:
    return hasattr(node, "body")


def _joined(outer: str, name: str) -> str:
    return name if outer == "module" else f"{outer}.{name}"


def _children(node: ast.AST) -> Iterator[tuple[Any, str, int | None, Any]]:
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield node, field, None, value
        elif isinstance(value, list):
            yield from ((node, field, i, v) for i, v in enumerate(value) if isinstance(v, ast.AST))


def _is_number(parent: ast.AST, field: str, child: ast.AST) -> bool:
    """Not annotations, decorators, messages and docstrings; not lengths that `zip` checks."""
    if field in ("annotation", "returns", "decorator_list", "bases", "type_params"):
        return False
    if isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return False
    if isinstance(child, ast.keyword) and child.arg in ("strict", "dtype"):
        return False
    return not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant))


def _lines(statement: Any, child: Any) -> tuple[int, int]:
    """Of a compound statement only the part before its body."""
    if isinstance(statement, ast.If | ast.For | ast.While | ast.With) and child is not statement:
        return statement.lineno, statement.body[0].lineno - 1
    return statement.lineno, statement.end_lineno or statement.lineno


@contextmanager
def applied(mutant: Mutant) -> Iterator[None]:
    """The tree has the fault meanwhile."""
    value = getattr(mutant.parent, mutant.field)
    if mutant.index is None:
        setattr(mutant.parent, mutant.field, mutant.changed)
        yield
        setattr(mutant.parent, mutant.field, value)
    else:
        kept, value[mutant.index] = value[mutant.index], mutant.changed
        yield
        value[mutant.index] = kept

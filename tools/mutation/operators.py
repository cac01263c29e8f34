"""The faults: what may stand in the place of a node of a syntax tree."""

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any

_COMPARED: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMBINED: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
_RENAMED = {
    **{"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"},
    **{"argmin": "argmax", "argmax": "argmin", "nanargmax": "nanargmin"},
    **{"any": "all", "all": "any", "floor": "ceil", "ceil": "floor"},
    **{"sum": "mean", "mean": "sum", "cos": "sin", "sin": "cos", "real": "imag", "imag": "real"},
    **{"zeros": "ones", "ones": "zeros", "log1p": "log", "expm1": "exp", "fsum": "prod"},
    **{"zeros_like": "ones_like", "ones_like": "zeros_like"},
}
_BUILTIN = ("min", "max", "any", "all")  # a bare `sum` has no `mean` beside it
_UNWRAPPED = {
    *("abs", "sqrt", "exp", "log", "clip", "where", "minimum", "maximum", "min", "max"),
    *("flip", "sort", "stop_gradient", "cumsum", "softplus", "sigmoid", "maximum", "floor"),
}
_SIDES = {"left": "right", "right": "left"}
_FLIPPED = {"where": (1, 2), "clip": (1, 2)}
Node = Any


def variants(node: Node, parent: Node, field: str, in_function: bool) -> Iterator[Node]:
    """All faults of one node; copies, so that the tree stays as it is."""
    for kind, faults in _FAULTS.items():
        if isinstance(node, kind):
            for fault in faults(node, in_function):
                yield copy.deepcopy(fault)
    # Comparisons are turned round already, and `not` is taken away.
    if field == "test" and not isinstance(node, ast.Compare | ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), copy.deepcopy(node))
    statement = ast.AugAssign | ast.Expr | ast.Assign
    if field in ("body", "orelse") and isinstance(node, statement) and _droppable(node):
        yield ast.Pass()


def _droppable(node: Node) -> bool:
    """Sums that go on, calls for their effect, entries that are set."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Subscript)
    return isinstance(node, ast.AugAssign) or isinstance(node.value, ast.Call)


def _changed(node: Node, **fields: Any) -> Node:
    new = copy.deepcopy(node)
    for field, value in fields.items():
        setattr(new, field, value)
    return new


def _constant(node: Node, _: bool) -> Iterator[Node]:
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, float):
        if value == 0.0:
            yield ast.Constant(1.0)
        elif value == 1.0:
            yield from (ast.Constant(0.0), ast.Constant(2.0))
        else:
            yield from (ast.Constant(2.0 * value), ast.Constant(0.5 * value))
    elif value in _SIDES:
        yield ast.Constant(_SIDES[value])


def _compare(node: Node, _: bool) -> Iterator[Node]:
    for i, op in enumerate(node.ops):
        for other in _COMPARED[type(op)]:
            yield _changed(node, ops=[*node.ops[:i], other(), *node.ops[i + 1 :]])


def _binary(node: Node, in_function: bool) -> Iterator[Node]:
    if not in_function and isinstance(node.op, ast.BitOr):
        return  # types
    for other in _COMBINED.get(type(node.op), ()):
        yield _changed(node, op=other())
    if isinstance(node.op, ast.MatMult):
        return
    yield node.left
    if isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.Sub):
        yield node.right


def _boolean(node: Node, _: bool) -> Iterator[Node]:
    yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for i in range(len(node.values)):
        rest = [*node.values[:i], *node.values[i + 1 :]]
        yield rest[0] if len(rest) == 1 else _changed(node, values=rest)


def _unary(node: Node, _: bool) -> Iterator[Node]:
    yield node.operand


def _call(node: Node, _: bool) -> Iterator[Node]:
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    if isinstance(node.func, ast.Attribute) and name in _RENAMED:
        yield _changed(node, func=_changed(node.func, attr=_RENAMED[name]))
    if isinstance(node.func, ast.Name) and name in _BUILTIN:
        yield _changed(node, func=ast.Name(_RENAMED[name], ast.Load()))
    if name in _FLIPPED and len(node.args) == 3:
        yield _changed(node, args=[node.args[0], node.args[2], node.args[1]])
    if name in _UNWRAPPED:
        from_second = 1 if name == "where" else 0
        for argument in node.args[from_second:]:
            if not isinstance(argument, ast.Starred):
                yield argument
    if name == "conj" and isinstance(node.func, ast.Attribute):
        yield node.func.value


def _choice(node: Node, _: bool) -> Iterator[Node]:
    yield _changed(node, body=node.orelse, orelse=node.body)
    yield from (node.body, node.orelse)


def _augmented(node: Node, _: bool) -> Iterator[Node]:
    for other in _COMBINED.get(type(node.op), ()):
        yield _changed(node, op=other())


def _flow(node: Node, _: bool) -> Iterator[Node]:
    yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()


def _filter(node: Node, _: bool) -> Iterator[Node]:
    for i in range(len(node.ifs)):
        yield _changed(node, ifs=[*node.ifs[:i], *node.ifs[i + 1 :]])


_FAULTS: dict[Any, Callable[[Node, bool], Iterator[Node]]] = {
    ast.Constant: _constant,
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.Call: _call,
    ast.IfExp: _choice,
    ast.AugAssign: _augmented,
    ast.Continue | ast.Break: _flow,
    ast.comprehension: _filter,
}

"""Predicates as trees of single comparisons, so that each can be tested by itself (`evidence`).

A leaf says that a number is above 0. Whatever joins comparisons is written out:

| written | tree |
|---|---|
| a > b | Single(a - b) |
| p and q; a < b < c | All |
| p or q | Any |
| not p | the comparisons of p turned round, All and Any exchanged (De Morgan) |
| a == b | All(a - b >= 0, b - a >= 0), each but for the metric's equivalence bound |
| max(a, b) > c; c > min(a, b) | Any(a > c, b > c); Any(c > a, c > b) |
| min(a, b) > c; c > max(a, b) | All(a > c, b > c); All(c > a, c > b) |
| abs(a) | max(a, -a) |

An extreme may stand anywhere in a sum, in a product with a constant, and in `mean`, and max and min also in `f1`, whose arguments are not
negative: whether the whole rises or falls with it decides between All and Any. So max(a, b) - min(a, b) <= c is All of a - b <= c, b - a <= c and two that are
true in any case.
"""

import ast
import copy
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from bitextbench.base.bootstrap import quotient

MOST = 5000  # leaves of a tree
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
COMPARISONS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.Eq, ast.NotEq)
Value = TypeVar("Value", float, int)


@dataclass(frozen=True, eq=False)
class Single:
    """`number` > 0, or >= 0 if `closed`; `equal`: one half of an equality, or of its negation."""

    number: ast.expr
    closed: bool = False
    equal: bool = False


@dataclass(frozen=True, eq=False)
class Joined:
    """All, with `every`: true where each part is. Any, without: true where some part is."""

    every: bool
    parts: "tuple[Tree, ...]"


Tree = Single | Joined


def tree(node: ast.expr) -> Tree:
    """The tree of a predicate as `claims.instances` parses it. Raises ValueError where it cannot be written out: an
    extreme in a product with cells, or more than MOST comparisons.
    """
    made = _tree(node, negated=False)
    for count, _ in enumerate(leaves(made), start=1):
        if count > MOST:
            raise ValueError(f"more than {MOST:,} comparisons")
    return made


def leaves(made: Tree) -> Iterator[Single]:
    """The single comparisons of a tree, in order."""
    if isinstance(made, Single):
        yield made
    else:
        for part in made.parts:
            yield from leaves(part)


def folded(made: Tree, of: Callable[[Single], Value]) -> Value:
    """The least of the parts of All, the greatest of those of Any, down to `of` each comparison."""
    if isinstance(made, Single):
        return of(made)
    return (min if made.every else max)(folded(part, of) for part in made.parts)


def f1(precision: Any, recall: Any) -> Any:
    """The harmonic mean of two numbers that are not negative, or of arrays; 0 where both are 0."""
    return quotient(*np.broadcast_arrays(2.0 * precision * recall, precision + recall))


def number(
    node: ast.expr,
    cells: Mapping[str, Any],
    constant: Callable[[float], Any] = float,
    f1: Callable[[Any, Any], Any] = f1,
) -> Any:
    """The value of an expression without extremes, of the type of `cells` and of what `constant` makes of a number.

    Raises ValueError for what is no such expression.
    """
    of = partial(number, cells=cells, constant=constant, f1=f1)
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return constant(value)
        case ast.Name(id=name) if name in cells:
            return cells[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -of(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](of(left), of(right))
        case ast.Call(func=ast.Name(id="mean"), args=[_, *_] as args, keywords=[]):
            return reduce(operator.add, map(of, args)) / len(args)
        case ast.Call(func=ast.Name(id="f1"), args=[precision, recall], keywords=[]):
            return f1(of(precision), of(recall))
    raise ValueError(ast.unparse(node))


def _tree(node: ast.expr, *, negated: bool) -> Tree:
    match node:
        case ast.BoolOp(op=op, values=values):
            return _joined(isinstance(op, ast.And) != negated, (_tree(value, negated=negated) for value in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _tree(operand, negated=not negated)
        case ast.Compare(left=left, ops=ops, comparators=rest) if all(isinstance(op, COMPARISONS) for op in ops):
            sides = zip(ops, pairwise((left, *rest)), strict=True)
            return _joined(not negated, (_compared(op, *pair, negated=negated) for op, pair in sides))
    raise ValueError(ast.unparse(node))


def _joined(every: bool, parts: Iterator[Tree]) -> Tree:
    """All or Any of the parts, those of the same kind as one level."""
    flat = [
        one for part in parts for one in (part.parts if isinstance(part, Joined) and part.every == every else [part])
    ]
    return flat[0] if len(flat) == 1 else Joined(every, tuple(flat))


def _compared(op: ast.cmpop, a: ast.expr, b: ast.expr, *, negated: bool) -> Tree:
    more, less = ast.BinOp(a, ast.Sub(), b), ast.BinOp(b, ast.Sub(), a)
    if isinstance(op, ast.Eq | ast.NotEq):
        same = isinstance(op, ast.Eq) != negated
        return _joined(same, (_above(Single(side, closed=same, equal=True)) for side in (more, less)))
    number = more if isinstance(op, ast.Gt | ast.GtE) != negated else less
    return _above(Single(number, closed=isinstance(op, ast.GtE | ast.LtE) != negated))


def _above(one: Single) -> Tree:
    """The comparison with its extremes written out, from the outermost."""
    for call, rising in _extremes(one.number, rising=True):
        assert isinstance(call.func, ast.Name)
        if call.keywords or len(call.args) != (1 if call.func.id == "abs" else max(1, len(call.args))):
            raise ValueError(ast.unparse(call))
        choices = call.args if call.func.id != "abs" else [call.args[0], ast.UnaryOp(ast.USub(), call.args[0])]
        parts = (_above(Single(_with(one.number, call, each), one.closed, one.equal)) for each in choices)
        return _joined((call.func.id == "min") == rising, parts)
    return one


def _extremes(node: ast.expr, *, rising: bool) -> Iterator[tuple[ast.Call, bool]]:
    """The outermost calls of max, min and abs in a number, and whether it rises with each."""
    match node:
        case ast.Call(func=ast.Name(id="max" | "min" | "abs")):
            yield node, rising
        case ast.Call(func=ast.Name(id=name), args=args):
            for argument in args:
                for call, rises in _extremes(argument, rising=rising):
                    if name == "f1" and isinstance(call.func, ast.Name) and call.func.id == "abs":
                        raise ValueError("abs in f1")
                    yield call, rises
        case ast.UnaryOp(operand=operand):
            yield from _extremes(operand, rising=not rising)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for one, other in ((left, right), (right, left)):
                for found in _extremes(one, rising=rising):
                    yield found[0], found[1] == (number(other, {}) >= 0)
        case ast.BinOp(left=left, op=op, right=right):
            yield from _extremes(left, rising=rising)
            yield from _extremes(right, rising=rising != isinstance(op, ast.Sub))


def _with(node: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    """A copy of a number in which `new` stands in the place of `old`."""
    if node is old:
        return new
    made = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(made, name, [_with(each, old, new) for each in value])
        elif isinstance(value, ast.expr):
            setattr(made, name, _with(value, old, new))
    return made


def text(one: Single, cells: Mapping[str, str]) -> str:
    """A single comparison as it would be written in a predicate; `cells` has the text of each cell."""

    class Named(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:
            return ast.Name(cells.get(node.id, node.id))

    return f"{ast.unparse(Named().visit(copy.deepcopy(one.number)))} {'>=' if one.closed else '>'} 0"

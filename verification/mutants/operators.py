"""The ways in which a right kernel is changed in one place.

Each operator is a small function: given the cell and one node of a kernel's body, it
yields the edits, each tuple of which makes one mutant. Its name is part of the mutant's
name.
"""

import ast
from collections.abc import Callable, Iterator

from verification.mutants.splicing import Cell, Edits, put

Found = Iterator[Edits]
Operator = Callable[[Cell, ast.AST], Found]

OPERATORS: dict[str, Operator] = {}


def operator(function: Operator) -> Operator:
    OPERATORS[function.__name__] = function
    return function


def called(node: ast.AST) -> str:
    """Return the dotted name of the function that is called; "" for other nodes."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def number(value: int) -> str:
    """Return a number as an expression, with brackets if it is negative."""
    return str(value) if value >= 0 else f"({value})"


def plus(node: ast.expr, more: int) -> ast.expr:
    """Return `node + more`, as a subtraction if `more` is negative."""
    sign: ast.operator = ast.Add() if more > 0 else ast.Sub()
    return ast.BinOp(node, sign, ast.Constant(abs(more)))


# Numbers and arithmetic


@operator
def off_by_one(cell: Cell, node: ast.AST) -> Found:
    """Increase or decrease an integer by one."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for more in (1, -1):
            yield (put(node, number(node.value + more)),)


@operator
def other_number(cell: Cell, node: ast.AST) -> Found:
    """Increase a float by one: a factor, or the initial value of a sum."""
    if isinstance(node, ast.Constant) and type(node.value) is float:
        yield (put(node, repr(node.value + 1)),)


OTHER_SIGN: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.BitXor: (ast.BitOr, ast.Add),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.Pow: (ast.Mult,),
}


@operator
def other_sign(cell: Cell, node: ast.AST) -> Found:
    """Replace `-` by `+`, `/` by `//`, `|` by `&`, and so on."""
    if isinstance(node, ast.BinOp):
        for other in OTHER_SIGN.get(type(node.op), ()):
            yield (put(node, ast.BinOp(node.left, other(), node.right)),)
    if isinstance(node, ast.AugAssign):
        for other in OTHER_SIGN.get(type(node.op), ()):
            yield (put(node, ast.AugAssign(node.target, other(), node.value)),)


@operator
def one_operand(cell: Cell, node: ast.AST) -> Found:
    """Leave out one side of a sum, a product or another binary operation."""
    if isinstance(node, ast.BinOp):
        yield (put(node, node.left),)
        if isinstance(node.op, ast.Add | ast.Mult):
            yield (put(node, node.right),)


@operator
def sides_swapped(cell: Cell, node: ast.AST) -> Found:
    """Make `a - b` into `b - a`; likewise for operations whose order counts."""
    ordered = ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.LShift | ast.RShift
    if isinstance(node, ast.BinOp) and isinstance(node.op, ordered):
        yield (put(node, ast.BinOp(node.right, node.op, node.left)),)


@operator
def floor_for_ceiling(cell: Cell, node: ast.AST) -> Found:
    """Make `-(-n // size)` into `n // size`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        if isinstance(inner, ast.BinOp) and isinstance(inner.left, ast.UnaryOp):
            left = inner.left.operand
            yield (put(node, ast.BinOp(left, inner.op, inner.right)),)


@operator
def sign_dropped(cell: Cell, node: ast.AST) -> Found:
    """Make `-x` or `not x` into `x`."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.BinOp):
        yield (put(node, node.operand),)


@operator
def overwritten(cell: Cell, node: ast.AST) -> Found:
    """Make `total += x` into `total = x`."""
    if isinstance(node, ast.AugAssign):
        yield (put(node, f"{cell.text(node.target)} = {cell.text(node.value)}"),)


# Comparisons and guards

OTHER_COMPARISON: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE),
    ast.NotEq: (ast.Eq,),
}


@operator
def other_comparison(cell: Cell, node: ast.AST) -> Found:
    """Replace `<` by `<=`, `==` by `!=`, and so on."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for other in OTHER_COMPARISON.get(type(op), ()):
                ops = [*node.ops[:k], other(), *node.ops[k + 1 :]]
                yield (put(node, ast.Compare(node.left, ops, node.comparators)),)


@operator
def half_the_condition(cell: Cell, node: ast.AST) -> Found:
    """Leave out one part of an `and` or an `or`."""
    if isinstance(node, ast.BoolOp):
        for k in range(len(node.values)):
            left = [*node.values[:k], *node.values[k + 1 :]]
            new = left[0] if len(left) == 1 else ast.BoolOp(node.op, left)
            yield (put(node, new),)


@operator
def or_for_and(cell: Cell, node: ast.AST) -> Found:
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield (put(node, ast.BoolOp(other, node.values)),)


@operator
def no_guard(cell: Cell, node: ast.AST) -> Found:
    """Make the condition of an `if` always true."""
    if isinstance(node, ast.If | ast.IfExp):
        yield (put(node.test, "True"),)


@operator
def no_else(cell: Cell, node: ast.AST) -> Found:
    """Make the condition of an `if` always false."""
    if isinstance(node, ast.If | ast.IfExp):
        yield (put(node.test, "False"),)


# Threads and indices

AXES = {"x": "y", "y": "x", "z": "x"}
PLACES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


@operator
def other_axis(cell: Cell, node: ast.AST) -> Found:
    """Replace an axis by another one, in threadIdx, blockIdx, blockDim or gridDim."""
    if not isinstance(node, ast.Attribute) or node.attr not in AXES:
        return
    if ast.unparse(node.value).removeprefix("cuda.") in PLACES:
        yield (put(node, f"{cell.text(node.value)}.{AXES[node.attr]}"),)


@operator
def other_position(cell: Cell, node: ast.AST) -> Found:
    """Replace an index or a size by another, as `threadIdx` by `blockIdx`."""
    others = ("blockIdx", "threadIdx", "gridDim", "blockDim")
    swaps = dict(zip(PLACES, others, strict=True))
    if isinstance(node, ast.Attribute) and node.attr in swaps:
        yield (put(node, f"{cell.text(node.value)}.{swaps[node.attr]}"),)
    one_axis = {
        "cuda.grid(1)": ("cuda.threadIdx.x", "cuda.blockIdx.x"),
        "cuda.gridsize(1)": ("cuda.blockDim.x",),
    }
    for other in one_axis.get(ast.unparse(node) if called(node) else "", ()):
        yield (put(node, other),)


@operator
def indices_swapped(cell: Cell, node: ast.AST) -> Found:
    """Make `x[i, j]` into `x[j, i]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        parts = node.slice.elts
        for k in range(len(parts) - 1):
            swapped = [*parts[:k], parts[k + 1], parts[k], *parts[k + 2 :]]
            if same(parts[k], parts[k + 1]):
                continue
            text = ", ".join(ast.unparse(p) for p in swapped)
            yield (put(node.slice, text),)


@operator
def neighbour(cell: Cell, node: ast.AST) -> Found:
    """Add one to an index."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            if not isinstance(part, ast.Constant | ast.Slice):
                yield (put(part, plus(part, 1)),)


@operator
def targets_swapped(cell: Cell, node: ast.AST) -> Found:
    """Make `row, col = …` into `col, row = …`."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        names = node.targets[0].elts
        if len(names) == 2:
            text = f"{cell.text(names[1])}, {cell.text(names[0])}"
            yield (put(node.targets[0], text),)


@operator
def sibling(cell: Cell, node: ast.AST) -> Found:
    """Replace a name, once, by another that is assigned together with it."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for other in siblings(cell, node):
            yield (put(node, other),)


def siblings(cell: Cell, node: ast.Name) -> Iterator[str]:
    """Return the other names that are assigned, or are parameters, beside a name."""
    top: ast.AST = node
    while top in cell.parents and not isinstance(top, ast.FunctionDef):
        top = cell.parents[top]
    assert isinstance(top, ast.FunctionDef)
    groups = [
        [e.id for e in t.targets[0].elts if isinstance(e, ast.Name)]
        for t in ast.walk(top)
        if isinstance(t, ast.Assign) and isinstance(t.targets[0], ast.Tuple)
    ]
    for group in groups:
        if node.id in group:
            at = group.index(node.id)
            others = [group[(at + 1) % len(group)]]
            yield from (other for other in others if other != node.id)
            return


# Calls

COMMUTATIVE = ("min", "max", "math.fma", "cuda.fma", "range")


@operator
def arguments_swapped(cell: Cell, node: ast.AST) -> Found:
    """Swap two neighbouring arguments of a call."""
    if not isinstance(node, ast.Call) or called(node) in COMMUTATIVE:
        return
    for one, other in zip(node.args, node.args[1:], strict=False):
        if not same(one, other):
            yield (put(one, cell.text(other)), put(other, cell.text(one)))


@operator
def other_function(cell: Cell, node: ast.AST) -> Found:
    """Replace `min` by `max`, `any_sync` by `all_sync`, and so on."""
    pairs = {"min": "max", "max": "min", "any_sync": "all_sync", "all_sync": "any_sync"}
    pairs |= {"floor": "ceil", "ceil": "floor", "inc": "add", "sub": "add"}
    if isinstance(node, ast.Call):
        *module, name = called(node).split(".")
        if name in pairs:
            yield (put(node.func, ".".join([*module, pairs[name]])),)


SHUFFLES = {
    "shfl_down_sync": ("shfl_up_sync", "shfl_xor_sync"),
    "shfl_up_sync": ("shfl_down_sync", "shfl_xor_sync"),
    "shfl_xor_sync": ("shfl_down_sync",),
    "shfl_sync": ("shfl_xor_sync",),
}


@operator
def other_shuffle(cell: Cell, node: ast.AST) -> Found:
    """Replace `shfl_down_sync` by `shfl_up_sync`, and so on."""
    name = called(node).removeprefix("cuda.")
    for other in SHUFFLES.get(name, ()):
        assert isinstance(node, ast.Call)
        yield (put(node.func, f"cuda.{other}"),)


@operator
def other_distance(cell: Cell, node: ast.AST) -> Found:
    """Make a shuffle reach one lane further, or twice as far."""
    if called(node).removeprefix("cuda.") in SHUFFLES:
        assert isinstance(node, ast.Call)
        far = node.args[-1]
        yield (put(far, plus(far, 1)),)
        yield (put(far, ast.BinOp(far, ast.Mult(), ast.Constant(2))),)


@operator
def other_mask(cell: Cell, node: ast.AST) -> Found:
    """Make a mask name half of the lanes, or all but one."""
    if called(node).endswith("_sync") and called(node).startswith("cuda."):
        assert isinstance(node, ast.Call)
        for mask in ("0xFFFF", "0x7FFFFFFF"):
            yield (put(node.args[0], mask),)


@operator
def plain_update(cell: Cell, node: ast.AST) -> Found:
    """Make an atomic update a plain one."""
    signs = {"add": "+", "sub": "-", "or_": "|", "and_": "&", "xor": "^"}
    if not isinstance(node, ast.Expr | ast.Assign) or not isinstance(
        node.value, ast.Call
    ):
        return
    module, _, name = called(node.value).rpartition(".")
    if module != "cuda.atomic" or len(node.value.args) != 3:
        return
    array, index, value = map(cell.text, node.value.args)
    old = f"{array}[{index}]"
    new = f"{old} = {old} {signs[name]} {value}" if name in signs else ""
    others = {
        "max": f"max({old}, {value})",
        "min": f"min({old}, {value})",
        "exch": value,
        "inc": f"{old} + 1",
    }
    if name in others:
        new = f"{old} = {others[name]}"
    if new and isinstance(node, ast.Expr):
        yield (put(node, new),)
    elif new and isinstance(node, ast.Assign):
        yield (put(node, f"{cell.text(node.targets[0])} = {old}; {new}"),)


@operator
def other_range(cell: Cell, node: ast.AST) -> Found:
    """Make a loop begin one later, end one earlier or later, or double its step."""
    if called(node) != "range":
        return
    assert isinstance(node, ast.Call)
    texts = [f"({cell.text(a)})" for a in node.args]
    start, stop = (["0", *texts] if len(texts) == 1 else texts)[:2]
    step = texts[2:]
    for first, last in (("+ 1", ""), ("", "- 1"), ("", "+ 1")):
        inner = ", ".join([f"{start} {first}".strip(), f"{stop} {last}".strip(), *step])
        yield (put(node, f"range({inner})"),)
    if step:
        yield (put(node, f"range({start}, {stop}, {step[0]} * 2)"),)


# Types and first values

OTHER_TYPE = {
    "float32": ("float64",),
    "float64": ("float32",),
    "int64": ("int32",),
    "int32": ("int8",),
    "uint32": ("int32",),
    "uint64": ("uint32",),
    "uint8": ("int8",),
    "complex64": ("complex128",),
    "float16": ("float32",),
}


@operator
def other_type(cell: Cell, node: ast.AST) -> Found:
    """Make a type wider or narrower, or change whether it is signed."""
    name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    module, _, short = name.rpartition(".")
    if module in ("", "np") and isinstance(getattr(node, "ctx", None), ast.Load):
        for other in OTHER_TYPE.get(short, ()):
            yield (put(node, f"np.{other}"),)


@operator
def other_start(cell: Cell, node: ast.AST) -> Found:
    """Make a sum begin with 1, or an extreme with 0."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return
    value = node.value
    inner = value.args[0] if isinstance(value, ast.Call) and value.args else value
    text = ast.unparse(inner)
    if text.endswith(("inf", "LOWEST")) or "math.inf" in text:
        yield (put(inner, "0"),)
    elif isinstance(value, ast.Call) and text in ("0", "0.0"):
        yield (put(inner, "1"),)


# Whole statements


@operator
def dropped(cell: Cell, node: ast.AST) -> Found:
    """Leave out one statement: a store, an update, a call or a `return`."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return):
        return
    if is_sync(node):
        return
    if isinstance(node, ast.Assign) and not again(cell, node):
        return
    if isinstance(node, ast.Return) and node.value is not None:
        return
    yield (put(node, "pass"),)


def again(cell: Cell, node: ast.Assign) -> bool:
    """Return whether the target of an assignment has a value without it."""
    target = node.targets[0]
    if isinstance(target, ast.Subscript):
        return True
    if not isinstance(target, ast.Name):
        return False
    stores = [
        n
        for n in ast.walk(cell.tree)
        if isinstance(n, ast.Name) and n.id == target.id and not is_load(n)
    ]
    return len(stores) > 1


def is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


@operator
def break_dropped(cell: Cell, node: ast.AST) -> Found:
    """Leave out a `break` or a `continue`."""
    if isinstance(node, ast.Break | ast.Continue):
        yield (put(node, "pass"),)


SYNCS = (
    "cuda.syncthreads",
    "cuda.syncwarp",
    "cuda.threadfence",
    "cuda.threadfence_block",
    "wait_copies",
)


def is_sync(node: ast.AST) -> bool:
    """Return whether a statement is a barrier, a fence or a wait for copies."""
    return isinstance(node, ast.Expr) and called(node.value) in SYNCS


def is_barrier(node: ast.AST) -> bool:
    return is_sync(node) and "fence" not in called(node.value)  # type: ignore[attr-defined]


@operator
def barrier_dropped(cell: Cell, node: ast.AST) -> Found:
    """Leave out a barrier, a `syncwarp`, a fence or a wait."""
    if is_sync(node):
        yield (put(node, "pass"),)


@operator
def barrier_weakened(cell: Cell, node: ast.AST) -> Found:
    """Replace `syncthreads` by `syncwarp`, or a fence by a narrower one."""
    weaker = {
        "cuda.syncthreads": "cuda.syncwarp",
        "cuda.threadfence": "cuda.threadfence_block",
        "cuda.threadfence_block": "cuda.syncwarp",
    }
    if is_sync(node):
        assert isinstance(node, ast.Expr)
        if name := weaker.get(called(node.value)):
            yield (put(node, f"{name}()"),)


@operator
def barrier_moved(cell: Cell, node: ast.AST) -> Found:
    """Exchange a barrier or a fence with the statement before or after it."""
    if not is_sync(node):
        return
    block = cell.block_of(node)
    at = block.index(node)  # type: ignore[arg-type]
    for k in (at - 1, at + 1):
        if 0 <= k < len(block) and not is_sync(block[k]):
            other = block[k]
            yield (put(node, cell.text(other)), put(other, cell.text(node)))


@operator
def barrier_in_branch(cell: Cell, node: ast.AST) -> Found:
    """Move a barrier to the end of the `if` or the loop before it."""
    if not is_sync(node):
        return
    block = cell.block_of(node)
    at = block.index(node)  # type: ignore[arg-type]
    before = block[at - 1] if at else None
    if isinstance(before, ast.If | ast.For | ast.While):
        last = before.body[-1]
        indent = "\n" + " " * last.col_offset
        yield (
            put(last, cell.text(last) + indent + cell.text(node)),
            put(node, "pass"),
        )


@operator
def out_of_the_block(cell: Cell, node: ast.AST) -> Found:
    """Move a loop's last statement, or a barrier in a block, behind the block."""
    parent = cell.parents[node]
    if not isinstance(node, ast.stmt) or not isinstance(parent, BLOCKS):
        return
    last = node is parent.body[-1] and not isinstance(parent, ast.If)
    if (last or is_sync(node)) and node in parent.body and len(parent.body) > 1:
        rows = cell.text(parent).splitlines()
        first, after = node.lineno - parent.lineno, node.end_lineno or node.lineno
        kept = rows[:first] + rows[after - parent.lineno + 1 :]
        indent = "\n" + " " * parent.col_offset
        text = moved(cell.text(node), parent.col_offset - node.col_offset)
        yield (put(parent, "\n".join(kept) + indent + text),)


BLOCKS = ast.If | ast.For | ast.While


def moved(text: str, columns: int) -> str:
    """Return a statement with the lines after its first moved right by `columns`."""
    first, *rows = text.splitlines()
    shifted = [
        " " * columns + row if columns > 0 else row[-columns:] if row.strip() else row
        for row in rows
    ]
    return "\n".join([first, *shifted])


@operator
def into_the_loop(cell: Cell, node: ast.AST) -> Found:
    """Move the statement before a loop into the loop."""
    if not isinstance(node, ast.For | ast.While):
        return
    block = cell.block_of(node)
    at = block.index(node)
    if not at or not isinstance(block[at - 1], ast.Assign | ast.Expr):
        return
    before, first = block[at - 1], node.body[0]
    indent = "\n" + " " * first.col_offset
    text = moved(cell.text(before), first.col_offset - before.col_offset)
    yield (put(before, "pass"), put(first, text + indent + cell.text(first)))


@operator
def returns_early(cell: Cell, node: ast.AST) -> Found:
    """Make threads return early if an `if` gives them nothing to do."""
    if not isinstance(node, ast.If) or node.orelse:
        return
    parent = cell.parents[node]
    if not isinstance(parent, ast.FunctionDef) or node is parent.body[-1]:
        return
    first = node.body[0]
    if first.lineno == node.lineno:
        return
    last = node.body[-1]
    rows = cell.source.splitlines()[first.lineno - 1 : last.end_lineno]
    columns = first.col_offset - node.col_offset
    body = "\n".join(row[columns:] for row in rows)
    test = ast.unparse(ast.UnaryOp(ast.Not(), node.test))
    indent = " " * node.col_offset
    yield (put(node, f"if {test}:\n{indent}    return\n{body}"),)


def same(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(other)

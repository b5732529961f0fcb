"""The verdicts on the value that a plain function returned."""

import ast
from types import BuiltinFunctionType, FunctionType
from typing import Any

from weft.checking.cases import is_array
from weft.checking.differences import kind_of_number, show
from weft.checking.plain import is_plain
from weft.checking.source import returns, tree_of
from weft.checking.verdict import Verdict
from weft.functions.exercise import FunctionExercise
from weft.wording import several

MAKERS = "zeros", "ones", "empty"  # NumPy functions whose second argument is the dtype


def in_ctypes(exercise: FunctionExercise, call: str, got: Any) -> Verdict:
    """Return the verdict on a ctypes object returned instead of a number."""
    why = f"`.value` gives the plain {type(got.value).__name__}."
    what = "a ctypes object instead of a number"
    return _of_type(exercise, call, got, "an object of ctypes", why, what)


def a_string(exercise: FunctionExercise, call: str, got: Any) -> Verdict:
    """Return the verdict on a string returned instead of a number."""
    what = "a string instead of a number"
    return _of_type(exercise, call, got, "a string, not a number", "", what)


def a_float(exercise: FunctionExercise, call: str, got: Any) -> Verdict:
    """Return the verdict on a float returned instead of an integer."""
    why = " ".join(sources_of_floats(exercise.written_by_learner))
    kind, what = "a float, not an integer", "a float instead of an integer"
    if is_array(got):
        kind, what = "an array of floats, not of integers", "floats, not integers"
    return _of_type(exercise, call, got, kind, why, what)


def sources_of_floats(function: FunctionType) -> list[str]:
    """Return a sentence for each kind of operation in a function that gives floats."""
    nodes = list(ast.walk(tree_of(function)))
    found = []
    if any(isinstance(node, ast.Div) for node in nodes):
        found.append("`/` always gives a float.")
    if any(of_numpy(node, "ceil", "floor") for node in nodes):
        found.append("NumPy's `ceil` and `floor` round a float to a float.")
    for node in nodes:
        match node:
            case ast.Call(made, [_], keywords) if of_numpy(made, *MAKERS):
                if all(keyword.arg != "dtype" for keyword in keywords):
                    found.append(
                        f"On line {node.lineno}, `{ast.unparse(made)}` without a dtype "
                        "makes an array of float64."
                    )
    return found


def of_numpy(node: ast.AST, *names: str) -> bool:
    """Return whether a node is one of these functions of NumPy, as `np.ceil` is."""
    match node:
        case ast.Attribute(ast.Name("np" | "numpy"), name):
            return name in names
    return False


def _of_type(
    exercise: FunctionExercise, call: str, got: Any, kind: str, why: str, headline: str
) -> Verdict:
    """Return the verdict on a value of the wrong type.

    kind: what the value is, such as "a float, not an integer".
    """
    return exercise.verdict(
        "type",
        f"{call} returns {brief(got)}, which is {kind}.",
        why,
        returns(exercise.written_by_learner),
        headline=headline,
        topic="returned",
    )


def another_value(call: str, got: Any, wanted: Any) -> str:
    """Return a sentence that says what a call returns and what it should return."""
    return f"{call} returns {got} and should return {wanted}."


def wrong_answer(
    exercise: FunctionExercise, call: str, got: Any, reason: str
) -> Verdict:
    """Return the verdict on a wrong answer. reason: why it is wrong."""
    said = "nothing" if got is None else brief(got)
    message = f"{call} returns {said}."
    places = returns(exercise.written_by_learner)
    return exercise.verdict("answer", message, reason, places)


def brief(value: Any) -> str:
    """Format a value briefly enough for a sentence."""
    if is_array(value):
        if value.size <= 4:
            return f"{value.tolist()}"
        return f"array of shape {value.shape}"
    if isinstance(value, str) and len(lines := value.strip().splitlines()) > 1:
        return f'"{" ".join(lines[0].split())} …" ({len(lines)} lines)'
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return "a lambda" if value.__name__ == "<lambda>" else value.__name__
    if isinstance(value, dict) and not is_plain(list(value)):
        return f"a dictionary of {several(len(value), 'value')}"
    if type(value) is int:
        return show(value)
    kind = kind_of_number(value)
    if kind == "f":
        return repr(float(value))
    return show(value) if kind in ("b", "i", "u", "c") else repr(value)

"""What PyTorch raises, in words: its message, what it means, and the learner's line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.checking.source import line_with, returns
from weft.checking.verdict import Verdict
from weft.torch_ops.written import OPERATOR, Written
from weft.wording import several

Found = re.Match[str]


@dataclass(frozen=True)
class Known:
    """An error that PyTorch raises: how to recognise it, and what to say.

    part: the learner's function that it is about, where no line of its own raised it.
    """

    pattern: str
    kind: str
    message: Callable[[Found, Written], str]
    why: str
    part: str = ""
    headline: str = ""


VIEW = (
    "`view` needs elements that follow each other in memory. Those of this tensor do "
    "not: what holds for every tensor that a caller may pass?"
)


SAVES = r".*\.save_for_backward\("  # a setup_context has no `return`


def hidden(written: Written) -> int:
    """How many inputs PyTorch counts that are its own: it passes one to operators."""
    return int(written.kind == OPERATOR)


KNOWN = [
    Known(
        r"must not also be an input",
        "alias",
        lambda found, written: f"{written.name} returns an input, or a view of it.",
        "A caller who changes the result would change the input as well, and "
        "torch.compile relies on the schema, which promises new memory.",
        "forward",
    ),
    Known(
        r"incorrect number of gradients \(expected (\d+), got (\d+)\)",
        "gradient",
        lambda found, written: (
            f"The backward of {written.name} returns "
            f"{several(int(found[2]) - hidden(written), 'gradient')}, and "
            f"{written.name} has "
            f"{several(int(found[1]) - hidden(written), 'input')}."
        ),
        "There is one value per input, in their order; for an input that has no "
        "gradient, such as a number, it is None.",
        "backward",
        "not one gradient per input",
    ),
    Known(
        r"gradient different than None at position (\d+)",
        "gradient",
        lambda found, written: (
            f"The backward of {written.name} returns a gradient for input "
            f"{found[1]}, which is not a tensor."
        ),
        "What is the derivative with respect to something that is not a tensor? "
        "PyTorch expects None in its place.",
        "backward",
        "a gradient of what is no tensor",
    ),
    Known(
        r"invalid gradient at index (\d+) - got \[(.*)\] but expected shape compatible "
        r"with \[(.*)\]",
        "gradient",
        lambda found, written: (
            f"The backward of {written.name} returns a gradient of shape "
            f"({found[2]}) for input {int(found[1]) + 1}, whose shape is ({found[3]})."
        ),
        "A gradient says how the loss changes with each element of the input, so it "
        "has the input's shape.",
        "backward",
        "a gradient of another shape",
    ),
    Known(
        r"no autograd formula was registered",
        "autograd",
        lambda found, written: f"No backward is registered for {written.name}.",
        "PyTorch does not look into an operator, so it cannot derive one.",
        "forward",
    ),
    Known(
        r"save_for_backward can only save variables.* is of type (\w+)",
        "exception",
        lambda found, written: (
            f"What {written.name} saves with `ctx.save_for_backward` has the type "
            f"{found[1]}."
        ),
        "It saves tensors only. Where does the exercise keep everything else?",
        "setup",
        "only tensors can be saved",
    ),
    Known(
        r"modified by an inplace operation",
        "gradient",
        lambda found, written: (
            f"A tensor that {written.name} saved for its backward was changed "
            "before that ran."
        ),
        "`save_for_backward` keeps no copy. Which line writes into what it was given?",
        "backward",
        "what was saved has been changed",
    ),
    Known(
        r"Trying to backward through the graph a second time",
        "gradient",
        lambda found, written: (
            f"The backward of {written.name} uses a graph that is gone."
        ),
        "It was freed by an earlier backward. Does anything that a call computed "
        "outlive the call?",
        "backward",
        "a graph used twice",
    ),
    Known(
        r"view size is not compatible",
        "exception",
        lambda found, written: (
            f"{written.name} views a tensor in a shape that its memory does not allow."
        ),
        VIEW,
    ),
    Known(
        r"expected Variable or None \(got (.*)\)",
        "gradient",
        lambda found, written: f"The backward of {written.name} returns a {found[1]}.",
        "Gradients are tensors.",
        "backward",
        "a gradient that is no tensor",
    ),
]


def raised(written: Written, error: BaseException) -> Verdict:
    """The verdict on an exception that PyTorch, or the learner's code, has raised."""
    places = written.raised_at(error)
    text = str(error)
    for known in KNOWN:
        found = re.search(known.pattern, text)
        if found is None:
            continue
        part: Any = getattr(written, known.part, None) if known.part else None
        return Verdict(
            written.name,
            known.kind,
            known.message(found, written),
            known.why,
            places or returns(part) or line_with(part, SAVES),
            headline=known.headline,
        )
    lines = text.strip().splitlines()
    said = f": {lines[0]}" if lines else ""
    message = f"{type(error).__name__}{said}"
    return Verdict(written.name, "exception", message, places=places)

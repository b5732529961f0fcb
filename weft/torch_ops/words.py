"""Explain PyTorch's exceptions: the message, its meaning, and the learner's line."""

import re
from dataclasses import dataclass
from typing import Any

from weft.checking.source import line_with, returns
from weft.checking.verdict import Verdict
from weft.errors import LearnerError
from weft.torch_ops.tensors import written_shape
from weft.torch_ops.written import CALLABLE, OPERATOR, Written
from weft.wording import rows, sentence, several

SAVES = r".*\.save_for_backward\("  # a setup_context has no `return`

# A pattern for PyTorch's message; the verdict's kind, message and why; the part of the
# learner's code to show if no line of it raised the error; the headline.
KNOWN = rows(r"""
must not also be an input
    alias
    {said.name} returns an input, or a view of it.
    A caller who changes the result would change the input as well, and torch.compile
      relies on the schema, which promises new memory.
    forward
incorrect number of gradients \(expected (\d+), got (\d+)\)
    gradient
    The backward of {said.name} returns {said.gradients}, and {said.name} has
      {said.inputs}.
    There is one value per input, in their order; for an input that has no gradient,
      such as a number, it is None.
    backward
    not one gradient per input
gradient different than None at position (\d+)
    gradient
    The backward of {said.name} returns a gradient for input {said.found[1]}, which is
      not a tensor.
    What is the derivative with respect to something that is not a tensor? PyTorch
      expects None in its place.
    backward
    a gradient of what is no tensor
invalid gradient at index (\d+) - got \[(.*)\] but expected shape .* \[(.*)\]
    gradient
    The backward of {said.name} returns a gradient of shape {said.shapes[0]} for
      {said.input}, whose shape is {said.shapes[1]}.
    A gradient says how the loss changes with each element of the input, so it has the
      input's shape.
    backward
    a gradient of another shape
no autograd formula was registered
    autograd
    No backward is registered for {said.name}.
    PyTorch does not look into an operator, so it cannot derive one.
    forward
save_for_backward can only save variables.* is of type (\w+)
    exception
    What {said.name} saves with `ctx.save_for_backward` has the type {said.found[1]}.
    It saves tensors only. Where does the exercise keep everything else?
    setup
    only tensors can be saved
modified by an inplace operation
    gradient
    A tensor that {said.name} saved for its backward was changed before that ran.
    `save_for_backward` keeps no copy. Which line writes into what it was given?
    backward
    what was saved has been changed
Trying to backward through the graph a second time
    gradient
    The backward of {said.name} uses a graph that is gone.
    It was freed by an earlier backward. Does anything that a call computed outlive the
      call?
    backward
    a graph used twice
view size is not compatible
    exception
    {said.name} views a tensor in a shape that its memory does not allow.
    `view` needs elements that follow each other in memory. Those of this tensor do not:
      what holds for every tensor that a caller may pass?
expected Variable or None \(got (.*)\)
    gradient
    The backward of {said.name} returns a {said.found[1]}.
    Gradients are tensors.
    backward
    a gradient that is no tensor
""")


@dataclass(frozen=True)
class Said:
    """PyTorch's message about a learner's function."""

    found: re.Match[str]
    written: Written

    @property
    def name(self) -> str:
        return self.written.name

    @property
    def input(self) -> str:
        """The name of the input whose number the message has, counted from 0."""
        number, names = int(self.found[1]), self.written.parameters
        known = self.written.kind != CALLABLE and number < len(names)
        return names[number] if known else f"input {number + 1}"

    @property
    def shapes(self) -> list[str]:
        """The shapes in the message, its second and third part."""
        parts = [part.split(", ") for part in self.found.groups()[1:]]
        return [written_shape(filter(None, part)) for part in parts]

    def _own(self, group: int, what: str) -> str:
        """Format a count from the message, leaving out an operator's hidden input."""
        hidden = int(self.written.kind == OPERATOR)
        return several(int(self.found[group]) - hidden, what)

    @property
    def inputs(self) -> str:
        return self._own(1, "input")

    @property
    def gradients(self) -> str:
        return self._own(2, "gradient")


def raised(written: Written, error: BaseException) -> Verdict:
    """Return the verdict on an exception from PyTorch or the learner's code."""
    places = written.raised_at(error)
    text = str(error)
    for pattern, kind, message, why, *more in KNOWN:
        if (found := re.search(pattern, text)) is None:
            continue
        name, headline = (*more, "", "")[:2]
        part: Any = getattr(written, name, None) if name else None
        return Verdict(
            written.name,
            kind,
            message.format(said=Said(found, written)),
            why,
            places or returns(part) or line_with(part, SAVES),
            headline=headline,
        )
    if isinstance(error, LearnerError):  # raised by the exercise's `call`, as a rule
        return Verdict(
            written.name,
            "exception",
            sentence(text),
            places=places or returns(written.main),
            headline="not what was asked for",
        )
    lines = text.strip().splitlines()
    said = f": {lines[0]}" if lines else ""
    message = f"{type(error).__name__}{said}"
    return Verdict(written.name, "exception", message, places=places)

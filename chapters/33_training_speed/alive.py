"""Find out which activations a learner's function keeps alive at the same time."""

import linecache
import sys
from collections import defaultdict

import torch

from weft.places import Place
from weft.wording import capital, joined, several


def blocks_named(numbers):
    """Name blocks from 0 as in 'block 1', 'blocks 1 to 3' or 'blocks 1 and 3'."""
    own = [number + 1 for number in numbers]
    if len(own) == 1:
        return f"block {own[0]}"
    if len(own) > 2 and own == list(range(own[0], own[-1] + 1)):
        return f"blocks {own[0]} to {own[-1]}"
    return f"blocks {joined(own)}"


class Runs:
    """The runs of blocks in one call of a function, in their order.

    order: the blocks' numbers from 0. lines: the line of the function -> the blocks
    that it runs before the backward.
    """

    def __init__(self, function, blocks):
        """Begin to watch the blocks."""
        self.code, self.count = getattr(function, "__code__", None), len(blocks)
        self.order, self.lines = [], defaultdict(list)
        for number, block in enumerate(blocks):
            block.register_forward_pre_hook(lambda *_, k=number: self.add(k))

    def add(self, number):
        """Record that a block begins to run."""
        if not in_backward() and (line := self.line()):
            self.lines[line] += [number] * (number not in self.lines[line])
        self.order.append(number)

    def line(self):
        """Return the line of the function that is running, or 0."""
        frame = sys._getframe()
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back
        return frame.f_lineno if frame is not None else 0

    def notes(self):
        """Return the lines, each with the names of its blocks."""
        found = []
        for line, blocks in self.lines.items():
            text = linecache.getline(self.code.co_filename, line).strip()
            place = Place(self.code.co_name, line, text)
            found.append((place, f"runs {blocks_named(blocks)}"))
        return found

    def again(self):
        """Return the checkpoints, each a list of blocks that it runs again, or None.

        Checkpoints that are run again come in the order of the backward, the last
        first, and the blocks of one in that of the forward. None: this is not what has
        happened.
        """
        forward, backward = self.order[: self.count], self.order[self.count :]
        if forward != list(range(self.count)) or len(set(backward)) < len(backward):
            return None
        checkpoints = []
        for number in backward:
            if checkpoints and number == checkpoints[-1][-1] + 1:
                checkpoints[-1].append(number)
            else:
                checkpoints.append([number])
        return checkpoints

    def often(self):
        """Return the message and cause if blocks run on several lines.

        Returns None if none does, or if they do not all run on the same lines.
        """
        found = {}
        for number in range(self.count):
            lines = [line for line, blocks in self.lines.items() if number in blocks]
            found[number] = lines, self.order.count(number)
        more = [number for number, (lines, _) in found.items() if len(lines) > 1]
        if not more or any(found[number] != found[more[0]] for number in more):
            return None
        lines, count = found[more[0]]
        at = [f"on line {line}" for line in lines]
        at += ["in the backward"] * (count == len(lines) + 1)
        if len(at) != count:
            return None
        who = capital(blocks_named(more))
        message = f"{who} {runs(more)} {count} times: {joined(at)}."
        return message, "Which of these runs does the result need?"

    def wrong(self, keep):
        """Return the kind, message and cause if other activations live than should.

        `keep` blocks should keep theirs. More are alive where blocks are run again
        together, or while others that come before them still keep theirs. Returns None
        if nothing is wrong, or if the runs are not those of checkpoints.
        """
        if (often := self.often()) is not None:
            return "operators", *often
        if (checkpoints := self.again()) is None:
            return None
        again = sorted(number for each in checkpoints for number in each)
        kept = [number for number in range(self.count) if number not in again]
        if len(kept) > keep:
            return "held", *many(kept, again, keep)
        if len(kept) < keep:
            return "operators", *few(kept, again, keep)
        for own in checkpoints:
            before = [number for number in kept if number < own[0]]
            if len(before) + len(own) > max(keep, 1):  # one block runs at any time
                return "held", *together(own, before, keep)
        return None


def in_backward():
    """Return whether autograd is in a backward pass."""
    return torch._C._current_graph_task_id() != -1


def how_many(kept, again, keep):
    """Say how many of the blocks keep their activations."""
    total = len(kept) + len(again)
    who = {0: f"None of the {total} blocks", total: f"All {total} blocks"}.get(
        len(kept), f"{len(kept)} of the {total} blocks"
    )
    does = "keeps its" if len(kept) < 2 else "keep their"
    return f"{who} {does} activations, and `keep` is {keep}."


def many(kept, again, keep):
    """Say that more blocks keep their activations than should."""
    if not again:
        return how_many(kept, again, keep), "No block runs a second time."
    why = (
        f"{capital(blocks_named(again))} {runs(again)} a second time in the backward. "
        f"{capital(blocks_named(kept))} {runs(kept)} only once."
    )
    return how_many(kept, again, keep), why


def few(kept, again, keep):
    """Say that fewer blocks keep their activations than could."""
    more = several(keep - len(kept), "more block")
    why = (
        f"{capital(blocks_named(again))} {runs(again)} a second time in the backward, "
        f"which takes time. There is memory for the activations of {more}."
    )
    return how_many(kept, again, keep), why


def together(own, before, keep):
    """Say that more blocks have activations while some are run again than may."""
    listed = f": {blocks_named(before + own)}" * bool(before)
    known = f"{several(keep, 'block')} keep their activations, as they should."
    if keep == 0:
        known = "No block keeps its activations, as it should be."
    message = (
        f"{known} But while {blocks_named(own)} {'is' if len(own) == 1 else 'are'} run "
        f"again, the activations of {len(before) + len(own)} blocks are alive at the "
        f"same time{listed}."
    )
    if len(own) > 1:
        return message, (
            f"One checkpoint has {blocks_named(own)}. It runs them all again before "
            "the backward of the last of them begins."
        )
    return message, (
        "In which order does the backward go through the blocks, and when does it free "
        f"the activations of {blocks_named(before)}?"
    )


def runs(numbers):
    """Return the verb for these blocks."""
    return "runs" if len(numbers) == 1 else "run"


class Outputs:
    """The calls of a model in one call of a function, and their backward passes.

    rows: the most rows of one call. most: the most calls that waited for their backward
    at the same time.
    """

    def __init__(self, model):
        """Begin to watch a model."""
        self.waiting = self.most = self.rows = 0
        model.register_forward_hook(self.add)

    def add(self, model, inputs, output):
        """Record that the model has run."""
        if not output.requires_grad:
            return
        self.rows = max(self.rows, len(output))
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        output.register_hook(self.done)

    def done(self, gradient):
        """Record that the backward has reached the output of a call."""
        self.waiting -= 1

    def together(self, parts):
        """Return what is said if the tensors of all parts live together, or None.

        With the message and the cause comes a pattern of the line that shows it.
        """
        samples = [len(x) for x, _ in parts]
        why = "So the tensors of all parts are alive at the same time."
        if len(parts) > 1 and self.rows == sum(samples):
            message = (
                f"The model runs once, on all {self.rows} samples, and a part has at "
                f"most {max(samples)}."
            )
            return message, why, r".*\bmodel\("
        if len(parts) > 1 and self.most == len(parts):
            message = f"The model runs on all {len(parts)} parts before a backward."
            return message, why, r".*\bbackward\("
        return None

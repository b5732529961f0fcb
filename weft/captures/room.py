"""Checks of functions that capture a training step in a CUDA graph."""

import ast
import inspect
import linecache
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any, ClassVar

import numpy as np

from weft import device, doing
from weft.checking.cases import Case
from weft.checking.compare import difference
from weft.checking.differences import show
from weft.checking.exercise import Exercise
from weft.checking.room import Facts
from weft.checking.source import at_line, begin, returns, seed, tree_of
from weft.checking.verdict import Failed, Verdict, Verdicts
from weft.places import Note, Place
from weft.starters import has_stub
from weft.tracebacks import undefined

words = Verdicts(__file__)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class CaptureExercise(Exercise):
    """A function that captures a step, and returns a function that replays it.

    The function is called as `graphed(step, *batch)`, with the first of the batches.
    The function that it returns is called as `replay(*batch)`, once for each batch.

    captured: must be true; it marks an exercise of this kind.
    made: `(device)` → a step and the tensors that it trains, with the same values in
        every call. The step is called as `step(*batch)` and returns the loss.
    inputs: `(rng, *size)` → arrays with one entry per batch along their first axis.
    """

    needs: ClassVar[tuple[str, ...]] = ("made", "inputs", "sizes")
    unused: ClassVar[tuple[str, ...]] = ("spec", "because", "limits")

    captured: bool = False
    made: Any = None

    def expected(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        return ()  # unknown, as it depends on the number of steps before the capture


class Captures:
    """Checks of functions that capture a step in a CUDA graph."""

    what = "a function that captures a step"
    exercise = CaptureExercise

    def takes(self, thing: Any, asked: Mapping[str, Any]) -> bool:
        return bool(asked.get("captured"))

    def stages(self, exercise: CaptureExercise) -> Iterator[Facts]:
        """Judge every case on the model, and yield facts.

        If a GPU is usable, also judge a case of the last size on it.
        """
        function = exercise.written_by_learner
        if not isinstance(function, FunctionType):
            made = type(function).__name__
            raise Failed(words.verdict(exercise.name, "not-a-function", made=made))
        count = 0
        for case in exercise.cases(seed(function)):
            try:
                Run(exercise, case).judge()
            except Failed:
                if has_stub(function):
                    raise Failed(begin(exercise.name)) from None
                raise
            count += 1
        yield [f"right on {count} sizes: a replay trains as the step does"]
        if device.find().usable:
            doing.now(f"{exercise.name}: on the GPU")
            Run(exercise, exercise.case(exercise.sizes[-1]), "cuda").judge()
            yield ["right on the GPU"]


ROOM = Captures()


class Run:
    """A call to the learner's function, then calls to its result, one for each batch.

    Its constructor raises `Failed` if one of the calls does not complete.
    """

    def __init__(self, exercise: CaptureExercise, case: Case, on: str = "cpu") -> None:
        """Make the batches, capture the step, and replay it with each batch."""
        import torch

        self.exercise, self.case, self.on = exercise, case, on
        self.function: FunctionType = exercise.written_by_learner
        self.step, self.trained = exercise.made(on)
        self.batches = self._batches()
        self.before = [[part.clone() for part in batch] for batch in self.batches]
        self.warm: list[list[Any]] = []  # batches of steps before the capture
        # lines of such steps on other values than those of the first batch
        self.other: list[Place | None] = []
        self.captured = 0
        self.late = 0  # steps after the capture
        self.anew = 0  # captures by the returned function
        self.losses: list[Any] = []
        self.model: Any = None
        self.ready = False
        with self._watched():
            replay = self._called(self.function, self._counted, *self.batches[0])
            self.ready = True
            if not callable(replay):
                kind = type(replay).__name__
                raise self.failed("not-callable", returns(self.function), made=kind)
            for batch in self.batches:
                self.losses.append(self._called(replay, *batch))
            if self.model is not None:
                kept = [x for x in self.losses if isinstance(x, torch.Tensor)]
                self.model.read([*kept, *self.trained])
        if on != "cpu":
            torch.cuda.synchronize()

    def _batches(self) -> list[list[Any]]:
        """Return the batches as tensors, each in separate memory."""
        import torch

        parts = [torch.from_numpy(a.copy()).to(self.on) for a in self.case.inputs]
        return [
            [part[k].clone() for part in parts] for k in range(len(self.case.inputs[0]))
        ]

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Replace CUDA with the model, and record waits; on a GPU do neither."""
        import torch

        if self.on != "cpu":
            yield
            return
        from weft.captures.model import Model
        from weft.torch_ops.listening import listening

        near = [part for batch in self.batches for part in batch]
        near += self.trained
        cpu = torch.device("cpu", 0)
        with listening(self.function, near, cpu) as record:
            self.model = Model(self._line, record.waits)
            with self.model.in_place():
                yield

    def _line(self) -> Place | None:
        """Return the learner's line that is running, or None."""
        frame: FrameType | None = sys._getframe(1)
        code = self.function.__code__
        while frame is not None:
            same = frame.f_code.co_filename == code.co_filename
            if same and frame.f_globals is self.function.__globals__:
                text = linecache.getline(code.co_filename, frame.f_lineno).strip()
                return Place(frame.f_code.co_name, frame.f_lineno, text)
            frame = frame.f_back
        return None

    def _counted(self, *batch: Any) -> Any:
        """Call the step; record whether that is before, during or after a capture."""
        import torch

        if torch.cuda.is_current_stream_capturing():
            self.captured += 1
            self.anew += self.ready
        elif self.ready:
            self.late += 1
        else:
            self.warm.append([_copied(part) for part in batch])
            if not _equal(self.warm[-1], self.before[0]):
                self.other.append(self._line())
        return self.step(*batch)

    def _called(self, function: Any, *args: Any) -> Any:
        """Call the learner's code. Raises `Failed` if it raises an error."""
        try:
            return function(*args)
        except Failed:
            raise
        except Exception as error:
            places = [(place, "") for place in self._raised_at(error)]
            text = str(error).strip().splitlines()
            message = f"{type(error).__name__}: {text[0] if text else ''}"
            verdict = self.exercise.verdict(
                "exception", message, undefined(error), places, when=self.when
            )
            raise Failed(verdict) from None

    def _raised_at(self, error: Exception) -> list[Place]:
        """Return the learner's line that was running when an error was raised."""
        file = self.function.__code__.co_filename
        frames = traceback.extract_tb(error.__traceback__)
        ours = [each for each in frames if each.filename == file and each.lineno]
        return [Place(f.name, f.lineno or 0, (f.line or "").strip()) for f in ours[-1:]]

    # Judging the results

    def judge(self) -> None:
        """Check the capture, the replays and the results.

        Raises `Failed` if one of them is wrong.
        """
        if self.model is not None:
            self.look()
        elif not self.captured:
            raise self.failed("no-graph", returns(self.function))
        if self.late:
            raise self.failed("late", self._lines("step("), count=self.late)
        if self.anew > 1:
            raise self.failed("anew", self._lines("graph("), count=self.anew)
        if self.model is not None and not any(g.replays for g in self.model.graphs):
            raise self.failed("no-replay", returns(self.function))
        for number, pair in enumerate(zip(self.batches, self.before, strict=True), 1):
            if not all(a.equal(b) for a, b in zip(*pair, strict=True)):
                raise self.failed("batch-written", self._lines("copy_("), number=number)
        if self.other:
            places = [(place, "") for place in self.other[:1] if place is not None]
            raise self.failed("other-batch", places)
        self.returned()
        self.values()

    def look(self) -> None:
        """Check what the model recorded: captures, waits, unset memory, and order."""
        graphs = [graph for graph in self.model.graphs if graph.nodes]
        if not graphs or not self.captured:
            raise self.failed("no-graph", returns(self.function))
        for heard in (each for graph in graphs for each in graph.waits):
            raise self.failed("waits", [(heard.place, "")], what=heard.what)
        for found in self.model.unfilled[:1]:
            places = [(found.made, "reserved"), (found.read, "read")]
            who = "The replay" if found.replayed else "The step"
            told = {"who": who, "what": found.what}
            places = [(place, note) for place, note in places if place is not None]
            raise self.failed("unfilled", places, **told)
        if self.model.conflicts:
            found = self.model.conflicts[0]
            places = [
                (each.place, f"{'writes' if each.writes else 'reads'}, {each.stream}")
                for each in (found.first, found.later)
                if each.place is not None
            ]
            told = {"first": found.first.stream, "later": found.later.stream}
            raise self.failed("order", places, **told)

    def returned(self) -> None:
        """Check the results of replays: one loss each, in separate memory."""
        import torch

        for loss in self.losses:
            if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
                made = type(loss).__name__
                raise self.failed("no-loss", self._returns(), made=made)
        places = {loss.data_ptr() for loss in self.losses}
        if len(places) < len(self.losses):
            copied = self.cloned_inside
            row = "alias-cloned" if copied else "alias"
            raise self.failed(row, copied + self._returns())

    def values(self) -> None:
        """Compare losses and weights with those of the step run without a graph."""
        wanted = self.trained_by(self.batches)
        got = self._numbers(self.losses, self.trained)
        if (wrong := self._wrong(got, wanted)) is None:
            return
        if not self.warm:
            raise self.failed("cold", self._lines("graph("))
        same = [self.batches[0]] * len(self.batches)
        if self._wrong(got, self.trained_by(same)) is None:
            copied = self.copied_inside
            places = self._lines("copy_(" if copied else ".replay(")
            raise self.failed("copied-inside" if copied else "stale", places)
        places, batches = self._lines(".replay("), len(self.batches)
        graphs = self.model.graphs if self.model is not None else []
        if (count := sum(graph.replays for graph in graphs)) > batches:
            told = {"said": wrong, "count": count, "batches": batches}
            raise self.failed("replayed-more", places, **told)
        raise self.failed("other-values", places, said=wrong)

    @property
    def copied_inside(self) -> bool:
        """Whether a graph itself copies one of the caller's batches."""
        from weft.captures.model import key

        theirs = {key(part) for batch in self.batches for part in batch}
        graphs = self.model.graphs if self.model is not None else []
        nodes = [node for graph in graphs for node in graph.nodes]
        return any(n.name == "copy_" and key(n.args[1]) in theirs for n in nodes)

    @property
    def cloned_inside(self) -> list[Note]:
        """The line on which a graph itself makes the copy that is returned, or []."""
        from weft.captures.model import key

        returned = {key(loss) for loss in self.losses}
        graphs = self.model.graphs if self.model is not None else []
        return [
            (node.place, "part of the graph")
            for graph in graphs
            for node in graph.nodes
            if node.name == "clone" and key(node.out) in returned
            if node.place is not None
        ]

    def trained_by(self, batches: list[list[Any]]) -> list[Array]:
        """Run steps on `batches` without a graph; return the losses and the weights."""
        step, trained = self.exercise.made(self.on)
        for batch in self.warm:
            step(*batch)
        losses = [step(*batch) for batch in batches]
        return self._numbers(losses, trained)

    def _wrong(self, got: list[Array], wanted: list[Array]) -> str | None:
        """Describe the first number that is wrong; return None if all are right."""
        steps = len(self.batches)
        for number, (mine, right) in enumerate(zip(got, wanted, strict=True)):
            wide = right.astype(np.float64)
            found = difference(mine, wide, self.exercise.tolerance)
            if found is None:
                continue
            if number >= steps:
                return f"After {steps} replays, {found.sentence('the weight')}"
            one, two = show(mine[0]), show(right[0])
            return f"The loss of replay {number + 1} is {one}, and should be {two}."
        return None

    @staticmethod
    def _numbers(losses: list[Any], trained: list[Any]) -> list[Array]:
        return [
            np.atleast_1d(each.detach().cpu().numpy()) for each in (*losses, *trained)
        ]

    # Wording

    @property
    def when(self) -> str:
        return self.case.label + (", on the GPU" if self.on != "cpu" else "")

    def _lines(self, sought: str) -> list[Note]:
        """Return up to three lines with `sought`, except docstrings and `def`s."""
        tree = tree_of(self.function)
        told = {
            number
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        lines, first = inspect.getsourcelines(self.function)
        return [
            (at_line(self.function, number), "")
            for number, line in enumerate(lines, first)
            if sought in line and number not in told
            if not line.lstrip().startswith("def ")
        ][:3]

    def _returns(self) -> list[Note]:
        """Return the lines on which inner functions return.

        If there are none, returns the outer function's first line with a `return`.
        """
        inner = [
            node
            for function in ast.walk(tree_of(self.function))
            if isinstance(function, ast.FunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and function.name != self.function.__name__
        ]
        lines = sorted({node.lineno for node in inner})
        places: list[Note] = [(at_line(self.function, line), "") for line in lines]
        return places or returns(self.function)

    def failed(self, row: str, places: list[Note] | None = None, **told: Any) -> Failed:
        """Return the failure with the text of a row of `room.toml`."""
        found: Verdict = words.verdict(self.exercise.name, row, places or [], **told)
        return Failed(found.but(when=self.when))


def _copied(part: Any) -> Any:
    """Return a copy of a tensor, made without any dispatch mode."""
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return part.clone()


def _equal(batch: list[Any], other: list[Any]) -> bool:
    """Return whether two batches have the same values."""
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():
        return len(batch) == len(other) and all(
            a.shape == b.shape and bool((a == b).all())
            for a, b in zip(batch, other, strict=True)
        )

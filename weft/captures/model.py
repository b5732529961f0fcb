"""A model of CUDA graphs and streams for PyTorch's operators on the CPU.

Operators run at once, in the order in which they are called. Vector clocks, as in
`weft.streams.machine`, track which of them a GPU would run in order: a stream is
ordered after its own earlier work, after what it has waited for, and after what the
host has waited for. During a capture, operators run to find out what they would do.
When it ends, the memory that they changed is restored, and their results are set to
NaN, because nothing has been computed yet.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from weft.places import Place

# Operators that reserve memory, and all that look at a tensor's shape alone.
RESERVE = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided".split()
)
SHAPED = RESERVE | frozenset(
    "zeros_like ones_like full_like new_zeros new_ones new_full".split()
)

Clock = dict[str, int]  # stream → how many of its operations are known to be done
Where = Callable[[], Place | None]


def joined(a: Clock, b: Clock) -> Clock:
    """Merge two clocks, keeping the larger count of each stream."""
    return a | {name: max(count, a.get(name, 0)) for name, count in b.items()}


@dataclass(frozen=True)
class Access:
    """A read or write by operation `count` of a stream. what: the operator's name."""

    stream: str
    count: int
    writes: bool
    what: str
    place: Place | None


@dataclass(frozen=True)
class Conflict:
    """Two unordered accesses to the same memory, at least one of them a write."""

    first: Access
    later: Access


@dataclass(frozen=True)
class Unfilled:
    """A read of reserved memory in which nothing has been stored yet.

    what: the operator that reserved the memory. made, read: the lines of the
    reservation and of the read. replayed: whether a graph reads it.
    """

    what: str
    made: Place | None
    read: Place | None
    replayed: bool


@dataclass(frozen=True)
class Node:
    """An operator of a graph, with the tensors that it was captured with."""

    function: Any
    args: Any
    kwargs: Any
    out: Any
    place: Place | None

    @property
    def name(self) -> str:
        return str(self.function.overloadpacket.__name__)


def key(tensor: torch.Tensor) -> int:
    """Return a key that is the same for all tensors in the same memory."""
    return int(tensor.untyped_storage()._cdata)


def tensors(values: Any) -> list[torch.Tensor]:
    """Return the tensors among the leaves of `values`."""
    return [v for v in tree_leaves(values) if isinstance(v, torch.Tensor)]


def written(function: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """Return the arguments that an operator writes to, according to its schema."""
    found = []
    for number, argument in enumerate(function._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[number] if number < len(args) else kwargs.get(argument.name)
        found += tensors(value)
    return found


class Event:
    """Stands in for torch.cuda.Event: a point in a stream."""

    def __init__(self, model: "Model") -> None:
        self.model, self.clock = model, Clock()

    def record(self, stream: "Stream | None" = None) -> None:
        self.clock = dict((stream or self.model.current).clock)

    def wait(self, stream: "Stream | None" = None) -> None:
        (stream or self.model.current).learns(self.clock)

    def synchronize(self) -> None:
        self.model.host = joined(self.model.host, self.clock)

    def query(self) -> bool:
        return True


class Stream:
    """A stand-in for `torch.cuda.Stream`."""

    def __init__(self, model: "Model", name: str) -> None:
        self.model, self.name = model, name
        self.clock: Clock = {}
        self.count = 0
        self.device = torch.device("cuda", 0)
        self._before: list[Stream] = []

    def learns(self, clock: Clock) -> None:
        """Order the stream's next operations after all that `clock` knows."""
        self.clock = joined(self.clock, clock)

    def wait_stream(self, other: "Stream") -> None:
        self.learns(other.clock)

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event(self.model)
        event.record(self)
        return event

    def synchronize(self) -> None:
        self.model.host = joined(self.model.host, self.clock)

    def query(self) -> bool:
        return True

    def __enter__(self) -> "Stream":
        self._before.append(self.model.current)
        self.model.current = self
        return self

    def __exit__(self, *_: object) -> None:
        self.model.current = self._before.pop()


@dataclass(eq=False)
class Graph:
    """A stand-in for `torch.cuda.CUDAGraph`."""

    model: "Model"
    nodes: list[Node] = field(default_factory=list)
    place: Place | None = None  # where it was captured
    done: bool = False
    replays: int = 0
    # the host's waits during the capture
    waits: list[Any] = field(default_factory=list)

    def replay(self) -> None:
        """Run the graph on the current stream.

        Raises RuntimeError if no capture has completed.
        """
        if not self.done:
            raise RuntimeError("Called CUDAGraph::replay without a preceding capture.")
        self.replays += 1
        self.model.replay(self)

    def reset(self) -> None:
        self.nodes, self.done = [], False

    def pool(self) -> tuple[int, int]:
        return 0, 1

    def capture_begin(self, *_: Any, **__: Any) -> None:
        self.model.begin(self)

    def capture_end(self) -> None:
        self.model.end()


class Capture:
    """A stand-in for `torch.cuda.graph`: waits for the GPU, then begins a capture."""

    def __init__(self, model: "Model", graph: Graph, stream: Stream | None) -> None:
        self.model, self.graph = model, graph
        self.stream = stream or model.stream()

    def __enter__(self) -> None:
        self.model.synchronize()
        self.stream.__enter__()
        self.model.begin(self.graph)

    def __exit__(self, *_: object) -> None:
        self.model.end()
        self.stream.__exit__()


class Model(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A dispatch mode that checks the order of operators and records captured ones.

    where: returns the learner's line that is running. waits: the list in which the
    host's waits are recorded.
    """

    def __init__(self, where: Where, waits: list[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.where, self.waits = where, waits
        self._heard = 0  # waits before the capture
        self.host: Clock = {}
        self.streams = 0
        self.default = self.current = Stream(self, "the default stream")
        self.capturing: Graph | None = None
        self.graphs: list[Graph] = []
        self.conflicts: list[Conflict] = []
        self._log: dict[int, list[Access]] = {}
        self._held: dict[int, Any] = {}  # storages, so that none is freed and reused
        # the original contents of memory that a capture changes
        self._saved: dict[int, Any] = {}
        self._fresh: set[int] = set()  # memory allocated during a capture
        self.unfilled: list[Unfilled] = []
        self._reserved: dict[int, tuple[str, Place | None]] = {}  # nothing stored yet

    # The functions that a program calls

    def stream(self, *_: Any, **__: Any) -> Stream:
        self.streams += 1
        return Stream(self, f"stream {self.streams}")

    def synchronize(self, *_: Any) -> None:
        """Make the host wait for everything that was launched."""
        for log in self._log.values():
            for access in log:
                self.host[access.stream] = max(
                    self.host.get(access.stream, 0), access.count
                )

    @contextmanager
    def on(self, stream: Stream | None) -> Iterator[None]:
        """Make `stream` the current one within a `with` block, unless it is None."""
        if stream is None:
            yield
            return
        with stream:
            yield

    def graph(self, *_: Any, **__: Any) -> Graph:
        made = Graph(self)
        self.graphs.append(made)
        return made

    def capture(
        self, graph: Graph, pool: Any = None, stream: Stream | None = None, **_: Any
    ) -> Capture:
        return Capture(self, graph, stream)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace torch.cuda's streams, events and graphs with the model's.

        This holds within a `with` block.
        """
        names: dict[str, Any] = {
            "Stream": self.stream,
            "Event": lambda *_, **__: Event(self),
            "stream": self.on,
            "current_stream": lambda *_: self.current,
            "default_stream": lambda *_: self.default,
            "synchronize": self.synchronize,
            "CUDAGraph": self.graph,
            "graph": self.capture,
            "is_current_stream_capturing": lambda: self.capturing is not None,
        }
        with mock.patch.multiple(torch.cuda, **names), self:
            yield

    # Operators

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator; record its accesses or, in a capture, the operator."""
        kwargs = kwargs or {}
        given = tensors((args, kwargs))
        changed = written(function, args, kwargs)
        if self.capturing is not None:
            self._save(changed)
        out = function(*args, **kwargs)
        before = {key(each) for each in given}
        made = [each for each in tensors(out) if key(each) not in before]
        for each in (*given, *made):
            self._held[key(each)] = each.untyped_storage()
        view = not made and not changed and bool(tensors(out))
        name = str(function.overloadpacket.__name__)
        if self.capturing is not None:
            self._fresh |= {key(each) for each in made}
            node = Node(function, args, kwargs, out, self.where())
            self.capturing.nodes.append(node)
        elif not view:
            self._reserve(name, made)
            if name not in SHAPED:
                self._fill(given, changed)
            writes = {key(each) for each in (*changed, *made)}
            self.note(before - writes, writes, name)
            if name == "_local_scalar_dense":  # the host waits for it
                self.current.synchronize()
        return out

    def _reserve(self, name: str, made: list[torch.Tensor]) -> None:
        """Note memory that an operator has only reserved.

        The memory is set to zero, so a step that reads it has the same result in every
        run.
        """
        if name in RESERVE:
            for each in made:
                self._reserved[key(each)] = name, self.where()
                with _disable_current_modes():
                    each.zero_()

    def _fill(
        self,
        given: list[torch.Tensor],
        changed: list[torch.Tensor],
        replayed: bool = False,
    ) -> None:
        """Note reads of reserved memory in `given`, and stores to it in `changed`."""
        stored = {key(each) for each in changed}
        for each in {key(each) for each in given} - stored:
            if reserved := self._reserved.pop(each, None):
                self.unfilled.append(Unfilled(*reserved, self.where(), replayed))
        for each in stored:
            self._reserved.pop(each, None)

    def note(self, reads: set[int], writes: set[int], what: str) -> None:
        """Record a memory use by the current stream; check it against earlier uses."""
        stream = self.current
        stream.learns(self.host)
        stream.count += 1
        stream.learns({stream.name: stream.count})
        for each in reads | writes:
            made = Access(stream.name, stream.count, each in writes, what, self.where())
            log = self._log.setdefault(each, [])
            for other in log:
                known = stream.clock.get(other.stream, 0) >= other.count
                if not known and (made.writes or other.writes):
                    self.conflicts.append(Conflict(other, made))
            log.append(made)

    def read(self, values: list[torch.Tensor]) -> None:
        """Record that the caller of the learner's code reads some tensors."""
        self.note({key(each) for each in values}, set(), "the caller")

    # Graphs

    def begin(self, graph: Graph) -> None:
        """Begin a capture. Raises RuntimeError if PyTorch would."""
        if self.capturing is not None:
            raise RuntimeError("operation not permitted when stream is capturing")
        if self.current is self.default:
            raise RuntimeError("CUDA graphs must be captured on a non-default stream.")
        graph.nodes, graph.place = [], self.where()
        self.capturing, self._saved, self._fresh = graph, {}, set()
        self._heard = len(self.waits)

    def end(self) -> None:
        """End a capture, and undo what its operators did: a GPU would only record them.

        Raises RuntimeError if no capture is in progress.
        """
        graph, self.capturing = self.capturing, None
        if graph is None:
            raise RuntimeError("no capture is in progress")
        graph.done, graph.waits = True, self.waits[self._heard :]
        with _disable_current_modes():
            for number, saved in self._saved.items():
                if number not in self._fresh:
                    self._held[number].copy_(saved)
            for number in self._fresh:
                whole = torch.empty(0, dtype=torch.uint8).set_(self._held[number])
                whole.fill_(255)  # NaN, in every type of float

    def _save(self, changed: list[torch.Tensor]) -> None:
        """Save the contents of memory before a captured operator changes it."""
        with _disable_current_modes():
            for each in changed:
                if key(each) not in self._saved:
                    self._held[key(each)] = each.untyped_storage()
                    storage: Any = each.untyped_storage()
                    self._saved[key(each)] = storage.clone()

    def replay(self, graph: Graph) -> None:
        """Run the operators of a graph on the tensors of its capture."""
        reads: set[int] = set()
        writes: set[int] = set()
        for node in graph.nodes:
            operands = tensors((node.args, node.kwargs))
            given = {key(each) for each in operands}
            changed = written(node.function, node.args, node.kwargs)
            if node.name not in SHAPED:
                self._fill(operands, changed, replayed=True)
            made = {key(each) for each in tensors(node.out)} - given
            writes |= {key(each) for each in changed} | made
            reads |= given
        self.note(reads - writes, writes, "replay")
        with _disable_current_modes(), torch.no_grad():
            for node in graph.nodes:
                _run(node)


def _run(node: Node) -> None:
    """Run an operator of a graph, and copy its results into the captured tensors."""
    given = {key(each) for each in tensors((node.args, node.kwargs))}
    again = node.function(*node.args, **node.kwargs)
    for old, new in zip(tensors(node.out), tensors(again), strict=True):
        if key(old) not in given:
            old.untyped_storage().copy_(new.untyped_storage())

"""The training step as a whole: its arrays, its launches, its graph."""

from collections.abc import Callable, Mapping
from typing import Any

from weft.errors import LearnerError

from . import (
    backward,
    forward,
    moments,
    norm_backward,
    norm_forward,
    norm_update,
    own,
    update,
)
from .kernels import NORMALISED, PLAIN, launch_of
from .layout import (
    B1,
    B2,
    B3,
    B4,
    CONV,
    GAMMA1,
    GAMMA2,
    HEAD,
    LOSS,
    NORM_SIZE,
    RUN_MEAN1,
    RUN_MEAN2,
    RUN_VAR1,
    RUN_VAR2,
    RUNNING,
    STATE,
    W1,
    W4,
)


class Fused:
    """Trains the network of chapter 35 on a GPU: bfloat16 tiles, float32 weights.

    parameters: by name, as tensors or arrays: w1 (32, 3, 3, 1), b1, w2 (64, 3, 3, 32),
    b2, w3 (128, 3136), whose columns are (7, 7, 64), b3, w4 (10, 128), b4. With gamma1,
    beta1, gamma2 and beta2, both convolutions are followed by batch normalisation; b1
    and b2 then have no effect, and stay as they are. digits: images and labels, uint8
    tensors on the GPU, (n, 28, 28) and (n,). order: int32, on the GPU, which images to
    train on; step k takes those from k * count on, and starts again at the end. rate:
    of SGD. kernels: of the learner's, by name, which replace those of the step, see
    `own`. Raises LearnerError for a batch that is no multiple of 64, and for a kernel
    that has no place in the step.
    """

    device = "cuda"

    def __init__(
        self,
        parameters: dict[str, Any],
        digits: tuple[Any, Any],
        order: Any,
        count: int,
        rate: float,
        kernels: Mapping[str, Any] | None = None,
    ) -> None:
        """Copy the parameters to the GPU, and make room for a batch."""
        import torch

        if count % 64:
            raise LearnerError(f"a batch of {count}: the tiles need a multiple of 64")
        self.torch, self.count, self.rate = torch, count, rate
        self.images, self.labels = self._words(digits[0]), digits[1]
        self.order = order
        self.steps = len(order) // count
        if not self.steps:
            raise LearnerError(f"{len(order)} images do not fill a batch of {count}")
        given = {
            name: torch.as_tensor(value).float().to(self.device)
            for name, value in parameters.items()
        }
        self.norm = "gamma1" in given
        self.own = dict(kernels or {})
        own.refuse(self.own, self.norm)
        self.biases = {name: given[name].clone() for name in ("b1", "b2")}
        self.theta = torch.zeros(NORM_SIZE, device=self.device)
        for name, place in self._places().items():
            each = given[name]
            numbers = each.permute(1, 2, 3, 0) if name == "w1" else each
            self.theta[place] = numbers.reshape(-1)
        self.w2 = self.theta[:B2].bfloat16()
        self.master = given["w3"].reshape(-1).clone()
        self.w3 = [self.master.bfloat16() for _ in range(2)]
        self._allocate()

    def _places(self) -> dict[str, slice]:
        """Return where the parameters are, all but fc1's weights."""
        first, second = ("beta1", "beta2") if self.norm else ("b1", "b2")
        places = {
            "w2": slice(0, B2),
            second: slice(B2, W1),
            "w1": slice(W1, B1),
            first: slice(B1, CONV),
            "w4": slice(W4, B4),
            "b4": slice(B4, B3),
            "b3": slice(B3, LOSS),
        }
        if self.norm:
            places |= {"gamma1": slice(GAMMA1, GAMMA2), "gamma2": slice(GAMMA2, None)}
        return places

    def _words(self, x: Any) -> Any:
        return x.contiguous().view(-1).view(self.torch.int32)

    def _zeros(self, size: int, dtype: Any = None) -> Any:
        return self.torch.zeros(
            size, device=self.device, dtype=dtype or self.torch.int32
        )

    def numbers_of(self, name: str, size: int, dtype: Any = None) -> Any:
        """Return an array that only a kernel of the learner's needs, float32."""
        if name not in self.between:
            self.between[name] = self._zeros(size, dtype or self.torch.float32)
        return self.between[name]

    def _processors(self) -> int:
        return int(self.torch.cuda.get_device_properties(0).multi_processor_count)

    def _allocate(self) -> None:
        """Make the arrays between the kernels."""
        n, number = self.count, self.torch.float32
        processors = self._processors()
        small = n < 512
        self.slices = 49 if small else 7
        self.tiles = 1 if small else 7
        self.rows = 1 if small else 2
        self.heads = n if "head" in self.own else n // (4 * self.rows)
        self.blocks = min(n, processors)
        self.forward_blocks = min(n, 2 * processors)
        self.data_blocks = n // 64 * (49 // self.tiles)
        self.between: dict[str, Any] = {}
        self.x1, self.win1 = self._zeros(n * 3136), self._zeros(n * 784)
        self.x2, self.win2 = self._zeros(n * 1568), self._zeros(n * 392)
        self.dx2, self.dh = self._zeros(n * 1568), self._zeros(n * 64)
        self.part = self._zeros(self.slices * n * 128, number)
        self.parts = self._zeros(self.heads * HEAD, number)
        self.conv = self._zeros(self.blocks * CONV, number)
        self.counter, self.stats = self._zeros(1), self._zeros(2, number)
        if self.norm:
            self.summing = min(-(-n // moments.WARPS), processors)
            self.moments = self._zeros(self.summing * moments.CELLS, number)
            self.sums2 = self._zeros(self.forward_blocks * norm_forward.SUMS, number)
            self.dsums2 = self._zeros(self.data_blocks * norm_backward.COLUMNS, number)
            self.y2, self.pooled = self._zeros(n * 6272), self._zeros(n * 1568)
            self.state = self._zeros(STATE, number)
            self.running = self._zeros(RUNNING, number)
            # averages of what comes before the bias; PyTorch's, which start at zero,
            # are larger by the bias
            self.running[RUN_MEAN1:RUN_VAR1] = -self.biases["b1"]
            self.running[RUN_VAR1:RUN_MEAN2] = 1
            self.running[RUN_MEAN2:RUN_VAR2] = -self.biases["b2"]
            self.running[RUN_VAR2:] = 1

    def launches(self, turn: int = 0) -> dict[str, Callable[[], None]]:
        """Return the launches of a step, by name, in order: six, or seven with norms.

        turn: which of the two copies of fc1's weights this step reads; it writes the
        other one.
        """
        kernels = NORMALISED if self.norm else PLAIN
        arguments = self._normalised(turn) if self.norm else self._plain(turn)

        def call(name: str) -> Callable[[], None]:
            launch, shared = launch_of(name, kernels[name]), kernels[name][3]
            return lambda: launch(*arguments[name], shared=shared)

        theirs = {own.NAMES[name]: name for name in self.own}

        def mine(name: str) -> Callable[[], None]:
            return own.replaced(self, name, self.own[name])

        return {
            name: mine(theirs[name]) if name in theirs else call(name)
            for name in arguments
        }

    def _copies(self, turn: int) -> tuple[Any, Any]:
        """Return fc1's weights, those to read and those to write."""
        old, new = (self._words(self.w3[(turn + k) % 2]) for k in range(2))
        return old, new

    def _head(self) -> tuple[Any, ...]:
        pooled = self.part, self.theta, self.labels, self.order, self.counter
        rest = self.dh, self.parts, self.count, self.slices // 7, self.rows
        return self.heads, 128, *pooled, *rest

    def _update(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return what the update needs, before and after the second layer's state."""
        sums = self.conv, self.blocks, self.parts, self.heads, self.theta
        bits = self.w2.view(self.torch.int16)
        return sums, (bits, self.counter, self.stats, self.rate, self.steps)

    def _plain(self, turn: int) -> dict[str, tuple[Any, ...]]:
        """Return grid, block and arguments of the six kernels."""
        n, w2, numbers = self.count, self._words(self.w2), (self.count, self.tiles)
        old, new = self._copies(turn)
        batch = self.images, self.order, self.counter
        convolved = self.x1, self.win1, self.x2, self.win2
        back = *batch, w2, self.x1, self.win1, self.dx2, self.win2, self.conv, n
        sums, rest = self._update()
        slices = (n // 64, self.slices), 256
        return {
            "forward": (
                self.forward_blocks,
                forward.THREADS,
                *(*batch, self.theta, w2, *convolved, n),
            ),
            "fc1": (*slices, self.x2, old, self.part, n, 49 // self.slices),
            "head": self._head(),
            "fc1_backward": (
                *(98 + self.data_blocks, 128, self.dh, self.x2, old, self.master),
                *(new, self.dx2, self.rate, *numbers),
            ),
            "backward": (self.blocks, backward.THREADS, *back),
            "update": (update.BLOCKS, 256, *sums, *rest),
        }

    def _normalised(self, turn: int) -> dict[str, tuple[Any, ...]]:
        """Return grid, block and arguments of the seven kernels."""
        n, w2, numbers = self.count, self._words(self.w2), (self.count, self.tiles)
        old, new = self._copies(turn)
        batch = self.images, self.order, self.counter
        convolved = self.x1, self.win1, self.y2, self.pooled, self.win2, self.sums2
        state, sums2 = (self.state, self.running), (self.sums2, self.forward_blocks)
        dsums2 = self.dsums2, self.data_blocks
        sums, rest = self._update()
        slices = (n // 64, self.slices), 256
        return {
            "moments": (self.summing, moments.THREADS, *batch, self.moments, n),
            "forward": (
                *(self.forward_blocks, forward.THREADS, *batch, self.theta, w2),
                *(self.moments, self.summing, *state, *convolved, n),
            ),
            "fc1": (
                *(*slices, self.pooled, *sums2, self.theta, *state, self.x2, old),
                *(self.part, n, 49 // self.slices),
            ),
            "head": self._head(),
            "fc1_backward": (
                *(98 + self.data_blocks, 128, self.dh, self.x2, old, self.master),
                *(new, self.pooled, self.theta, self.state, self.dx2, self.dsums2),
                *(self.rate, *numbers),
            ),
            "backward": (
                *(self.blocks, backward.THREADS, *batch, w2, self.theta, self.state),
                *(*dsums2, self.x1, self.win1, self.y2, self.dx2, self.win2),
                *(self.conv, n),
            ),
            "update": (norm_update.BLOCKS, 256, *sums, self.state, *rest),
        }

    def step(self, turn: int = 0) -> None:
        """Launch one step on PyTorch's current stream."""
        for launch in self.launches(turn).values():
            launch()

    def graph(self, steps: int = 2) -> Any:
        """Return a CUDA graph of so many steps, an even number; no step is taken.

        Replay it with `graph.replay()`.
        """
        if steps % 2:
            raise LearnerError(f"{steps} steps: two copies of weights take turns")
        for turn in range(2):
            self.launches(turn)  # compiled before the capture
        graph: Any = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for k in range(steps):
                self.step(k % 2)
        graph.net = self  # a graph knows addresses, and keeps no tensor alive
        return graph

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as they are now, by name, as they were given."""
        theta = self.theta.clone()
        found = {name: theta[place] for name, place in self._places().items()}
        found["w1"] = found["w1"].view(3, 3, 1, 32).permute(3, 0, 1, 2).contiguous()
        found["w2"] = found["w2"].view(64, 3, 3, 32)
        found["w4"] = found["w4"].view(10, 128)
        return self.biases | found | {"w3": self.master.view(128, 3136).clone()}

    def averages(self) -> dict[str, Any]:
        """Return the running means and variances, as PyTorch's BatchNorm2d has them.

        Raises LearnerError for a network without batch normalisation.
        """
        if not self.norm:
            raise LearnerError("this network has no batch normalisation: no gamma1")
        running = self.running.clone()
        return {
            "mean1": running[RUN_MEAN1:RUN_VAR1] + self.biases["b1"],
            "var1": running[RUN_VAR1:RUN_MEAN2],
            "mean2": running[RUN_MEAN2:RUN_VAR2] + self.biases["b2"],
            "var2": running[RUN_VAR2:],
        }

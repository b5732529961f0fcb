"""The training step as a whole: its arrays, its six launches, its graph."""

from collections.abc import Callable
from typing import Any

from weft import backend
from weft.cnn import backward, forward, linear, update
from weft.cnn.layout import B1, B2, B3, B4, CONV, HEAD, SIZE, W1, W4
from weft.errors import LearnerError
from weft.launching import Launch, prepare

_I, _F = "int32[::1]", "float32[::1]"
_KERNELS: dict[str, tuple[Any, str, tuple[int, int], int]] = {
    "forward": (
        forward.forward,
        f"{_I},{_I},{_I},{_F},{_I},{_I},{_I},{_I},{_I},int32",
        (forward.THREADS, 2),
        forward.SHARED,
    ),
    "fc1": (linear.fc1, f"{_I},{_I},{_F},int32,int32", (256, 2), 0),
    "head": (
        linear.head,
        f"{_F},{_F},uint8[::1],{_I},{_I},{_I},{_F},int32,int32,int32",
        (128, 1),
        0,
    ),
    "fc1_backward": (
        linear.fc1_backward,
        f"{_I},{_I},{_I},{_F},{_I},{_I},float32,int32,int32",
        (128, 4),
        0,
    ),
    "backward": (
        backward.backward,
        f"{_I},{_I},{_I},{_I},{_I},{_I},{_I},{_I},{_F},int32",
        (backward.THREADS, 1),
        backward.SHARED,
    ),
    "update": (
        update.update,
        f"{_F},int32,{_F},int32,{_F},int16[::1],{_I},{_F},float32,int32",
        (256, 1),
        0,
    ),
}
_compiled: dict[str, Launch] = {}


def _launch(name: str) -> Launch:
    """Return a launch of a kernel, which is compiled when it is first asked for."""
    if name not in _compiled:
        from numba import cuda

        function, types, bounds, shared = _KERNELS[name]
        options = {"fastmath": True} if name == "head" else {}
        jit: Any = cuda.jit
        kernel = jit(f"void({types})", launch_bounds=bounds, **options)(function)
        if shared:
            backend.allow_shared(kernel, shared)
        _compiled[name] = prepare(kernel)
    return _compiled[name]


class Fused:
    """Trains the network of chapter 35 on a GPU: bfloat16 tiles, float32 weights.

    parameters: by name, as tensors or arrays: w1 (32, 3, 3, 1), b1, w2 (64, 3, 3, 32),
    b2, w3 (128, 3136), whose columns are (7, 7, 64), b3, w4 (10, 128), b4. digits:
    images and labels, uint8 tensors on the GPU, (n, 28, 28) and (n,). order: int32, on
    the GPU, which images to train on; step k takes those from k * count on, and starts
    again at the end. rate: of SGD. Raises LearnerError for a batch that is no multiple
    of 64.
    """

    def __init__(
        self,
        parameters: dict[str, Any],
        digits: tuple[Any, Any],
        order: Any,
        count: int,
        rate: float,
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
        given = {k: torch.as_tensor(v).float().cuda() for k, v in parameters.items()}
        self.theta = torch.zeros(SIZE, device="cuda")
        names = "w2", "b2", "w1", "b1", "w4", "b4", "b3"
        numbers = [
            given["w1"].permute(1, 2, 3, 0) if n == "w1" else given[n] for n in names
        ]
        flat = torch.cat([each.reshape(-1) for each in numbers])
        self.theta[: len(flat)] = flat
        self.w2 = self.theta[:B2].bfloat16()
        self.master = given["w3"].reshape(-1).clone()
        self.w3 = [self.master.bfloat16() for _ in range(2)]
        self._allocate()

    def _words(self, x: Any) -> Any:
        return x.contiguous().view(-1).view(self.torch.int32)

    def _zeros(self, size: int, dtype: Any = None) -> Any:
        return self.torch.zeros(size, device="cuda", dtype=dtype or self.torch.int32)

    def _allocate(self) -> None:
        """Make the arrays between the kernels."""
        n, number = self.count, self.torch.float32
        processors = self.torch.cuda.get_device_properties(0).multi_processor_count
        small = n < 512
        self.slices = 49 if small else 7
        self.tiles = 1 if small else 7
        self.rows = 1 if small else 2
        self.heads = n // (4 * self.rows)
        self.blocks = min(n, processors)
        self.forward_blocks = min(n, 2 * processors)
        self.x1, self.win1 = self._zeros(n * 3136), self._zeros(n * 784)
        self.x2, self.win2 = self._zeros(n * 1568), self._zeros(n * 392)
        self.dx2, self.dh = self._zeros(n * 1568), self._zeros(n * 64)
        self.part = self._zeros(self.slices * n * 128, number)
        self.parts = self._zeros(self.heads * HEAD, number)
        self.conv = self._zeros(self.blocks * CONV, number)
        self.counter, self.stats = self._zeros(1), self._zeros(2, number)

    def launches(self, turn: int = 0) -> dict[str, Callable[[], None]]:
        """Return the six launches of a step, by name, in order.

        turn: which of the two copies of fc1's weights this step reads; it writes the
        other one.
        """
        n, w2 = self.count, self._words(self.w2)
        old, new = (self._words(self.w3[(turn + k) % 2]) for k in range(2))
        batch = self.images, self.order, self.counter
        convolved = self.x1, self.win1, self.x2, self.win2
        back = *batch, w2, self.x1, self.win1, self.dx2, self.win2, self.conv, n
        numbers = n, 49 // self.slices
        pooled = self.part, self.theta, self.labels, *batch[1:], self.dh, self.parts
        data_blocks = n // 64 * (49 // self.tiles)
        sums = self.conv, self.blocks, self.parts, self.heads, self.theta
        bits = self.w2.view(self.torch.int16)
        arguments: dict[str, tuple[Any, ...]] = {
            "forward": (
                self.forward_blocks,
                forward.THREADS,
                *(*batch, self.theta, w2, *convolved, n),
            ),
            "fc1": ((n // 64, self.slices), 256, self.x2, old, self.part, *numbers),
            "head": (self.heads, 128, *pooled, n, self.slices // 7, self.rows),
            "fc1_backward": (
                *(98 + data_blocks, 128, self.dh, self.x2, old, self.master, new),
                *(self.dx2, self.rate, n, self.tiles),
            ),
            "backward": (self.blocks, backward.THREADS, *back),
            "update": (
                *(update.BLOCKS, 256, *sums, bits, self.counter, self.stats),
                *(self.rate, self.steps),
            ),
        }

        def call(name: str) -> Callable[[], None]:
            launch, shared = _launch(name), _KERNELS[name][3]
            return lambda: launch(*arguments[name], shared=shared)

        return {name: call(name) for name in arguments}

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
        return {
            "w1": theta[W1:B1].view(3, 3, 1, 32).permute(3, 0, 1, 2).contiguous(),
            "b1": theta[B1:CONV],
            "w2": theta[:B2].view(64, 3, 3, 32),
            "b2": theta[B2:W1],
            "w3": self.master.view(128, 3136).clone(),
            "b3": theta[B3 : B3 + 128],
            "w4": theta[W4:B4].view(10, 128),
            "b4": theta[B4:B3],
        }

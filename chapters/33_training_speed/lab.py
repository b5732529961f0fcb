# %% [markdown]
# # 33 · Training speed
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/33_training_speed.ipynb)
#
# **After this lab, you can**
#
# - determine whether a training step waits for the GPU, the host or the input, before
#   you change a line;
# - feed a GPU without blocking copies, and without float32 on the bus;
# - find and remove hidden synchronisations and graph breaks;
# - use autocast, channels-last, gradient accumulation and checkpointing, and still get
#   the right gradients;
# - make a slow training script several times as fast, and show which change did it.
#
# **You need** about two hours. You do not need a GPU: the checks listen to PyTorch and
# count waits, copies, operators and bytes on any machine, and without a GPU the
# measurements show times from the reference GPU, an H200. If you use a GPU, it needs
# compute capability 8.0 or higher and 16 GB of memory; the measurements compile two
# models, which takes a few minutes.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import functools
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from weft import bench, check, hint, quiz
from weft.bench import results

weft.lab("33_training_speed")

DEVICE = torch.device("cuda" if weft.GPU else "cpu", 0)
CHANNELS_LAST = torch.channels_last

# %% [markdown]
# ## Two models
#
# Everything in this lab is tried on two small but real networks, with random data. The
# first is a residual network for images, in the shape of ResNet-18. The check of the
# last exercise uses a tiny version, and the measurements use a large version.


# %% tags=["given"]
class Residual(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, channels, width, stride):
        super().__init__()
        self.one = nn.Conv2d(channels, width, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.skip = nn.Identity()
        if stride > 1 or channels != width:
            shortcut = nn.Conv2d(channels, width, 1, stride, bias=False)
            self.skip = nn.Sequential(shortcut, nn.BatchNorm2d(width))

    def forward(self, x):
        y = F.relu(self.norm1(self.one(x)))
        return F.relu(self.norm2(self.two(y)) + self.skip(x))


class Net(nn.Module):
    """A residual network: a stem, stages of increasing width, a classifier."""

    def __init__(self, widths=(64, 128, 256, 512), depth=2, classes=1000):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        blocks, channels = [], widths[0]
        for stage, width in enumerate(widths):
            for block in range(depth):
                stride = 2 if stage and not block else 1
                blocks.append(Residual(channels, width, stride))
                channels = width
        self.blocks = nn.Sequential(*blocks)
        self.classify = nn.Linear(channels, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.classify(self.blocks(x).mean((2, 3)))


# %% [markdown]
# The second is a stack of transformer blocks that predicts the next token, in the shape
# of a small GPT.


# %% tags=["given"]
class Block(nn.Module):
    """Attention and an MLP, each with a norm before it and a sum after it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = (
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
        )
        self.up, self.down = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )

    def forward(self, x):
        batch, length, width = x.shape
        split = batch, length, 3, self.heads, width // self.heads
        q, k, v = self.qkv(self.norm1(x)).view(split).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Stack(nn.Module):
    """Blocks between an embedding and a prediction of the next token."""

    def __init__(self, width=1024, layers=4, vocabulary=8192, length=512):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(
            Block(width, width // 64) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.predict = nn.Linear(width, vocabulary, bias=False)
        self.recomputed = ()  # numbers of the blocks that are checkpointed

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places[: tokens.shape[1]]
        for number, block in enumerate(self.blocks):
            again = number in self.recomputed
            x = self.checkpointed(block, x) if again else block(x)
        return self.predict(self.norm(x))

    @staticmethod
    def checkpointed(block, x):
        """Run a block, which keeps nothing but its input."""
        return checkpoint(block, x, use_reentrant=False)


# %% [markdown]
# ## Measure: who waits for whom
#
# Profile first. A step takes as long as the slowest of three parts: the GPU, the host
# that gives it work, and the input. The cell below measures the GPU's part in the
# crudest way that works: it adds up the time of all kernels and divides the sum by the
# time of the step.
#
# - `float32`: 16 sequences of 512 tokens, without tensor cores;
# - `bfloat16`: the same under autocast;
# - `bfloat16, 2 x 128`: two sequences of 128 tokens, which is 1/32 of the work.
#
# In which of these cases is the GPU busy all the time? Write down three percentages
# first.


# %%
def stack_step(
    rows=16, length=512, dtype=None, net=None, after=None, to_none=True, **adam
):
    """Return a training step of the stack, with random tokens.

    dtype: of autocast, None for none. after: called with the model and the loss
    when the gradients are there. to_none: how zero_grad clears. adam: options
    of the optimiser.
    """
    net = (Stack() if net is None else net).to(DEVICE)
    options = {"fused": True} | adam
    optimiser = torch.optim.AdamW(net.parameters(), 1e-4, **options)
    most = net.predict.out_features
    tokens, answers = torch.randint(most, (2, rows, length), device=DEVICE)

    def step():
        optimiser.zero_grad(set_to_none=to_none)
        with torch.autocast("cuda", dtype, enabled=dtype is not None):
            scores = net(tokens)
            loss = F.cross_entropy(scores.flatten(0, 1), answers.flatten())
        loss.backward()
        if after is not None:
            after(net, loss)
        optimiser.step()
        return loss

    step.net = net
    return step


def five(step):
    """Return a function of five steps, so that one may be queued in another."""

    def steps():
        for _ in range(5):
            step()

    return steps


def busy(step):
    """Return the part of a step in which a kernel is running, in per cent."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    steps = five(step)
    steps()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    steps()
    torch.cuda.synchronize()
    whole = time.perf_counter() - begun
    with torch.profiler.profile(activities=activities) as seen:
        steps()
        torch.cuda.synchronize()
    events = seen.key_averages()
    kernels = sum(event.self_device_time_total for event in events) / 1e6
    return 100 * min(kernels / whole, 1)


def noted(case, unit, measure):
    """Print what `measure` finds on a GPU; without one, what is recorded."""
    lab = "33_training_speed"
    if weft.GPU:
        found = {
            name: float(f"{value:.3g}") for name, value in measure().items()
        }
        rows = [
            {"case": case, "name": name, "value": value, "unit": unit}
            for name, value in found.items()
        ]
        results.record(lab, rows)
    else:
        recorded = results.of_case(results.reference(lab), case)
        found = {name: row["value"] for name, row in recorded.items()}
        print("There is no GPU here. Recorded on the reference GPU:")
    for name, value in found.items():
        print(f"{name:28}{value:>8,g} {unit}")
    return found


BF16 = torch.bfloat16


def three_loads():
    torch.set_float32_matmul_precision("highest")
    return {
        "float32": busy(stack_step()),
        "bfloat16": busy(stack_step(dtype=BF16)),
        "bfloat16, 2 x 128": busy(stack_step(2, 128, dtype=BF16)),
    }


gpu_busy = noted("the GPU is busy", "%", three_loads)

# %% [markdown] tags=["solution"]
# In float32 the GPU sets the pace, so look at what its kernels do. With a small batch
# the host sets the pace: it needs about as long for a small batch as for a large one,
# since it calls the same operators. Faster kernels would change nothing in that case.

# %% [markdown]
# ## Measure: precision and layout
#
# Each row is five training steps, first of the stack, and then of the image network
# with 512 images of 112 × 112. `TF32` is float32 whose products are computed on tensor
# cores with 10 bits of mantissa. PyTorch allows it for convolutions by default, but for
# matrix products only on request. `bfloat16` and `float16` use autocast, and float16
# needs a scaler. `bfloat16 weights` uses no autocast.
#
# How many times as fast as float32 is each row? And how much does channels-last gain,
# in TF32 and in bfloat16?

# %%
guess = {"TF32": None, "bfloat16": None, "float16, scaler": None}


def scaled_step():
    """Return a step in float16, with the loss scaled."""
    net = Stack().to(DEVICE)
    optimiser = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)
    tokens, answers = torch.randint(8192, (2, 16, 512), device=DEVICE)
    scaler = torch.amp.GradScaler()

    def step():
        optimiser.zero_grad()
        with torch.autocast("cuda", torch.float16):
            scores = net(tokens)
            loss = F.cross_entropy(scores.flatten(0, 1), answers.flatten())
        scaler.scale(loss).backward()
        scaler.step(optimiser)
        scaler.update()

    return step


def products(precision, step):
    """Return five steps whose float32 products have this precision."""
    steps = five(step)

    def run():
        torch.set_float32_matmul_precision(precision)
        steps()

    return run


def precisions():
    return {
        "float32": products("highest", stack_step()),
        "TF32": products("high", stack_step()),
        "bfloat16": products("high", stack_step(dtype=BF16)),
        "float16, scaler": products("high", scaled_step()),
        "bfloat16 weights": products("high", stack_step(net=Stack().to(BF16))),
    }


precision = bench.compare(
    "5 steps of the stack",
    precisions,
    baseline="float32",
    host=True,
    guess=guess,
)
precision

# %%
guess = {
    "TF32": None,
    "TF32, channels-last": None,
    "bfloat16, channels-last": None,
}


def net_step(dtype=None, tf32=True, layout=torch.contiguous_format):
    """Return five training steps of the image network, with random images."""
    net = Net().to(DEVICE, memory_format=layout)
    optimiser = torch.optim.SGD(net.parameters(), 0.1, 0.9, fused=True)
    images = torch.randn(512, 3, 112, 112, device=DEVICE)
    images = images.to(memory_format=layout)
    labels = torch.randint(1000, (512,), device=DEVICE)

    def step():
        optimiser.zero_grad()
        with torch.autocast("cuda", dtype, enabled=dtype is not None):
            loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimiser.step()

    steps = five(step)

    def run():
        torch.backends.cudnn.allow_tf32 = tf32
        steps()

    return run


def layouts():
    torch.backends.cudnn.benchmark = True
    return {
        "float32": net_step(tf32=False),
        "TF32": net_step(),
        "TF32, channels-last": net_step(layout=CHANNELS_LAST),
        "bfloat16": net_step(BF16),
        "bfloat16, channels-last": net_step(BF16, layout=CHANNELS_LAST),
    }


layout = bench.compare(
    "5 steps of the image network",
    layouts,
    baseline="TF32",
    host=True,
    guess=guess,
)
layout

# %% tags=["solution"]
precision.expect("TF32", at_least=2)
precision.expect("bfloat16", at_least=3)
precision.expect("bfloat16", at_least=0.97, times="float16, scaler")
layout.expect("TF32, channels-last", at_least=1.2)
layout.expect("bfloat16, channels-last", at_least=1.5, times="bfloat16")
layout.expect("bfloat16", at_most=1.4)

# %% [markdown] tags=["solution"]
# Without channels-last, bfloat16 is hardly a gain for the image network. cuDNN's
# kernels for tensor cores need the channels of a pixel next to each other, and where
# they are not, images are rearranged before and after a convolution. The two changes
# together gain much more than either of them alone.
#
# Weights in bfloat16 are faster still, as no casts are left, but they are a trap: with
# eight significant bits, an update smaller than 1/512 of the weight disappears in
# rounding. Autocast keeps the weights in float32 and casts copies.

# %% [markdown]
# ## Measure: fp8
#
# From the H100 on, tensor cores multiply 8-bit floats, at twice the rate of bfloat16.
# Such a float has three bits of mantissa and a small range, so each tensor gets a scale
# that uses the whole range. The product here is that of a linear layer: 8192 tokens,
# 4096 input features and 16,384 output features.
#
# - `bfloat16`: the product;
# - `fp8, product alone`: both operands are fp8 already;
# - `fp8, scaled and cast`: from bfloat16 to bfloat16, with PyTorch's operators;
# - `fp8, compiled`: the same under `torch.compile`.


# %%
def quantised(x):
    """Return x in fp8 (e4m3) and its scale."""
    scale = x.abs().amax().float() / 448
    return (x / scale).to(torch.float8_e4m3fn), scale


def fp8_product(x, weight):
    """Multiply in fp8: x (m, k), weight (n, k), both bfloat16 -> (m, n)."""
    (a, by_a), (b, by_b) = quantised(x), quantised(weight)
    return torch._scaled_mm(
        a, b.t(), by_a, by_b, out_dtype=BF16, use_fast_accum=True
    )


def fp8_products():
    x = torch.randn(8192, 4096, device=DEVICE, dtype=BF16)
    weight = 0.02 * torch.randn(16384, 4096, device=DEVICE, dtype=BF16)
    (a, by_a), (b, by_b) = quantised(x), quantised(weight)
    compiled = torch.compile(fp8_product)
    return {
        "bfloat16": lambda: x @ weight.t(),
        "fp8, product alone": lambda: torch._scaled_mm(
            a, b.t(), by_a, by_b, out_dtype=BF16, use_fast_accum=True
        ),
        "fp8, scaled and cast": lambda: fp8_product(x, weight),
        "fp8, compiled": lambda: compiled(x, weight),
    }


fp8 = None
if not weft.GPU or torch.cuda.get_device_capability() >= (8, 9):
    fp8 = bench.compare(
        "8192 x 4096 x 16384",
        fp8_products,
        baseline="bfloat16",
        flops=2 * 8192 * 4096 * 16384,
    )
fp8

# %% tags=["solution"]
if fp8 is not None:
    fp8.expect("fp8, product alone", at_least=1.5)
    fp8.expect("bfloat16", at_least=1.0, times="fp8, scaled and cast")
    fp8.expect("fp8, compiled", at_least=1.1, times="fp8, scaled and cast")

# %% [markdown] tags=["solution"]
# The product is faster, but the operations around it eat up the gain: finding the
# largest element reads each tensor once, and scaling and casting read it again.
# Compiled, these operations become a few fused kernels. Libraries for fp8 training go
# further: they take the scale from earlier steps or give each block of a tensor its own
# scale.

# %% [markdown]
# ## 1 · Feeding the GPU
#
# A batch of images begins on the host, as bytes from 0 to 255, of shape (b, 3, h, w).
# The network needs the images on the device, normalised to `(x / 255 - mean) / std`. As
# a cheap way to make more data, image `k` is mirrored if `flips[k]` is true.
#
# The function below does all of that, but slowly. The result is right. What is wrong is
# *where* things happen, and how many operators the function calls. The batch and
# `flips` are already in pinned memory; `mean` and `std`, of shape (3, 1, 1), are on the
# device.
#
# ```python
# prepare(images, flips, mean, std, device)    # -> (b, 3, h, w) float32, on the device
# ```
#
# The check requires the same numbers, and three more things: no unnecessary byte
# crosses the bus, the host never waits, and the number of operators does not grow with
# the batch. Stuck? `hint("prepare")`.


# %% tags=["given"]
def random_batch(rng, batch, side):
    """Return images, flips, and the mean and standard deviation per channel."""
    images = rng.integers(0, 256, (batch, 3, side, side), dtype=np.uint8)
    flips = rng.random(batch) < 0.5
    mean = rng.uniform(0.4, 0.5, (3, 1, 1)).astype(np.float32)
    std = rng.uniform(0.2, 0.3, (3, 1, 1)).astype(np.float32)
    return images, flips, mean, std


def prepared(images, flips, mean, std):
    """Return the batch as the network needs it, with NumPy."""
    batch = (images / 255 - mean) / std
    return np.where(flips[:, None, None, None], batch[..., ::-1], batch)


# %% tags=["broken"]
def prepare(images, flips, mean, std, device):
    """Return a batch on the device, normalised and in part mirrored."""
    # BEGIN SOLUTION
    # was: batch = (images.float() / 255 - mean.cpu()) / std.cpu()
    # was: for k in range(len(batch)):
    # was:     if flips[k]:
    # was:         batch[k] = batch[k].flip(-1)
    # was: return batch.to(device)
    batch = images.to(device, non_blocking=True)
    mask = flips.to(device, non_blocking=True).view(-1, 1, 1, 1)
    batch = torch.where(mask, batch.flip(-1), batch)
    return batch.float().sub_(255 * mean).div_(255 * std)
    # END SOLUTION


# %%
check(
    prepare,
    spec=prepared,
    inputs=random_batch,
    sizes=[(3, 4), (12, 6)],
    call=lambda prepare, *given: prepare(*given, DEVICE),
    tensors=True,
    gradient=False,
    strided=False,
    host=(0, 1),
    limits={"synchronisations": 0, "copied": 1.0, "operators": 20},
)

# %% [markdown] tags=["solution"]
# One byte per value crosses the bus instead of four. `non_blocking=True` lets the copy
# run while Python goes on, which works because the batch is pinned. And `torch.where`
# handles all images at once: it needs a mirrored copy of the whole batch, of which
# about half is thrown away. That is little work for a GPU, and it saves the host two
# operators per image.
#
# The images are mirrored while they are still bytes, which moves a quarter of the bytes
# that float32 would. After that, two in-place operations do the arithmetic.

# %% [markdown]
# ## Measure: the loader
#
# Before `prepare` comes the loader. A `DataLoader` with workers makes batches in other
# processes while the GPU is computing. The cell measures milliseconds per batch of 256
# images, with a GPU that has nothing else to do, for a dataset in memory:
#
# - `0 workers, float32`: the dataset normalises each image, in this process;
# - `8 workers, float32`: eight processes normalise the images;
# - `8 workers, bytes`: the dataset returns bytes, and the GPU normalises;
# - `8 workers, bytes, pinned`: the same with `pin_memory=True` and copies that do not
#   block.


# %%
class Images(torch.utils.data.Dataset):
    """Images in memory, as bytes or normalised."""

    def __init__(self, normalised):
        self.normalised = normalised
        self.images = torch.randint(
            0, 256, (512, 3, 112, 112), dtype=torch.uint8
        )

    def __len__(self):
        return 256 * 40

    def __getitem__(self, index):
        image = self.images[index % len(self.images)]
        return (image / 255 - 0.45) / 0.22 if self.normalised else image


def per_batch(normalised, pinned=False, workers=8):
    """Return the milliseconds that a batch takes, after the first ten."""
    loader = torch.utils.data.DataLoader(
        Images(normalised), 256, num_workers=workers, pin_memory=pinned
    )
    begun = 0.0
    for number, images in enumerate(loader):
        if number == 10:
            torch.cuda.synchronize()
            begun = time.perf_counter()
        images.to(DEVICE, non_blocking=pinned).float()
    torch.cuda.synchronize()
    return (time.perf_counter() - begun) / 30 * 1e3


def loaders():
    return {
        "0 workers, float32": per_batch(True, workers=0),
        "8 workers, float32": per_batch(True),
        "8 workers, bytes": per_batch(False),
        "8 workers, bytes, pinned": per_batch(False, True),
    }


loading = noted("a batch from the loader", "ms", loaders)

# %% [markdown]
# ## 2 · A decision that stays on the GPU
#
# Gradients that are too large are scaled down: if the norm of all gradients together is
# more than `most`, each gradient is multiplied by `most / norm`. Here is a version that
# you will find in many repositories. It asks the GPU for a number once per parameter,
# and each `.item()` waits until the GPU has computed everything that was queued before.
#
# Rewrite it without a single wait. The question "is the norm too large?" needs an
# answer, but Python does not have to know it.
#
# ```python
# clip_(gradients, most)    # changes them in place, returns their norm before
# ```
#
# Return the norm as a tensor. (PyTorch has such a function; here you learn what it has
# to avoid.) Stuck? `hint("clip_")`.


# %% tags=["given"]
def three_gradients(rng, n):
    """Return three gradients, and the norm that they may have."""
    scale = 0.0 if n == 1 else 1.0
    shapes = [(n, 3), (n,), (2, n)]
    gradients = [
        scale * rng.standard_normal(s).astype(np.float32) for s in shapes
    ]
    return *gradients, 2.0 if n % 2 else 50.0


def clipped(a, b, c, most):
    """Return the norm of three gradients, and the gradients scaled down."""
    norm = np.sqrt(sum((g * g).sum() for g in (a, b, c)))
    factor = most / norm if norm > most else 1.0
    return norm, a * factor, b * factor, c * factor


def call_clip(clip_, *given):
    """Call clip_ on copies; return what it returns and what it changes."""
    gradients = [g.clone() for g in given[:3]]
    return clip_(gradients, given[3]), *gradients


# %% tags=["broken"]
def clip_(gradients, most):
    """Scale gradients in place to a common norm of at most `most`."""
    # BEGIN SOLUTION
    # was: total = 0.0
    # was: for gradient in gradients:
    # was:     total += gradient.norm().item() ** 2
    # was: norm = total**0.5
    # was: if norm > most:
    # was:     for gradient in gradients:
    # was:         gradient.mul_(most / norm)
    # was: return torch.tensor(norm)
    norm = torch.stack([each.norm() for each in gradients]).norm()
    factor = (most / norm).clamp(max=1)
    for each in gradients:
        each.mul_(factor)
    return norm
    # END SOLUTION


# %%
check(
    clip_,
    spec=clipped,
    inputs=three_gradients,
    sizes=[4, 7, 1, 33],
    call=call_clip,
    tensors=True,
    gradient=False,
    strided=False,
    limits={"synchronisations": 0},
)

# %% [markdown] tags=["solution"]
# The `if` has become a `clamp`. The gradients are multiplied in every case, by 1 if
# they were small enough: this is a little work for the GPU, and it spares the host a
# wait. Where the norm is 0, `most / norm` is infinite and the clamp makes it 1.
#
# PyTorch's own `clip_grad_norm_` does the same. Other decisions that depend on the
# numbers of a training step can stay on the GPU as well, with `torch.where`, `clamp`,
# `minimum` or a multiplication by a mask.

# %% [markdown]
# ## Measure: waits, and the host
#
# What does a wait cost? That depends on which side is ahead. Each row is five steps of
# the stack in bfloat16. There is one table for 16 × 512 tokens and one for 2 × 128:
#
# - `plain`: a fused AdamW and nothing else;
# - `loss.item()`: the loss is read at every step;
# - `clipped by item`: clipping as exercise 2 gives it, with a wait for every parameter;
# - `clip_grad_norm_`: PyTorch's way;
# - `foreach` and `looping`: the other two implementations of AdamW;
# - `a CUDA graph`: the whole step is recorded once and replayed.
#
# In which of the two tables will the CUDA graph matter more?


# %%
def by_item(net, loss):
    """Clip gradients, and ask for each norm."""
    parameters = list(net.parameters())
    total = sum(p.grad.norm().item() ** 2 for p in parameters) ** 0.5
    if total > 1:
        for p in parameters:
            p.grad.mul_(1 / total)


def graphed(step):
    """Record a step in a CUDA graph, and return what replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay():
        graph.replay()

    replay.step = step  # a graph holds addresses: keep the tensors alive
    return replay


def hosts(rows, length):
    """Return a function that builds the candidates for this batch."""

    def build():
        torch.set_float32_matmul_precision("high")
        step = functools.partial(stack_step, rows, length, BF16)
        clip = nn.utils.clip_grad_norm_
        found = {
            "plain": step(),
            "loss.item()": step(after=lambda net, loss: loss.item()),
            "clipped by item": step(after=by_item),
            "clip_grad_norm_": step(
                after=lambda net, _: clip(net.parameters(), 1)
            ),
            "foreach": step(fused=False, foreach=True),
            "looping": step(fused=False, foreach=False),
            "a CUDA graph": graphed(step(capturable=True)),
        }
        return {name: five(each) for name, each in found.items()}

    return build


large = bench.compare(
    "16 x 512 tokens", hosts(16, 512), baseline="plain", host=True
)
large

# %%
small = bench.compare(
    "2 x 128 tokens", hosts(2, 128), baseline="plain", host=True
)
small

# %% tags=["solution"]
small.expect("a CUDA graph", at_least=2)
small.expect("plain", at_least=1.5, times="looping")
small.expect("plain", at_least=1.1, times="clipped by item")
small.expect("plain", at_least=0.9, times="loss.item()")
large.expect("a CUDA graph", at_least=0.95, at_most=1.7)

# %% [markdown] tags=["solution"]
# One `.item()` per step costs little, because it waits at a point where the host has
# nearly finished the step. One `.item()` per parameter costs a round trip each time.
# With a small batch the host is the bottleneck, so anything that makes the host faster
# helps: fewer operators, as in the fused optimiser, or none at all, as in a replayed
# graph. With a large batch the GPU is busy anyway.

# %% [markdown]
# ## 3 · Gradient accumulation
#
# A batch that does not fit into memory is cut into parts. Each part adds its gradients
# to those of the earlier parts, and the optimiser steps once at the end. The result
# should be the same as for the whole batch.
#
# Often it is not. The mean of the parts' means is the mean of the whole only if all
# parts count the same number of samples, and here they do not: the last part is
# shorter, and some labels are −100, which `cross_entropy` ignores. In one part of a
# long batch, all labels are −100. Widely used trainers contained the mistake of
# averaging means for years.
#
# ```python
# accumulate(model, parts)
#     # parts: list of (x, y), x (n, 8) float32, y (n,) int64 with some -100
#     # adds to the gradients of model; returns the mean loss, a tensor
# ```
#
# The model already has gradients, from earlier parts. Add the new gradients to them:
# clearing is the caller's job.
#
# The check compares the loss and the gradients with those of the whole batch, counts
# waits, and looks at the bytes that are alive at once, because saving memory is the
# point. Stuck? `hint("accumulate")`.

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check
WIDTH, CLASSES, CUT = 8, 5, 16


def small_net():
    """Return the same small network, with gradients, at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(33)
        wide = nn.Linear(WIDTH, 32)
        net = nn.Sequential(wide, nn.Tanh(), nn.Linear(32, CLASSES))
        for parameter in net.parameters():
            parameter.grad = torch.randn_like(parameter) / 4
        return net


def labelled(rng, n):
    """Return samples and labels; in a long batch, part 2 is all ignored."""
    x = rng.standard_normal((n, WIDTH)).astype(np.float32)
    y = rng.integers(0, CLASSES, n)
    y[: n // 3][rng.random(n // 3) < 0.7] = -100
    if n > 4 * CUT:
        y[CUT : 2 * CUT] = -100
    return x, y


def at_once(x, y):
    """Return the loss of the whole batch, and the gradients after it."""
    model = small_net().to(x.dtype)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    return loss, *(p.grad for p in model.parameters())


def call_accumulate(accumulate, x, y):
    """Call accumulate on parts of a batch; return loss and gradients."""
    model = small_net().to(x.device)
    loss = accumulate(model, list(zip(x.split(CUT), y.split(CUT), strict=True)))
    return loss, *(p.grad for p in model.parameters())


# %% tags=["broken"]
def accumulate(model, parts):
    """Add the gradients of the mean loss over all samples of all parts."""
    # BEGIN SOLUTION
    # was: total = 0.0
    # was: for x, y in parts:
    # was:     loss = F.cross_entropy(model(x), y)
    # was:     loss.backward()
    # was:     total += loss.item()
    # was: return torch.tensor(total / len(parts))
    count = sum((labels != -100).sum() for _, labels in parts)
    total = 0
    for samples, labels in parts:
        scores = model(samples)
        loss = F.cross_entropy(scores, labels, reduction="sum") / count
        loss.backward()
        total += loss.detach()
    return total
    # END SOLUTION


# %%
check(
    accumulate,
    spec=at_once,
    inputs=labelled,
    sizes=[40, 16, 150],
    call=call_accumulate,
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-3,
    limits={"synchronisations": 0, "memory": 2.2},
)

# %% [markdown] tags=["solution"]
# Each part's loss is a *sum*, and all sums are divided by the number of labels that
# count in the whole batch. That number is a tensor, so nothing waits for it. If all
# labels of a part are ignored, its sum is 0, whereas its mean would be 0/0. That NaN
# would make all gradients NaN.
#
# `loss.backward()` inside the loop frees each part's graph before the next part begins;
# one `backward` of the total at the end would give the same gradients but keep all
# graphs until then. `detach()` serves the same purpose: without it, `total` would keep
# each loss's graph alive.

# %% [markdown]
# ## 4 · One graph
#
# `torch.compile` follows your function and collects its operators into a graph. It has
# to give up wherever Python needs a value from a tensor. There the graph ends, Python
# runs, and a second graph begins. This is a **graph break**.
#
# `damped` is a layer with a safety valve: if an output is too large, all outputs are
# scaled down, so that the largest is `MOST`. Rewrite it so that it compiles to one
# graph, with the same results.
#
# The function has a second fault, which no profiler shows. The scale depends on the
# outputs, so it has a gradient. `.item()` returns a plain number, which autograd cannot
# follow, so that part of the gradient is lost. The check requires the whole gradient.
#
# ```python
# damped(x, weight)    # x (n, 6), weight (6, 6) -> (n, 6)
# ```
#
# Stuck? `hint("damped")`.


# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check
MOST = 4.0


def layer(rng, n):
    """Return an input and a weight, which is larger for a larger n."""
    x = rng.standard_normal((n, 6)).astype(np.float32)
    return x, (0.1 * n * rng.standard_normal((6, 6))).astype(np.float32)


def damped_in_steps(x, weight):
    """Return the layer's output, with NumPy."""
    y = x @ weight
    top = np.abs(y).max()
    return x + y * (MOST / top if top > MOST else 1.0)


# %% tags=["broken"]
def damped(x, weight):
    """Add a layer's output to its input, scaled down where it is above MOST."""
    y = x @ weight
    # BEGIN SOLUTION
    # was: top = y.abs().max().item()
    # was: if top > MOST:
    # was:     print(f"damped: {top:.1f}")
    # was:     y = y * (MOST / top)
    # was: return x + y
    top = y.abs().max()
    return x + y * (MOST / top).clamp(max=1)
    # END SOLUTION


# %%
check(
    damped,
    spec=damped_in_steps,
    inputs=layer,
    sizes=[2, 9, 20],
    tensors=True,
    strided=False,
    tolerance=1e-4,
    limits={"synchronisations": 0, "graph_breaks": 0},
)

# %% [markdown] tags=["solution"]
# The largest output stays a tensor, and the `if` becomes a clamp, as in exercise 2. All
# operations are in one graph now, so the compiler can fuse them, and autograd
# differentiates the scale as well. Printing cannot be part of a graph. What a log needs
# can be returned as a tensor and printed once in a while.

# %% [markdown]
# ## Measure: compiled
#
# Each row is again five steps of the stack, with 16 × 512 tokens in bfloat16.
#
# - `compiled, with breaks`: each block ends in a test for NaN, `if not
#   torch.isfinite(x).all(): raise ...`, which breaks the graph;
# - `compiled`: `torch.compile(model, fullgraph=True)`;
# - `compiled, CUDA graph`: the whole compiled step, optimiser included, is recorded.


# %%
class Watched(Block):
    """A block that stops the training when a number is not finite."""

    def forward(self, x):
        x = super().forward(x)
        if not torch.isfinite(x).all():
            raise FloatingPointError("not finite")
        return x


def compiled_steps():
    torch.set_float32_matmul_precision("high")

    def step(block=Block, whole=True, compiled=True, **adam):
        net = Stack()
        net.blocks = nn.ModuleList(block(1024, 16) for _ in net.blocks)
        if compiled:
            net.compile(fullgraph=whole)
        return stack_step(dtype=BF16, net=net, **adam)

    found = {
        "eager": step(compiled=False),
        "compiled, with breaks": step(Watched, False),
        "compiled": step(),
        "compiled, CUDA graph": graphed(step(capturable=True)),
    }
    return {name: five(each) for name, each in found.items()}


by_compiler = bench.compare(
    "5 steps, compiled", compiled_steps, baseline="eager", host=True
)
by_compiler

# %% tags=["solution"]
by_compiler.expect("compiled", at_least=0.85)
by_compiler.expect("compiled", at_least=0.97, times="compiled, with breaks")
by_compiler.expect("compiled, CUDA graph", at_least=0.97, times="compiled")

# %% [markdown]
# ## 5 · Recomputing within a budget
#
# Every block keeps tensors for the backward pass. **Activation checkpointing** keeps
# only a block's input, and runs the block a second time when its gradient is needed.
#
# There is usually enough memory to keep the tensors of some blocks, and recomputing
# those as well would be a waste. Run the blocks one after the other on `x`, so that
# exactly `keep` of them keep their activations, and all others are checkpointed. Then
# take the mean of the squares of the last block's output as the loss, call `backward`,
# and return the loss.
#
# *Which* blocks should keep their activations? Think of the moment when a checkpointed
# block is recomputed: which tensors are alive then?
#
# ```python
# within(blocks, x, keep)    # blocks: list of modules; x (n, 16), requires grad
# ```
#
# Use `checkpoint(function, x, use_reentrant=False)`. The check counts the bytes that
# are alive at the peak, and the operators, so that recomputing too little and too much
# are both found. Stuck? `hint("within")`.

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check
LAYERS, KEEP = 8, 3


def small_blocks():
    """Return the same blocks at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(34)
        return [
            nn.Sequential(
                nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.Tanh()
            )
            for _ in range(LAYERS)
        ]


def all_kept(x):
    """Return the loss and the gradients of the input and the first block."""
    blocks = [block.to(x.dtype) for block in small_blocks()]
    x = x.clone().requires_grad_()
    y = x
    for block in blocks:
        y = block(y)
    loss = torch.mean(y * y)
    loss.backward()
    return loss, x.grad, blocks[0][0].weight.grad, blocks[4][2].weight.grad


def call_within(within, x):
    """Call within; return the loss and gradients."""
    blocks = [block.to(x.device) for block in small_blocks()]
    x = x.clone().requires_grad_()
    loss = within(blocks, x, KEEP)
    return loss, x.grad, blocks[0][0].weight.grad, blocks[4][2].weight.grad


# %%
def within(blocks, x, keep):
    """Run the blocks and the backward; `keep` blocks keep their activations."""
    # about 5 lines
    # BEGIN SOLUTION
    recomputed = len(blocks) - keep
    for block in blocks[:recomputed]:
        x = checkpoint(block, x, use_reentrant=False)
    for block in blocks[recomputed:]:
        x = block(x)
    # END SOLUTION
    loss = x.square().mean()
    loss.backward()
    return loss.detach()


# %%
check(
    within,
    spec=all_kept,
    inputs=lambda rng, n: rng.standard_normal((n, 16)).astype(np.float32),
    sizes=[3, 200],
    call=call_within,
    tensors=True,
    gradient=False,
    strided=False,
    tolerance=1e-4,
    limits={"memory": 47, "operators": 343},
)

# %% [markdown] tags=["solution"]
# The **last** blocks keep their activations. The backward pass begins with these
# blocks, so their activations are freed before any checkpointed block is run again. If
# the first blocks kept their activations, these would still be alive while the other
# blocks are recomputed.

# %% [markdown]
# ## Measure: memory for time
#
# The cell trains the stack on 16 × 512 tokens in bfloat16 in four ways: with all
# activations kept, with two of the four blocks recomputed, with all four recomputed,
# and with the batch in four parts. Which way needs the least memory, and which takes
# the most time? Guess first.


# %%
def in_parts(parts):
    """Return a step of the stack that accumulates over parts of the batch."""
    net = Stack().to(DEVICE)
    optimiser = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)
    tokens, answers = torch.randint(8192, (2, 16, 512), device=DEVICE)

    def step():
        optimiser.zero_grad()
        for x, y in zip(tokens.chunk(parts), answers.chunk(parts), strict=True):
            with torch.autocast("cuda", BF16):
                scores = net(x)
                loss = (
                    F.cross_entropy(scores.flatten(0, 1), y.flatten()) / parts
                )
            loss.backward()
        optimiser.step()

    return step


def keeping(count):
    """Return a step in which so many blocks keep their activations."""
    net = Stack()
    net.recomputed = range(len(net.blocks) - count)
    return stack_step(dtype=BF16, net=net)


def savers():
    torch.set_float32_matmul_precision("high")
    return {
        "all kept": keeping(4),
        "2 of 4 recomputed": keeping(2),
        "4 of 4 recomputed": keeping(0),
        "in 4 parts": in_parts(4),
    }


memory_time = bench.compare(
    "5 steps, saving memory",
    lambda: {name: five(step) for name, step in savers().items()},
    baseline="all kept",
    host=True,
)
memory_time


# %%
def peaks():
    """Return how far memory rises during a step, in MiB."""
    found = {}
    for name, step in savers().items():
        step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step()
        found[name] = (torch.cuda.max_memory_allocated() - before) / 2**20
    return found


peak = noted("memory of a step", "MiB", peaks)

# %% tags=["solution"]
memory_time.expect("all kept", at_least=1.1, times="4 of 4 recomputed")
memory_time.expect("2 of 4 recomputed", at_least=1.0, times="4 of 4 recomputed")
if peak:
    assert (
        peak["4 of 4 recomputed"] < peak["2 of 4 recomputed"] < peak["all kept"]
    )

# %% [markdown]
# ## 6 · The whole script
#
# Here is a training script with eight faults. Its results are right. You have met each
# of the faults in this lab or on the page:
#
# 1. images are normalised on the host, and they cross the bus as float32;
# 2. images are mirrored one by one;
# 3. the copies block;
# 4. images and weights are row-major, where convolutions need channels-last;
# 5. everything is computed in float32;
# 6. clipping reads one number per parameter;
# 7. the loss is read at every step;
# 8. the optimiser loops over the parameters.
#
# Fix them all, in any order. After each fix, run the check: it names the lines to look
# at next. You may use your `prepare` and `clip_` if they pass their checks, or
# PyTorch's `clip_grad_norm_`. (This check allows a `clip_` with two operators per
# gradient, but not with three.)
#
# ```python
# train(model, batches, mean, std, device)
#     # batches: list of (images, labels, flips), pinned, on the host
#     # -> the loss at each step, (steps,) float32
# ```
#
# The model, `mean` and `std` are on the device. Autocast takes `device.type`, and
# bfloat16 needs no loss scaling. Stuck? `hint("train")`.

# %% tags=["given"]
torch.set_float32_matmul_precision("highest")  # for the check
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
RATE, MOMENTUM, LONGEST = 0.2, 0.9, 1.2


def tiny():
    """Return the same tiny network at every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(35)
        return Net((8, 16), 1, 6)


def random_steps(rng, steps, batch, side):
    """Return images, labels and flips; only flips differ between batches."""
    images = rng.integers(0, 256, (batch, 3, side, side), dtype=np.uint8)
    labels = rng.integers(0, 6, batch)
    flips = rng.random((steps, batch)) < 0.5
    return np.stack([images] * steps), np.stack([labels] * steps), flips


def channel_constants(device, dtype=torch.float32):
    """Return mean and standard deviation, (3, 1, 1) each."""
    return [
        torch.tensor(each, dtype=dtype, device=device).view(3, 1, 1)
        for each in (MEAN, STD)
    ]


def losses_of(images, labels, flips):
    """Train in float64, step by step; return the losses."""
    model = tiny().double()
    mean, std = channel_constants("cpu", torch.float64)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)
    found = []
    for batch, answers, mirrored in zip(images, labels, flips, strict=True):
        x = (batch.double() / 255 - mean) / std
        x = torch.where(mirrored.view(-1, 1, 1, 1), x.flip(-1), x)
        optimiser.zero_grad()
        loss = F.cross_entropy(model(x), answers)
        loss.backward()
        nn.utils.clip_grad_norm_(list(model.parameters()), LONGEST)
        optimiser.step()
        found.append(loss.item())
    return torch.tensor(found, dtype=torch.float64)


def call_train(train, images, labels, flips):
    """Call train on a tiny network; return the losses."""
    batches = list(zip(images, labels, flips, strict=True))
    constants = channel_constants(DEVICE)
    return train(tiny().to(DEVICE), batches, *constants, DEVICE)


# %% tags=["broken"]
def train(model, batches, mean, std, device):
    """Train on every batch once; return the losses, (steps,)."""
    # BEGIN SOLUTION
    # was: mean, std = mean.cpu(), std.cpu()
    # was: optimiser = torch.optim.SGD(
    # was:     model.parameters(), RATE, MOMENTUM, foreach=False
    # was: )
    model.to(memory_format=CHANNELS_LAST)
    optimiser = torch.optim.SGD(model.parameters(), RATE, MOMENTUM, fused=True)
    # END SOLUTION
    losses = []
    for images, labels, flips in batches:
        # BEGIN SOLUTION
        # was: images = (images.float() / 255 - mean) / std
        # was: for k in range(len(images)):
        # was:     if flips[k]:
        # was:         images[k] = images[k].flip(-1)
        # was: images, labels = images.to(device), labels.to(device)
        images = prepare(images, flips, mean, std, device)
        images = images.contiguous(memory_format=CHANNELS_LAST)
        labels = labels.to(device, non_blocking=True)
        # END SOLUTION

        optimiser.zero_grad()
        # BEGIN SOLUTION
        # was: loss = F.cross_entropy(model(images), labels)
        with torch.autocast(device.type, torch.bfloat16):
            scores = model(images)
            loss = F.cross_entropy(scores, labels)
        # END SOLUTION
        loss.backward()
        # BEGIN SOLUTION
        # was: total = 0.0
        # was: for parameter in model.parameters():
        # was:     total += parameter.grad.norm().item() ** 2
        # was: if total**0.5 > LONGEST:
        # was:     for parameter in model.parameters():
        # was:         parameter.grad.mul_(LONGEST / total**0.5)
        nn.utils.clip_grad_norm_(model.parameters(), LONGEST)
        # END SOLUTION
        optimiser.step()
        # BEGIN SOLUTION
        # was: losses.append(loss.item())
        losses.append(loss.detach())
        # END SOLUTION
    # BEGIN SOLUTION
    # was: return torch.tensor(losses)
    return torch.stack(losses)
    # END SOLUTION


# %%
check(
    train,
    spec=losses_of,
    inputs=random_steps,
    sizes=[(4, 6, 32), (6, 8, 32)],
    call=call_train,
    tensors=True,
    dtype="float32",
    gradient=False,
    strided=False,
    unseen=False,
    tolerance=0.04,
    host=(0, 1, 2),
    limits={
        "synchronisations": 0,
        "copied": 1.0,
        "products": "bfloat16",
        "operators": 1200,
        "channels_last": 0,
    },
)

# %% [markdown]
# ## Measure: your script
#
# The scripts train on four batches of 512 images of 112 × 112, with three blocks per
# stage. `as given` is the script before you changed it. `yours` is your `train`, and
# `yours, compiled` is your `train` with a network whose `compile()` was called. `best
# known` is our own version: it is compiled, it prepares the images in the same graph,
# and it copies each batch on a separate stream while the previous step is running. Its
# code is in the cell below, so solve the exercise first.
#
# Your script should be at least three times as fast as the script as given. Compiled,
# it should reach 90 % of the speed of the best known version or, better, 95 %.


# %%
def as_given(model, batches, mean, std, device):
    mean, std = mean.cpu(), std.cpu()
    parameters = list(model.parameters())
    optimiser = torch.optim.SGD(parameters, RATE, MOMENTUM, foreach=False)
    losses = []
    for images, labels, flips in batches:
        images = (images.float() / 255 - mean) / std
        for k in range(len(images)):
            if flips[k]:
                images[k] = images[k].flip(-1)
        images, labels = images.to(device), labels.to(device)
        optimiser.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        total = 0.0
        for parameter in parameters:
            total += parameter.grad.norm().item() ** 2
        if total**0.5 > LONGEST:
            for parameter in parameters:
                parameter.grad.mul_(LONGEST / total**0.5)
        optimiser.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def best_known(model, mean, std, device):
    """Return a function that trains on batches."""
    weights = list(model.to(memory_format=CHANNELS_LAST).parameters())
    sgd = torch.optim.SGD(weights, RATE, MOMENTUM, fused=True)
    side = torch.cuda.Stream()

    @torch.compile(fullgraph=True)
    def loss_of(images, labels, flips):
        x = (images.float() / 255 - mean) / std
        x = torch.where(flips.view(-1, 1, 1, 1), x.flip(-1), x)
        with torch.autocast("cuda", BF16):
            x = x.to(BF16, memory_format=CHANNELS_LAST)
            return F.cross_entropy(model(x), labels)

    def fetched(batch):
        with torch.cuda.stream(side):
            return [part.to(device, non_blocking=True) for part in batch]

    def run(batches):
        found, near = [], fetched(batches[0])
        for following in (*batches[1:], None):
            torch.cuda.current_stream().wait_stream(side)
            for part in near:
                part.record_stream(torch.cuda.current_stream())
            loss = loss_of(*near)
            near = fetched(following) if following else []
            sgd.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, LONGEST)
            sgd.step()
            found.append(loss.detach())
        return torch.stack(found)

    return run


def large_batches(count=4, size=512, side=112):
    """Return batches in pinned memory."""
    batches = []
    for _ in range(count):
        images = torch.randint(0, 256, (size, 3, side, side), dtype=torch.uint8)
        labels, flips = torch.randint(1000, (size,)), torch.rand(size) < 0.5
        batches.append([part.pin_memory() for part in (images, labels, flips)])
    return batches


def scripts():
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    batches = large_batches()
    setting = batches, *channel_constants(DEVICE), DEVICE
    nets = [Net(depth=3).to(DEVICE) for _ in range(4)]
    given, mine, compiled, best = nets
    compiled.compile()
    best_run = best_known(best, *setting[1:])
    return {
        "as given": lambda: as_given(given, *setting),
        "yours": lambda: train(mine, *setting),
        "yours, compiled": lambda: train(compiled, *setting),
        "best known": lambda: best_run(batches),
    }


whole = bench.compare(
    "4 steps of the script",
    scripts,
    baseline="as given",
    ceiling="best known",
    host=True,
    guess={"yours": None},
)
whole

# %% tags=["solution"]
whole.expect("yours", at_least=3)
whole.expect("yours, compiled", at_least=1.0, times="yours")
whole.expect("yours, compiled", ceiling=0.9)

# %% [markdown] tags=["solution"]
# Which of the eight fixes helped most? The cell below fixes the faults one after the
# other. The finished script is slower than the best known probably because its copy
# waits its turn on the same stream: on a separate stream, the copy can run during the
# previous step.


# %% tags=["solution"]
def rung(model, batches, mean, std, device, fixed):
    """Train with the first `fixed` of the eight faults fixed."""
    on_device, at_once, no_wait, last, half, clip, late, fused = (
        fixed > k for k in range(8)
    )
    if last:
        model.to(memory_format=CHANNELS_LAST)
    parameters = list(model.parameters())
    options = {"fused": True} if fused else {"foreach": False}
    optimiser = torch.optim.SGD(parameters, RATE, MOMENTUM, **options)
    losses = []
    for images, labels, flips in batches:
        where = device if on_device else "cpu"
        images = images.to(where, non_blocking=no_wait)
        images = (images.float() / 255 - mean.to(where)) / std.to(where)
        if at_once:
            mask = flips.to(where, non_blocking=no_wait).view(-1, 1, 1, 1)
            images = torch.where(mask, images.flip(-1), images)
        else:
            for k in range(len(images)):
                if flips[k]:
                    images[k] = images[k].flip(-1)
        images = images.to(device)
        labels = labels.to(device, non_blocking=no_wait)
        if last:
            images = images.contiguous(memory_format=CHANNELS_LAST)
        optimiser.zero_grad()
        with torch.autocast("cuda", BF16, enabled=half):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(parameters, LONGEST)
        else:
            total = sum(p.grad.norm().item() ** 2 for p in parameters) ** 0.5
            if total > LONGEST:
                for p in parameters:
                    p.grad.mul_(LONGEST / total)
        optimiser.step()
        losses.append(loss.detach() if late else loss.item())
    return torch.stack(losses) if late else torch.tensor(losses)


FIXED = (
    *("as given", "1 normalised on the GPU", "2 mirrored at once"),
    *("3 copies that do not block", "4 channels-last", "5 autocast"),
    *("6 clipped without waits", "7 loss not read", "8 fused optimiser"),
)


def rungs():
    torch.backends.cudnn.benchmark = True
    setting = large_batches(), *channel_constants(DEVICE), DEVICE
    found = {
        name: functools.partial(rung, Net(depth=3).to(DEVICE), *setting, fixed)
        for fixed, name in enumerate(FIXED)
    }
    net = Net(depth=3).to(DEVICE)
    net.compile()
    return found | {"9 compiled": functools.partial(rung, net, *setting, 8)}


steps = bench.compare(
    "one fault after the other", rungs, baseline="as given", host=True
)
steps

# %% tags=["solution"]
steps.expect("8 fused optimiser", at_least=3)
steps.expect("9 compiled", at_least=0.9, times="8 fused optimiser")
steps.expect("5 autocast", at_least=1.1, times="3 copies that do not block")

# %% [markdown] tags=["solution"]
# The order matters. As long as the host prepares images, that takes most of the step,
# and any other fix saves only a small part of the time. That is why you profile again
# after each change.

# %% [markdown]
# ## Measure: the never-list
#
# Lists of things that you must never do are long, but few of them come with numbers.
# Here are six such things, measured over five steps of the stack with 16 × 512 tokens
# in bfloat16. Which of them deserve the word *never*?


# %%
class ByHand(Block):
    """A block that computes attention step by step."""

    def forward(self, x):
        batch, length, width = x.shape
        split = batch, length, 3, self.heads, width // self.heads
        q, k, v = self.qkv(self.norm1(x)).view(split).permute(2, 0, 3, 1, 4)
        weights = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        seen = torch.ones(
            length, length, dtype=torch.bool, device=x.device
        ).tril()
        weights = weights.masked_fill(~seen, float("-inf")).softmax(-1)
        y = weights.to(v.dtype) @ v
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def nevers():
    torch.set_float32_matmul_precision("high")
    plain = stack_step(dtype=BF16)
    by_hand = Stack()
    by_hand.blocks = nn.ModuleList(ByHand(1024, 16) for _ in range(4))

    def anomaly():
        with torch.autograd.set_detect_anomaly(True):
            plain()

    def emptied():
        plain()
        torch.cuda.empty_cache()

    def waited():
        plain()
        torch.cuda.synchronize()

    found = {
        "plain": plain,
        "attention by hand": stack_step(dtype=BF16, net=by_hand),
        "a vocabulary of 8191": stack_step(
            dtype=BF16, net=Stack(vocabulary=8191)
        ),
        "anomaly detection": anomaly,
        "empty_cache()": emptied,
        "synchronize()": waited,
        "gradients zeroed": stack_step(dtype=BF16, to_none=False),
    }
    return {name: five(each) for name, each in found.items()}


never = bench.compare("5 steps, never", nevers, baseline="plain", host=True)
never

# %% [markdown]
# ## If you want more
#
# - Run the finished script under `torch.cuda.set_sync_debug_mode("warn")`, and then run
#   it with one of the faults back in. What does this mode report, and which waits does
#   it miss?
# - Record a memory snapshot of one step: `torch.cuda.memory._record_memory_history()`,
#   then `torch.cuda.memory._dump_snapshot("step.pickle")`, and drop the file on
#   pytorch.org/memory_viz. Which tensors are alive at the peak?
# - Write your own loss scaler for float16, without a wait: a step with an infinite
#   gradient must change nothing. Multiplying by 0 is not enough. Why?
# - Choose which blocks to checkpoint by their size: give `within` a list of costs, and
#   keep the activations that save the most time per byte.
# - Put the whole fixed step into one CUDA graph, with the images copied into a buffer
#   at a fixed address.
#
# ## What you learned
#
# 1. A step is as slow as the slowest of GPU, host and input. Find out which it is
#    before you change anything, and again after each change.
# 2. Send images to the GPU as bytes, from pinned memory and without blocking, and do
#    the arithmetic after the copy.
# 3. Every value that Python reads from a tensor on the GPU is a wait, and under
#    `torch.compile` usually a graph break. Decisions can stay in tensors.
# 4. For convolutions, autocast and channels-last belong together. Weights stay in
#    float32.
# 5. The losses of all parts are divided by the number of labels that count in the whole
#    batch. Checkpointing gives the same gradients with less memory and more time, so
#    checkpoint as few blocks as you can.

# %%
quiz()

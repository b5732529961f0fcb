# %% [markdown]
# # 28 · Multi-GPU programming
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/28_multi_gpu.ipynb)
#
# **After this lab, you can**
#
# - write programs for several ranks without deadlocks, and explain what causes a
#   deadlock;
# - write the ring and the tree all-reduce, and predict from latency and bandwidth which
#   of these is faster;
# - read peer memory from a Numba kernel, and say when such a kernel is faster than
#   NCCL;
# - write data-parallel, tensor-parallel and sharded training steps that compute, up to
#   rounding, the same as one GPU;
# - find out whether a training step overlaps communication with computation.
#
# **You need** about two hours. You do not need a GPU: the checks run every rank on a
# model of `torch.distributed`, and one cell runs your functions in two real processes
# on the CPU. The measurements require two GPUs that can access each other's memory;
# without these, you see the times of two H200s.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import contextlib
import functools
import math

import numpy as np
import torch
import torch.nn.functional as F
from numba import cuda
from torch import nn

from weft import bench, check, hint, quiz, ranks

chapter = weft.lab("28_multi_gpu")
checks, measure = chapter.checks, chapter.measure
processes = chapter.processes  # starts them, so that they are ready when needed
gradients, as_weights = checks.gradients, checks.as_weights

# %% [markdown]
# ## Ranks
#
# A program for several GPUs is usually one function that runs in several processes, one
# per GPU. Each process is a **rank**. All ranks run the same code. They differ only in
# their numbers and their data. In this lab, the first argument of every such function
# is `dist`, which has the functions of the module `torch.distributed`:
#
# - `dist.get_rank()`, `dist.get_world_size()`: return this rank's number and the number
#   of ranks;
# - `dist.send(x, to)`, `dist.recv(x, source)`: send a tensor, or receive into a tensor,
#   and return when the transfer is complete;
# - `dist.isend(x, to)`, `dist.irecv(x, source)`: only begin to send or to receive, and
#   return an object whose `wait()` returns when the transfer is complete;
# - `dist.batch_isend_irecv(ops)`: begin several transfers as one group, and return a
#   list of such objects; `ops` is a list of `dist.P2POp(dist.isend, x, to)` and
#   `dist.P2POp(dist.irecv, x, source)`;
# - `dist.all_reduce(x)`: replace `x` on every rank with the sum over all ranks;
# - `dist.all_gather_into_tensor(out, x)`: put the `x` of all ranks into `out`, one
#   after the other;
# - `dist.reduce_scatter_tensor(out, x)`: sum `x` over all ranks, and give each rank one
#   part of the sum.
#
# Sends and receives are **point-to-point** calls: one rank sends to another. The last
# three calls are **collectives**, in which all ranks take part.
#
# A check runs your function for 2, 3, 4 and more ranks on a model of these calls. In
# the model, a message takes one **step**, however long it is. A rank can send one
# message and receive one message in the same step. As with NCCL on GPUs, the messages
# and collectives of a rank happen one after the other, in the order in which they were
# begun; only the messages of one group happen together. The model keeps track of which
# rank waits for which other rank. So it reports a deadlock at once, whereas a program
# on GPUs would hang until its timeout. Tensors have to be contiguous.

# %% [markdown]
# ## 1 · Pass it on
#
# The ranks form a ring: rank 0 follows the last rank. Send each rank's tensor to the
# next rank.
#
# ```python
# shift(dist, x, out)    # x, out: tensors of the same shape on every rank
# ```
#
# Afterwards, `out` on rank 1 contains rank 0's `x`, and `out` on rank 0 contains the
# last rank's `x`. One step is enough for any number of ranks. Stuck? `hint("shift")`.

# %%
def shift(dist, x, out):
    """Receive the previous rank's x into out."""
    # about 9 lines
    # BEGIN SOLUTION
    rank, size = dist.get_rank(), dist.get_world_size()
    works = dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, x, (rank + 1) % size),
            dist.P2POp(dist.irecv, out, (rank - 1) % size),
        ]
    )
    for work in works:
        work.wait()
    # END SOLUTION

# %%
check(
    shift,
    spec=checks.shifted,
    inputs=checks.vectors_and_room,
    sizes=[1, 5, 40],
    ranks=(2, 3, 4),
    result="out",
    because=checks.received_from,
    limits={"steps": 1},
)

# %% [markdown] tags=["solution"]
# With `send` first and `recv` second, all ranks wait in `send`, each for a neighbour
# that cannot receive because it is waiting too. Letting the even ranks send first and
# the odd ranks receive first avoids the deadlock, but takes two steps, or three for an
# odd number of ranks.
#
# An `isend` followed by an `irecv` looks like the solution. It works with gloo or MPI,
# but not with NCCL: both transfers become kernels on one CUDA stream, and the send,
# which waits for its receiver, blocks the receive that comes after it. A group becomes
# a single kernel, in which all of its transfers make progress.

# %% [markdown]
# ## 2 · The ring
#
# The sum over all ranks, on all ranks, is called an **all-reduce**. It is the most
# important collective for training, because it sums the gradients. If rank 0 received
# all tensors, added them up, and sent the sum back, all bytes would go through the link
# of rank 0.
#
# The **ring all-reduce** uses all links all the time. Cut the tensor into `p` chunks,
# where `p` is the number of ranks. In each step, every rank sends one chunk to the next
# rank and receives another chunk from the previous rank.
#
# - *First half, p − 1 steps*: each chunk that you receive is a partial sum. Add it to
#   your own chunk, and send the result on in the next step. At the end, each rank has
#   one complete chunk.
# - *Second half, p − 1 steps*: the complete chunks go around the ring, and each rank
#   replaces its own chunks with them.
#
# ```python
# ring_all_reduce(dist, x)    # x: a vector, in place; its length need not divide by p
# ```
#
# Each rank sends `2 (p − 1)` chunks, one in each of `2 (p − 1)` steps. Before you write
# the function, draw three ranks on paper: which chunk does rank 0 send first, and which
# chunk does it have to send next? `x.tensor_split(p)` cuts a tensor into `p` views
# whose lengths differ by at most 1. Stuck? `hint("ring_all_reduce")`.

# %%
def ring_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    # about 16 lines
    # BEGIN SOLUTION
    rank, size = dist.get_rank(), dist.get_world_size()
    chunks = x.tensor_split(size)
    for step in range(2 * (size - 1)):
        give = chunks[(rank - step) % size]
        take = chunks[(rank - step - 1) % size]
        adding = step < size - 1
        arrived = torch.empty_like(take) if adding else take
        works = dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, give, (rank + 1) % size),
                dist.P2POp(dist.irecv, arrived, (rank - 1) % size),
            ]
        )
        for work in works:
            work.wait()
        if adding:
            take += arrived
    # END SOLUTION

# %%
check(
    ring_all_reduce,
    spec=checks.summed,
    inputs=checks.vectors,
    sizes=[12, 9, 8, 103],
    ranks=(2, 3, 4),
    result="x",
    because=checks.around,
    without=checks.COLLECTIVES,
    limits={
        "steps": lambda p, n: 2 * (p - 1),
        "sent": lambda p, n: 2 * (p - 1) * 4 * math.ceil(n / p),
    },
)

# %% [markdown]
# The next cell shows what your function does with four ranks and 4000 bytes. Each row
# is a rank, and each column is a step.

# %%
ranks.timeline(
    ring_all_reduce, checks.vectors(np.random.default_rng(1), 4, 1000)
)

# %% [markdown] tags=["solution"]
# Both halves go through the chunks in the same order, so one loop is enough for both.
# At step `s`, rank `r` sends chunk `r − s` and receives chunk `r − s − 1`, which it
# sends in the next step, with all numbers modulo `p`. The first chunk that rank `r`
# sends is its own chunk `r`. After `p − 1` steps, the chunk that it has just received,
# `r + 1`, is complete.
#
# The first half alone is a **reduce-scatter**, and the second half alone is an
# **all-gather**. Each rank sends `2 (p − 1) / p` times the bytes of the tensor, which
# is once its bytes with two ranks, and nearly twice with many. No algorithm that sums
# on the ranks themselves can send fewer bytes.

# %% [markdown]
# ## 3 · The tree
#
# A ring of 1024 ranks takes 2046 steps. If the tensor is short, a step takes little
# more than its latency, so the time depends on the number of steps. A tree needs fewer.
# Sum the tensors of pairs of ranks, then sum these sums in pairs, and so on until rank
# 0 has the total. Then send the total back to all ranks in the reverse order.
#
# ```python
# tree_all_reduce(dist, x)    # x: a tensor, in place
# ```
#
# `2 ⌈log₂ p⌉` steps are enough for any number of ranks, whether or not it is a power of
# two. (Can you find a way with fewer steps?) Stuck? `hint("tree_all_reduce")`.

# %%
def tree_all_reduce(dist, x):
    """Replace x on every rank with the sum over all ranks."""
    # about 18 lines
    # BEGIN SOLUTION
    rank, size = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    distance = 1
    while distance < size:
        if rank % (2 * distance) == distance:
            dist.send(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            dist.recv(arrived, rank + distance)
            x += arrived
        distance *= 2
    while distance > 1:
        distance //= 2
        if rank % (2 * distance) == distance:
            dist.recv(x, rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < size:
            dist.send(x, rank + distance)
    # END SOLUTION

# %%
check(
    tree_all_reduce,
    spec=checks.summed,
    inputs=checks.vectors,
    sizes=[9, 1],
    ranks=(2, 3, 4, 5, 8),
    result="x",
    because=checks.along,
    without=checks.COLLECTIVES,
    limits={"steps": lambda p, n: 2 * math.ceil(math.log2(p))},
)

# %%
ranks.timeline(
    tree_all_reduce, checks.vectors(np.random.default_rng(1), 8, 1000)
)

# %% [markdown] tags=["solution"]
# At distance `d`, the ranks whose number is an odd multiple of `d` send to the rank `d`
# below and are done until the way back. The ranks whose number is an even multiple of
# `d` go on to the next level. If the number of ranks is not a power of two, some ranks
# have no partner on a level, so each rank has to check whether its partner exists.
# Nothing else changes.
#
# `send` and `recv` cannot deadlock here, because ranks never wait for each other in a
# circle: a rank sends its sum only after it has received all the sums that belong in
# it.
#
# The picture shows the disadvantage of the tree. On the way back, rank 0 sends the
# whole tensor once per level, and in the first of these steps all other links are idle.
# Fewer steps are possible if, in each step, every rank exchanges tensors with a partner
# and both add. This is **recursive doubling**, which takes `log₂ p` steps if `p` is a
# power of two.

# %% [markdown]
# ## Predict: ring or tree?
#
# A message of `n` bytes over a link takes about `α + n / β`: the **latency** α plus the
# bytes divided by the **bandwidth** β. With this model, you can write a formula for the
# time of either algorithm. The formulas assume that all links are alike, that they work
# in both directions at once without slowing each other down, and that the additions
# take no time.
#
# Take α = 5 µs, β = 300 GB/s and 64 ranks. For which of 4 KiB, 1 MiB, 64 MiB and 1 GiB
# is the tree faster, and for which of them with 1024 ranks? Decide before you run the
# cell.

# %%
measure.formulas()

# %% [markdown] tags=["solution"]
# In the time of a ring, the number of latencies grows with the number of ranks; in the
# time of a tree, it grows with the number of levels. But a tree moves the whole tensor
# twice per level, whereas a ring moves it less than twice in all. So trees are better
# for short tensors and many ranks. The length at which both take the same time grows
# with the number of ranks. With 64 ranks it is between 1 MiB and 64 MiB, and with 1024
# ranks between 64 MiB and 1 GiB.
#
# NCCL also chooses among several algorithms and three protocols for each. It uses a
# model of this kind, with latencies and bandwidths for the links that it finds. It also
# cuts long tensors into pieces that follow each other through the tree, so that fewer
# links are idle.

# %% [markdown]
# ## Run: real processes
#
# So far, your functions have run only on the model. `ranks.launch` starts one real
# process per rank and passes the module `torch.distributed` itself. With two GPUs, the
# backend is NCCL. Otherwise it is gloo, which copies tensors between processes on the
# CPU. Your functions do not change.

# %%
processes.run(shift, ring_all_reduce, tree_all_reduce)

# %% [markdown]
# ## Measure: the sum of two tensors
#
# Now measure with two GPUs. `chapters/28_multi_gpu/kernels.py` has two kernels that
# need no library for communication. With **peer access**, a kernel on one GPU can load
# from and store to the memory of another GPU, over NVLink or PCIe. PyTorch's *symmetric
# memory* allocates a tensor of the same size on each GPU, and returns to every rank a
# second tensor that refers to the other GPU's memory. Numba treats this tensor like any
# other array.
#
# - `one_shot`: every rank reads the whole tensor of the other rank and adds it to its
#   own. This takes one step, and each rank receives `n` bytes.
# - `two_shot`: every rank sums one half of the tensors and writes the result to both
#   GPUs. It loads half a tensor from its peer and stores half a tensor to its peer.
#
# Such a kernel may start only after both ranks have written their inputs. These may be
# overwritten only after both ranks have read them. So there is a barrier before and
# after each kernel: `handle.barrier()` synchronises the two GPUs on the stream, without
# the host.

# %%
two = measure.two(ring_all_reduce)

# %% [markdown]
# On two GPUs, a ring sends `n` bytes in each direction, so the bandwidth in the tables
# is also what NCCL's own tests call **bus bandwidth**. All rows except `NCCL, called`
# and `your ring` are timed as CUDA graphs, so the time of Python is not included. The
# rows `PyTorch's one-shot` and `PyTorch's two-shot` are PyTorch's own kernels for
# symmetric memory. When the two H200s were measured, NVLink multicast was off, for both
# NCCL and PyTorch. Where it is on, NCCL can let the switches of NVLink do the additions
# (NVLS), and might be faster.
#
# Which row do you expect to be fastest for 4 KiB, and which for 1 GiB? Fill in the
# speeds that you expect of `one-shot` and `two-shot`, as multiples of NCCL's speed.

# %%
guess = {"one-shot": None, "two-shot": None}
short = two.compare(
    "all-reduce, 4 KiB",
    baseline="NCCL",
    bytes=1 << 12,
    guess=guess,
    unsteady="the host's time is part of it",
)
short

# %%
guess = {"one-shot": None, "two-shot": None}
huge = two.compare(
    "all-reduce, 1 GiB", baseline="NCCL", bytes=1 << 30, guess=guess
)
huge

# %% tags=["solution"]
short.expect("one-shot", at_least=0.9)
huge.expect("two-shot", at_least=0.9)

# %% [markdown]
# ## 4 · Data parallelism
#
# Every rank has all the weights, and a part of the batch. Each rank computes gradients
# from its rows, an all-reduce averages the gradients over the ranks, and every rank
# makes the same update. All ranks then have the same weights again.
#
# Write such a step for a linear model. It must compute the same as a single rank with
# the whole batch. There are two difficulties. First, the ranks have different numbers
# of rows, so the mean over all rows is not the mean of the ranks' means. Second, each
# collective adds a latency, so all gradients, and all other numbers that you need from
# the other ranks, have to be summed in **one** all-reduce.
#
# ```python
# train_step(dist, weights, x, y, rate)    # weights: [w, b], updated in place
# ```
#
# `gradients(weights, x, y)` returns the gradients of the mean loss over this rank's
# rows, a list like `weights`. "In place" means in the memory of the tensors in this
# list. Stuck? `hint("train_step")`.

# %%
def train_step(dist, weights, x, y, rate):
    """Update the weights, in place, with the gradients of all ranks."""
    # about 8 lines
    # BEGIN SOLUTION
    found = gradients(weights, x, y)
    rows = torch.tensor([float(len(x))], device=x.device)
    flat = torch.cat([len(x) * g.flatten() for g in found] + [rows])
    dist.all_reduce(flat)
    *parts, total = flat.split([w.numel() for w in weights] + [1])
    for weight, part in zip(weights, parts, strict=True):
        weight -= rate * part.view_as(weight) / total
    # END SOLUTION

# %%
check(
    train_step,
    spec=checks.stepped,
    inputs=checks.uneven_batches,
    sizes=[(4, 3), (7, 2)],
    ranks=(2, 3, 4),
    result="weights",
    because=checks.STEPS,
    limits={"collectives": 1},
)

# %% [markdown] tags=["solution"]
# The mean over all rows is the sum of `rows × mean` over the ranks, divided by the sum
# of `rows`. The flat tensor has one more element at its end for the number of rows.
#
# Batches often do not divide evenly: the last batch of an epoch is shorter, sequences
# have different lengths, or a loss counts only some tokens. PyTorch's DDP always takes
# the mean of the ranks' means. If the ranks have different numbers of rows, or of
# tokens that count, you have to scale each rank's loss yourself.

# %% [markdown]
# ## 5 · Tensor parallelism
#
# A model that is too large for one GPU can be split inside its layers. Take the two
# linear layers of a transformer's MLP, `relu(x @ w1 + b1) @ w2 + b2`. Each rank has
# some *columns* of `w1`, the same elements of `b1`, and the same *rows* of `w2`. All
# ranks have the whole of `x` and `b2`. So each rank computes other columns of the
# hidden layer, `relu(x @ w1 + b1)`.
#
# ```python
# parallel_mlp(dist, x, w1, b1, w2, b2)    # returns the whole result on every rank
# ```
#
# One collective is enough. Where in the computation does it have to be? The ranks'
# parts may have different widths. Stuck? `hint("parallel_mlp")`.

# %%
def parallel_mlp(dist, x, w1, b1, w2, b2):
    """Return relu(x @ w1 + b1) @ w2 + b2 for weights spread over the ranks."""
    # about 4 lines
    # BEGIN SOLUTION
    y = torch.relu(x @ w1 + b1) @ w2
    dist.all_reduce(y)
    return y + b2
    # END SOLUTION

# %%
check(
    parallel_mlp,
    spec=checks.whole_mlp,
    inputs=checks.parts_of_mlp,
    sizes=[(3, 4), (6, 5)],
    ranks=(2, 3, 4),
    because=checks.SUMS,
    limits={"collectives": 1},
)

# %% [markdown] tags=["solution"]
# Columns of the first product are columns of the hidden layer, and relu works on each
# element separately, so no communication is needed between the two products. Rows of
# `w2` belong to columns of the hidden layer, so each rank computes a *part of the sum*
# for every element of the result. The all-reduce adds up these parts. The second bias
# is added once, afterwards. If every rank added it before the all-reduce, the result
# would contain it `p` times.
#
# If each rank had rows of `w1` and columns of `w2` instead, you would need one
# collective before relu and another at the end.

# %% [markdown]
# ## 6 · Sharding
#
# With `p` ranks, data parallelism keeps `p` copies of the weights and of the
# optimiser's state. **Fully sharded** data parallelism keeps a single copy, in `p`
# parts, of which each rank stores one. The weights of a layer are gathered before the
# layer is used, and discarded afterwards. The gradients are reduced so that each rank
# receives only the part whose weights it stores.
#
# Here all parameters are one flat vector, padded with zeros until `p` divides its
# length. `state` is `[weights, momentum]` and contains this rank's part, or **shard**,
# of both vectors.
#
# ```python
# sharded_step(dist, state, x, y, rate)    # state: updated in place
# ```
#
# `as_weights(flat, x, y)` returns `[w, b]` as views of a flat vector and ignores the
# zeros at its end. All ranks have the same number of rows. The optimiser is SGD with
# momentum: `momentum = MOMENTUM * momentum + gradient`, then
# `weights -= rate * momentum`. Use two collectives. (Sharding saves memory only if no
# vector of the full length outlives the step. The check does not test this.) Stuck?
# `hint("sharded_step")`.

# %% tags=["given"]
MOMENTUM = 0.9

# %%
def sharded_step(dist, state, x, y, rate):
    """Update this rank's shards of the weights and of the momentum."""
    # about 9 lines
    # BEGIN SOLUTION
    shard, momentum = state
    size = dist.get_world_size()
    flat = shard.new_empty(size * shard.numel())
    dist.all_gather_into_tensor(flat, shard)
    found = gradients(as_weights(flat, x, y), x, y)
    whole = torch.cat([g.flatten() for g in found])
    whole = F.pad(whole, (0, flat.numel() - whole.numel()))
    own = torch.empty_like(shard)
    dist.reduce_scatter_tensor(own, whole)
    momentum.mul_(MOMENTUM).add_(own / size)
    shard -= rate * momentum
    # END SOLUTION

# %%
check(
    sharded_step,
    spec=checks.sharded,
    inputs=checks.shards,
    sizes=[(4, 3), (6, 5)],
    ranks=(2, 3, 4),
    result="state",
    because=checks.UPDATES,
    limits={"collectives": 2},
)

# %% [markdown] tags=["solution"]
# An all-gather and a reduce-scatter together move the same number of bytes as one
# all-reduce. In fact, the reduce-scatter of one step and the all-gather of the next
# *are* the two halves of an all-reduce: between these halves, each rank updates its
# shard. (PyTorch's FSDP gathers twice, before the forward pass and again before the
# backward pass, because it discards the weights in between. So it moves 1.5 times the
# bytes, but saves memory.)
#
# The zeros at the end are needed because `reduce_scatter_tensor` requires equal parts.
# They remain zero, because their gradient is zero.

# %% [markdown]
# ## More measurements
#
# The solution and the chapter's page explain what each table shows. The last section
# has ideas for more.

# %% [markdown]
# ### Sums of other lengths, and a copy

# %%
middle = two.compare("all-reduce, 1 MiB", baseline="NCCL", bytes=1 << 20)
middle

# %%
large = two.compare("all-reduce, 64 MiB", baseline="NCCL", bytes=1 << 26)
large

# %%
copied = two.compare("256 MiB from one GPU to the other", bytes=1 << 28)
copied

# %% [markdown]
# The next cell uses NCCL's times in the formulas of ring and tree. The latency of a
# step is half of NCCL's time for 4 KiB, because a ring of two ranks takes two steps,
# and the bandwidth is that of NCCL for 1 GiB. The numbers for more than two ranks are
# extrapolated. They assume that all links are as fast as this link, which is true
# inside a machine with NVLink but not between machines.

# %%
latency = two.values("latency of a step", "µs")
bandwidth = two.values("bandwidth of a link", "GB/s")
modelled_ms = {
    length: two.values(f"modelled, {length}", "ms")
    for length in measure.LENGTHS
}

# %% [markdown]
# ### Training steps
#
# The model has twelve linear layers of 4096 × 4096. That is 201 million parameters, so
# each step has 805 MB of gradients. Each GPU gets 2048 rows of data. The first table
# has these rows:
#
# - `1 GPU`: the step without any communication, with the same number of rows per GPU;
# - `all-reduce afterwards`: one all-reduce per parameter, after the backward pass;
# - `one bucket`: DDP with a single bucket for all gradients, which is full only when
#   the backward pass ends;
# - `25 MB buckets`: DDP with buckets of the default size, including the first;
# - `1 MB buckets`: DDP with very small buckets (each matrix is larger than either
#   limit);
# - `FSDP2`: sharding, with `fully_shard` applied to each layer.
#
# In the second table, a step has four backward passes of 512 rows and one update.
# `no_sync` skips the communication in the first three passes.
#
# Predict: how much longer than on one GPU does a step take with 25 MB buckets?

# %%
two_train = measure.two_train(parallel_mlp)

# %%
guess = {"25 MB buckets": None, "all-reduce afterwards": None}
steps = two_train.compare(
    "a training step",
    unsteady="the host's time is part of it",
    baseline="1 GPU",
    guess=guess,
)
steps

# %%
passes = two_train.compare(
    "four passes and an update",
    unsteady="the host's time is part of it",
    baseline="1 GPU",
)
passes

# %% [markdown]
# The ratio is the speed of each GPU relative to a GPU that trains alone. If it is 0.95
# with two GPUs, an epoch takes 1 / 1.9 of the time. To see why it is not 1, run the
# next cell. It shows when NCCL's kernels run, from a profile of one step.
# `of it beside others` is the part of NCCL's time in which another kernel is running
# too.

# %%
for name in ("one bucket", "25 MB buckets"):
    measure.drawn(two_train, name)

# %% [markdown] tags=["solution"]
# With one bucket, the sum begins when the backward pass has ended, so nothing is
# hidden. With one bucket per matrix, most of NCCL's time on the two H200s is hidden.
# Nevertheless, the step is hardly shorter. NCCL's kernels occupy SMs and memory
# bandwidth, so the other kernels probably slow down while these run; nothing here
# measures this. A picture of overlap does not show how much time the overlap saves. The
# time of the whole step does.
#
# `FSDP2` takes several times as long as one GPU. Sharding itself explains little of
# this, since it moves only one and a half times the bytes of DDP. The benefit of
# sharding is that it saves memory.

# %% [markdown]
# The next cell shows the peak memory of each GPU in a step: weights, gradients, the two
# moments of AdamW, activations and buffers.

# %%
memory = two_train.values("memory per GPU, at most", "GB")

# %% [markdown]
# Perhaps the host is too slow for these layers. The next cell shows how long it takes
# to queue a step, without waiting for the GPU, and the trace of a step with `FSDP2`.
# Then it times steps with 16,384 rows instead of 2048, in which each layer keeps the
# GPU busy for about eight times as long.

# %%
queueing = two_train.values("host time of a step", "ms")
traced = two_train.values("trace, FSDP2", "ms")
longer = two_train.compare("a step with 16,384 rows", baseline="1 GPU")
longer

# %% [markdown] tags=["solution"]
# On the two H200s, queueing a short step with `FSDP2` takes Python nearly the whole
# time of the step, so the GPU waits for the host. In the longer steps it does not wait,
# and `FSDP2` is almost as fast as DDP.

# %% [markdown]
# Finally, time a large MLP, from 8192 to 28,672 and back to 8192 features in
# bfloat16, on one GPU and split over two. With 16 rows, reading the weights takes most
# of the time; with 2048 rows, the products do.

# %%
guess = {"2 GPUs": None}
mlp_short = two_train.compare("MLP, 16 rows", baseline="1 GPU", guess=guess)
mlp_short

# %%
mlp_long = two_train.compare("MLP, 2048 rows", baseline="1 GPU", guess=guess)
mlp_long

# %% tags=["solution"]
steps.expect("25 MB buckets", at_least=0.95, times="one bucket")
passes.expect("DDP, no_sync", at_least=1.1, times="DDP")
mlp_long.expect("2 GPUs", at_least=1.4)

# %% [markdown]
# ### Stretch goals
#
# - Write the reduce-scatter and the all-gather as two functions, and the ring
#   all-reduce as a call of the first followed by a call of the second.
# - Pipeline your tree: cut the tensor into pieces, and send the second piece while the
#   first is on the next level. What does `ranks.timeline` show, and how many steps do
#   `k` pieces take?
# - Add prefetching to a sharded step with several layers: with `async_op=True`, gather
#   the next layer's weights while the current layer is computed.
# - Write the `one_shot` kernel with its barriers inside, using flags in symmetric
#   memory, one per block. Which memory order do the accesses to these flags need, and
#   in which scope?

# %% [markdown]
# ## What you learned
#
# 1. Ranks that wait for each other do so until a timeout. Begin sends and receives in
#    one group, and call the same collectives in the same order on every rank.
# 2. A ring moves the fewest bytes per rank, in `2 (p − 1)` steps. A tree takes
#    `2 ⌈log₂ p⌉` steps but moves more bytes. Latency and bandwidth decide which of them
#    is faster.
# 3. A kernel can read another GPU's memory, so a sum takes one step. Its two barriers
#    take time too. On two H200s, such a kernel is about as fast as NCCL without NVLS at
#    4 KiB and at 1 GiB, and faster in between.
# 4. Data parallelism moves gradients, tensor parallelism moves activations, and
#    sharding moves weights and gradients. Pipeline parallelism moves activations
#    between stages.
# 5. Buckets let communication overlap with the backward pass. Even hidden communication
#    slows the step down, so measure the whole step. `no_sync` skips communication that
#    is not needed yet.

# %%
quiz()

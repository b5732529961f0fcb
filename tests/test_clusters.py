"""Clusters in the simulator: what is right passes, and mistakes are named."""

import numpy as np
import pytest

import weft
from verification.hopper_kernels import (
    CLUSTERED,
    COUNTED,
    GIVEN_AWAY,
    REDUCED,
    SPLIT,
    TWICE,
    changed,
    compiled,
)
from weft import meaning
from weft.kernels import full_size, hazards
from weft.kernels.exercise import KernelExercise
from weft.kernels.trial import configure, from_fault
from weft.launching import prepare
from weft.sanitizer import refuse
from weft.simulator import Fault, LaunchError
from weft.simulator.launch import record
from weft.tensor_maps import tensor_map

from numba import cuda, float32, int32  # isort: skip
from weft.intrinsics import (  # isort: skip
    cluster_load,
    cluster_rank,
    cluster_size,
    cluster_sync,
)

SYNC = "    cluster_sync()\n"
BLOCK_ALONE = SYNC, "    cuda.syncthreads()\n"
LAST = "= total\n" + SYNC, "= total\n"
STEPS, STAGES = 5, 2
RELEASE = """            if t < CLUSTER:
                mbarrier_arrive_at(empty, stage, t)
"""
EXPECT = "(full, stage, 2 * SIZE)"
MASK = "int32(2**CLUSTER - 1)"


def verdict(kernel, launch, args, cluster, backwards=False):
    """The verdict on a launch, None if nothing is wrong with it."""
    traces = []
    with meaning.clustered(cluster):
        try:
            trace, _ = record(
                kernel, launch, args, backwards=backwards,
                failed=lambda trace, _: traces.append(trace),
            )  # fmt: skip
        except Fault as fault:
            early = None
            if traces and fault.kind == "mbarrier":  # as in a check
                early = hazards.too_early(traces[0])
            found = from_fault(kernel.__name__, fault, "")
            return found if early is None else early
    hazard = hazards.find(trace)
    return None if hazard is None else hazard.verdict


def reduced(*changes, cluster=4, backwards=False):
    x, out = np.arange(8 * 64, dtype=np.float32), np.zeros(8 // cluster, np.float32)
    kernel = compiled(changed(REDUCED, *changes))
    found = verdict(kernel, (8, 64), (x, out), cluster, backwards)
    if found is None:
        assert np.array_equal(out, x.reshape(len(out), -1).sum(1))
    return found


def multicast(*changes, cluster=2, backwards=False):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 99, (8 * cluster, 64 * STEPS)).astype(np.int16)
    out = np.zeros((2 * cluster, 32), np.int32)
    kernel = compiled(
        changed(CLUSTERED, *changes), STAGES=STAGES, CLUSTER=cluster, SIZE=512 * cluster
    )
    args = tensor_map(x, (8, 64)), out, STEPS
    found = verdict(kernel, (2 * cluster, 64), args, cluster, backwards)
    if found is None:
        assert (out.sum(1) == x.astype(int).sum()).all()
    return found


@pytest.mark.parametrize(
    ("run", "cluster", "backwards"),
    [
        *((reduced, size, size == 2) for size in (1, 2, 4, 8)),
        *((multicast, size, size == 2) for size in (1, 2, 4)),
    ],
)
def test_right_kernels_are_right(run, cluster, backwards):
    assert run(cluster=cluster, backwards=backwards) is None


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    ("run", "kind", "says", "line", "changes"),
    [
        (reduced, "race", "in another block of the cluster", "cluster_load",
         [BLOCK_ALONE]),
        (reduced, "race", "in another block of the cluster", "cluster_load",
         [(SYNC, SYNC + "    if t == 0:\n        part[0] = float32(1)\n")]),
        (reduced, "race", "end", "cluster_load", [LAST]),
        (reduced, "out-of-bounds", "names block 4 of a cluster of 4", "cluster_load",
         [("part, 0, k", "part, 0, k + 1")]),
        (reduced, "out-of-bounds", "part has 1 element", "cluster_load",
         [("part, 0, k", "part, 1, k")]),
        (reduced, "barrier", "wait", "cluster_sync",
         [(SYNC, "    if t < 32:\n        cluster_sync()\n    else:\n"
           "        cuda.syncthreads()\n")]),
        (multicast, "race", "in another block of the cluster", "tma_load_multicast",
         [BLOCK_ALONE]),
        (multicast, "mbarrier", "1,024 bytes that were announced have not",
         "mbarrier_wait(full", [(MASK, "int32(1) << rank")]),
        (multicast, "mbarrier", "bytes that were announced have not",
         "mbarrier_wait(full", [(MASK, "int32(1)")]),
        (multicast, "out-of-bounds", "has the mask 0b111, in a cluster of 2",
         "tma_load_multicast", [(MASK, "int32(7)")]),
        (multicast, "mbarrier", "1,024 bytes that were announced have not",
         "mbarrier_wait(full", [(EXPECT, "(full, stage, 2 * SIZE + 1024)")]),
        (multicast, "uninitialised", "the copy into it may not have arrived",
         "total += tile", [(EXPECT, "(full, stage, 1024)")]),
        (multicast, "mbarrier", "arrivals have come", "mbarrier_wait(empty",
         [(RELEASE, RELEASE.replace("t < CLUSTER", "t == 0"))]),
        (multicast, "race mbarrier", "",
         "tma_load_multicast",
         [("(empty, s, CLUSTER)", "(empty, s, 1)"),
          (RELEASE, "            if t == 0:\n"
                    "                mbarrier_arrive(empty, stage)\n")]),
        (multicast, "race", "end", "mbarrier_arrive_at",
         [("= total\n" + SYNC, "= total\n")]),
    ],
)  # fmt: skip
def test_mistakes_are_named(run, kind, says, line, changes, backwards):
    found = run(*changes, backwards=backwards)
    text = " ".join(str(found).split())
    assert (found.kind in kind.split(), says in text) == (True, True), text
    assert any(line in place.text for place, _ in found.places), text


@cuda.jit("void(float32[::1])")
def ranks(out):
    cluster_sync()
    out[cuda.grid(1)] = float32(10 * cluster_size() + cluster_rank())


@pytest.mark.parametrize(("cluster", "wanted"), [(1, [10] * 4), (2, [20, 21, 20, 21])])
def test_a_prepared_launch_has_clusters(cluster, wanted):
    torch = pytest.importorskip("torch")
    out = torch.zeros(4 * 32)
    prepare(ranks, cluster)(4, 32, out)
    assert out[::32].tolist() == wanted


@pytest.mark.parametrize(
    ("cluster", "says"),
    [
        (3, "a grid of 4 blocks along x, in clusters of 3"),
        (16, "clusters of 16"),
    ],
)
def test_a_cluster_that_no_gpu_launches(cluster, says):
    with meaning.clustered(cluster), pytest.raises(LaunchError, match=says):
        record(ranks, (4, 32), (np.zeros(128, np.float32),))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (BLOCK_ALONE, "a race on the shared array `part`"),
        (LAST, "`part` of block 1, which may have ended"),
    ],
)
def test_a_checked_launch_refuses_them_too(change, says):
    kernel = compiled(changed(REDUCED, change))
    given = np.zeros(8 * 64, np.float32), np.zeros(2, np.float32)
    with meaning.clustered(4):
        trace, _ = record(kernel, (8, 64), given)
    with pytest.raises(Fault, match=says):
        refuse(trace)


def test_threads_that_have_ended_are_not_waited_for():
    @cuda.jit
    def kernel(x, out):
        part = cuda.shared.array(32, float32)
        t = cuda.threadIdx.x
        if t < 32:
            part[t] = x[cuda.blockIdx.x * 32 + t]
        if t >= 32:
            return
        cluster_sync()
        other = 1 - cluster_rank()
        out[cuda.blockIdx.x * 32 + t] = cluster_load(part, 31 - t, other)
        cluster_sync()

    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    assert verdict(kernel, (4, 64), (x, out), 2) is None
    wanted = x.reshape(2, 2, 32)[:, ::-1, ::-1].reshape(-1)
    assert np.array_equal(out, wanted)


def test_what_was_stored_in_global_memory_is_known_after_the_barrier():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = float32(i)
        cluster_sync()
        if cluster_rank() == 0:
            x[i] += x[i ^ 32]

    x = np.zeros(128, np.float32)
    assert verdict(kernel, (4, 32), (x,), 2) is None
    found = verdict(kernel, (4, 32), (np.zeros(128, np.float32),), 1)
    assert found.kind == "race"  # without clusters, the barrier is that of a block


def test_the_lanes_of_a_warp_come_together():
    @cuda.jit
    def kernel(out):
        if cuda.threadIdx.x % 2:
            cluster_sync()
        else:
            cluster_sync()
        out[cuda.grid(1)] = 1

    found = verdict(kernel, (4, 32), (np.zeros(128, np.float32),), 2)
    assert (found.kind, len(found.places)) == ("barrier", 2)


def test_an_array_of_another_type_is_refused():
    @cuda.jit
    def kernel(out):
        part = cuda.shared.array(1, int32)
        part[0] = 1
        cluster_sync()
        out[0] = cluster_load(part, 0, 0)
        cluster_sync()

    found = verdict(kernel, (2, 1), (np.zeros(1, np.float32),), 2)
    assert "loads float32, and this is an array of int32" in str(found)


# Checks of kernels that are launched in clusters


def swapped(x, out):
    part = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cluster_sync()
    out[cuda.grid(1)] = cluster_load(part, t, 1 - cluster_rank())
    cluster_sync()


def read_too_early(x, out):
    part = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = cluster_load(part, t, 1 - cluster_rank())
    cluster_sync()


def gone_too_early(x, out):
    part = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    cluster_sync()
    out[cuda.grid(1)] = cluster_load(part, t, 1 - cluster_rank())


def checked(function, launch=None, **more):
    """Check that pairs of blocks swap their elements; a size counts the pairs."""
    return weft.check(
        cuda.jit(function),
        spec=lambda x: x.reshape(-1, 2, 32)[:, ::-1].reshape(-1),
        inputs=lambda rng, n: rng.random(64 * n, np.float32),
        sizes=[1, 3, 2],
        launch=launch or (lambda n: (2 * n, 32)),
        **{"cluster": 2, **more},
    )


def test_a_check_launches_in_clusters():
    assert checked(swapped)
    assert meaning.CLUSTER.get() == 1


@pytest.mark.parametrize(
    ("function", "kind", "says", "line"),
    [
        (read_too_early, "race", "another block of the cluster", "cluster_load"),
        (gone_too_early, "race", "end", "cluster_load"),
    ],
)
def test_a_check_names_mistakes_in_clusters(function, kind, says, line):
    found = checked(function)
    text = " ".join(str(found).split())
    assert (found.kind, says in text) == (kind, True), text
    assert any(line in place.text for place, _ in found.places), text
    assert meaning.CLUSTER.get() == 1


def test_a_kernel_that_needs_clusters_fails_without():
    assert checked(swapped, cluster=1).kind == "out-of-bounds"


@pytest.mark.parametrize("cluster", [0, 9, 16, -2, 2.0, "2", None])
def test_a_check_refuses_sizes_of_clusters(cluster):
    if cluster is None:  # as if it were not there
        assert checked(swapped, cluster=None).kind == "out-of-bounds"
        return
    with pytest.raises(ValueError, match=r"swapped.*a cluster has 1 to 8 blocks"):
        checked(swapped, cluster=cluster)


def test_a_check_refuses_a_grid_that_clusters_do_not_fill():
    says = "the launch of size 1 has a grid of 2 blocks along x, in clusters of 4"
    with pytest.raises(ValueError, match=says):
        checked(swapped, cluster=4)


def test_a_launch_that_the_learner_chooses_is_a_verdict():
    def pairs(n):
        return n, 32

    found = weft.check(
        pairs,
        kernel=cuda.jit(swapped),
        spec=lambda x: x.reshape(-1, 2, 32)[:, ::-1].reshape(-1),
        inputs=lambda rng, n: rng.random(64 * n, np.float32),
        sizes=[1, 3, 2],
        cluster=2,
    )
    assert found.kind == "launch"
    assert "a grid of 1 block along x, in clusters of 2" in " ".join(
        str(found).lower().split()
    )


def test_a_full_size_is_launched_in_clusters():
    torch = pytest.importorskip("torch")
    signature = "void(float32[::1], float32[::1])"
    exercise = KernelExercise(
        written_by_learner=cuda.jit(signature)(swapped),
        spec=lambda x: x.reshape(-1, 2, 32)[:, ::-1].reshape(-1),
        inputs=lambda rng, n: rng.random(64 * n, np.float32),
        sizes=[3],
        launch=lambda n: (2 * n, 32),
        cluster=2,
    )
    trial = configure(exercise, exercise.case(3))
    given = [torch.from_numpy(v) for v in (*trial.case.inputs, *trial.fresh())]
    full_size.launch(trial, given)
    assert np.array_equal(given[-1].numpy(), trial.case.expected[0].astype(np.float32))


# The two halves of the barrier; stores and atomics in another block

ARRIVE, WAIT = "    cluster_arrive()\n", "    cluster_wait()\n"
FIRST_WAIT = "# meanwhile\n" + WAIT
LAST_PAIR = "rank())\n" + ARRIVE + WAIT


def split(source, *changes, backwards=False):
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    kernel = compiled(changed(source, *changes))
    found = verdict(kernel, (4, 64), (x, out), 2, backwards)
    return found, x.reshape(2, 2, 64), out.reshape(2, 2, 64)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    ("source", "wanted", "changes"),
    [
        (SPLIT, lambda x: 2 * x + x[:, ::-1, ::-1], []),
        (SPLIT, lambda x: 2 * x + x[:, ::-1, ::-1],  # halves, and a whole barrier
         [(FIRST_WAIT, "# meanwhile\n" + WAIT),
          (LAST_PAIR, "rank())\n    cluster_sync()\n")]),
        (SPLIT, lambda x: 2 * x + x[:, ::-1, ::-1],  # some warps in one, some in two
         [(LAST_PAIR, "rank())\n    if t < 32:\n        cluster_sync()\n    else:\n"
           "        cluster_arrive()\n        cluster_wait()\n")]),
        (TWICE, lambda x: 3 * x[:, ::-1] + 3, []),
        (GIVEN_AWAY, lambda x: x[:, ::-1, ::-1], []),
    ],
)  # fmt: skip
def test_halves_of_a_barrier_are_right(source, wanted, changes, backwards):
    found, x, out = split(source, *changes, backwards=backwards)
    assert found is None, str(found)
    assert np.array_equal(out, wanted(x))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    ("source", "kind", "says", "line", "changes"),
    [
        (SPLIT, "race", "in another block of the cluster", "cluster_load",
         [(ARRIVE, ARRIVE.replace("()", "_relaxed()"))]),
        (SPLIT, "race", "in another block of the cluster", "cluster_load",
         [("    part[t] = x[i]\n" + ARRIVE, ARRIVE + "    part[t] = x[i]\n")]),
        (SPLIT, "race", "in another block of the cluster", "cluster_load",
         [(FIRST_WAIT, "# meanwhile\n"),
          ("rank())\n" + ARRIVE, "rank())\n" + WAIT + ARRIVE),
          ("    part[t] =", "    cluster_sync()\n    part[t] =")]),
        (SPLIT, "race", "in another block of the cluster", "cluster_load",
         [(FIRST_WAIT, FIRST_WAIT + "    part[t] = float32(0)\n")]),
        (SPLIT, "race", "end", "cluster_load", [(LAST_PAIR, "rank())\n")]),
        (SPLIT, "race", "end", "cluster_load", [(LAST_PAIR, "rank())\n" + ARRIVE)]),
        (SPLIT, "race", "end", "cluster_load",
         [(LAST_PAIR, LAST_PAIR.replace("arrive()", "arrive_relaxed()"))]),
        (SPLIT, "barrier", "this thread has not arrived there", "cluster_wait",
         [(ARRIVE, "")]),
        (SPLIT, "barrier", "has arrived already", "cluster_arrive",
         [(FIRST_WAIT, "# meanwhile\n" + ARRIVE + WAIT)]),
        (SPLIT, "barrier", "has arrived already", "cluster_sync",
         [(FIRST_WAIT, "# meanwhile\n    cluster_sync()\n")]),
        (SPLIT, "barrier", "waits for thread 32 of block", "cluster_wait",
         [(ARRIVE, "    if t < 32:\n        cluster_arrive()\n"),
          (FIRST_WAIT, "# meanwhile\n    if t < 32:\n        cluster_wait()\n"
           "    cuda.syncthreads()\n")]),
        (SPLIT, "barrier", "Other lanes of this warp", "cluster_arrive",
         [(ARRIVE, "    if t % 2:\n        cluster_arrive()\n    else:\n"
           "        cluster_arrive()\n")]),
        (TWICE, "race", "in another block of the cluster", "part[t] =",
         [("rank())\n        cluster_arrive()\n", "rank())\n"
           "        cluster_arrive_relaxed()\n")]),
        (GIVEN_AWAY, "race", "in another block of the cluster", "cluster_store",
         [("    cluster_sync()\n", "    cuda.syncthreads()\n")]),
        (GIVEN_AWAY, "race", "has not begun", "cluster_store",
         [("    cluster_arrive_relaxed()\n    cluster_wait()\n", "")]),
        (GIVEN_AWAY, "race", "in another block of the cluster", "cluster_store",
         [("    cluster_arrive_relaxed()", "    part[t] = 0\n"
           "    cluster_arrive_relaxed()")]),
        (GIVEN_AWAY, "out-of-bounds", "names block 2 of a cluster of 2",
         "cluster_store", [("1 - cluster_rank()", "1 + cluster_rank()")]),
        (GIVEN_AWAY, "out-of-bounds", "part has 64 elements", "cluster_store",
         [("63 - t", "64 - t")]),
    ],
)  # fmt: skip
def test_mistakes_with_halves_are_named(source, kind, says, line, changes, backwards):
    found, *_ = split(source, *changes, backwards=backwards)
    text = " ".join(str(found).split())
    assert found is not None, "it is accepted"
    assert (found.kind, says in text) == (kind, True), text
    assert any(line in place.text for place, _ in found.places), text


@pytest.mark.parametrize("backwards", [False, True])
def test_atomics_in_another_block(backwards):
    found, x, out = split(COUNTED, backwards=backwards)
    assert found is None, str(found)
    # of each cluster: bins of block 0 and of block 1, and the sum of both blocks
    held = out.reshape(-1)
    for k in range(2):
        base = 256 // 2 * k
        assert held[base : base + 4].tolist() == [32, 0, 32, 0]
        assert held[base + 64 : base + 68].tolist() == [0, 32, 0, 32]
        assert held[base + 4] == x[k].sum()


@pytest.mark.parametrize(
    "change",
    [
        ("    cluster_sync()\n    if t < 4:\n        out",
         "    if t < 4:\n        out"),
        ("cluster_atomic_add(sums, 0, 0, x[i])",
         "cluster_store(sums, 0, 0, cluster_load(sums, 0, 0) + x[i])"),
    ],
)  # fmt: skip
def test_atomics_in_another_block_race_with_other_accesses(change):
    found, *_ = split(COUNTED, change)
    assert found.kind == "race", str(found)


def test_atomics_of_another_type_are_refused():
    found, *_ = split(COUNTED, ("cluster_atomic_add(sums", "cluster_atomic_add(bins"))
    assert "adds float32, and this is an array of int32" in str(found)


@pytest.mark.parametrize("relaxed", ["", "_relaxed"])
def test_without_clusters_the_halves_are_a_barrier_of_the_block(relaxed):
    source = f"""
@cuda.jit
def turned(x, out):
    part = cuda.shared.array(64, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i]
    cluster_arrive{relaxed}()
    cluster_wait()
    out[i] = part[63 - t]
"""
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    found = verdict(compiled(source), (4, 64), (x, out), 1)
    assert (None if found is None else found.kind) == ("race" if relaxed else None)
    assert np.array_equal(out.reshape(4, 64), x.reshape(4, 64)[:, ::-1])

"""Functions that several ranks run: the model, its sentences, and real processes."""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from verification.cells import checks, run, scope_of  # noqa: E402
from weft import check, ranks  # noqa: E402
from weft.bench import results  # noqa: E402
from weft.checking.verdict import Verdict  # noqa: E402
from weft.ranks import processes  # noqa: E402
from weft.ranks.measurement import Log, Measured, Samples  # noqa: E402
from weft.ranks.processes import awaited, is_own  # noqa: E402
from weft.ranks.world import World  # noqa: E402

CHAPTERS = Path(__file__).parents[1] / "chapters"


def added(function, p=(2, 3), result="x", **options) -> Verdict:
    """Check a function that should leave the sum of all ranks' vectors in x."""
    return check(
        function,
        spec=lambda given: [sum(own[0] for own in given)] * len(given),
        inputs=lambda rng, size, n: [(rng.standard_normal(n),) for _ in range(size)],
        sizes=[6],
        ranks=p,
        result=result,
        **options,
    )


def both(dist, given, came):
    """Begin to send to the next rank and to receive from the previous: one group."""
    rank, size = dist.get_rank(), dist.get_world_size()
    return dist.batch_isend_irecv(
        [
            dist.P2POp(dist.isend, given, (rank + 1) % size),
            dist.P2POp(dist.irecv, came, (rank - 1) % size),
        ]
    )


def passed_on(dist, x):
    """Pass all vectors around the ring and add."""
    own = x.clone()
    for _ in range(dist.get_world_size() - 1):
        came = torch.empty_like(x)
        for work in both(dist, own, came):
            work.wait()
        x += came
        own = came


def line_of(verdict: Verdict) -> str:
    return verdict.places[0][0].text


def test_a_right_function_passes_and_says_what_it_cost():
    verdict = added(
        passed_on,
        limits={"steps": lambda p, n: p - 1, "sent": lambda p, n: (p - 1) * n * 8},
    )
    assert verdict.kind == "pass", verdict
    assert "with no deadlock" in repr(verdict)
    assert "bytes sent by the busiest rank" in repr(verdict)


def test_a_parameter_with_too_few_values_is_named():
    def shortened(dist, x):
        dist.all_reduce(x.pop())

    verdict = check(
        shortened,
        spec=lambda given: [own[0] for own in given],
        inputs=lambda rng, size, n: [([rng.random(n), rng.random(1)],)] * size,
        sizes=[6],
        ranks=(2,),
        result="x",
    )
    assert verdict.kind == "shape"
    assert verdict.message == "x holds 1 value, not 2."


def test_the_same_run_has_the_same_verdict():
    def late(dist, x):
        if dist.get_rank() == 0:
            dist.recv(x, 1)

    assert repr(added(late)) == repr(added(late))


# What goes wrong between ranks


def test_everyone_sends_first():
    def send_first(dist, x):
        rank, size = dist.get_rank(), dist.get_world_size()
        dist.send(x, (rank + 1) % size)
        dist.recv(x, (rank - 1) % size)

    verdict = added(send_first)
    assert verdict.kind == "deadlock"
    assert "rank 0 sends to 1, rank 1 sends to 0" in verdict.message
    assert line_of(verdict).startswith("dist.send")


def test_a_line_of_another_function_is_named():
    def send_on(dist, x):
        dist.send(x, 1 - dist.get_rank())

    def relayed(dist, x):
        send_on(dist, x)

    verdict = added(relayed, p=(2,))
    assert verdict.places[0][1] == "in `send_on`, ranks 0 and 1"


def test_everyone_receives_first():
    def receive_first(dist, x):
        dist.recv(x, (dist.get_rank() + 1) % dist.get_world_size())

    verdict = added(receive_first)
    assert verdict.kind == "deadlock"
    assert "waits for its `recv`" in verdict.message
    assert "Which rank sends the first" in verdict.why


def test_a_partner_that_has_returned():
    def gone(dist, x):
        if dist.get_rank() == 0:
            dist.recv(x, 1)

    verdict = added(gone)
    assert verdict.kind == "deadlock"
    assert "Rank 0 waits for a message from rank 1, which has returned" in (
        verdict.message
    )


def test_a_collective_that_one_rank_leaves_out():
    def some(dist, x):
        if dist.get_rank() != 1:
            dist.all_reduce(x)

    verdict = added(some, p=(3,))
    assert verdict.kind == "deadlock"
    assert "Ranks 0 and 2 wait in `all_reduce`, and rank 1 does not" in verdict.message


def test_collectives_that_differ():
    def differ(dist, x):
        if dist.get_rank():
            dist.broadcast(x, 0)
        else:
            dist.all_reduce(x)

    def shorter(dist, x):
        dist.all_reduce(x[dist.get_rank() :])

    verdict = added(differ)
    assert verdict.kind == "collective"
    assert "`all_reduce`" in verdict.message
    assert "`broadcast`" in verdict.message
    verdict = added(shorter)
    assert verdict.kind == "collective"
    assert "6 numbers of float64" in verdict.message
    assert "5 numbers of float64" in verdict.message


def test_messages_that_differ():
    def shorter(dist, x):
        if dist.get_rank() == 0:
            dist.send(x[1:], 1)
        elif dist.get_rank() == 1:
            dist.recv(x, 0)

    verdict = added(shorter)
    assert verdict.kind == "message"
    assert "sends 5 numbers to rank 1, which has room for 6" in verdict.message
    assert len(verdict.places) == 2


def test_a_rank_that_does_not_exist():
    def beyond(dist, x):
        dist.isend(x, dist.get_rank() + 1).wait()

    verdict = added(beyond)
    assert verdict.kind == "message"
    assert "the ranks are 0 to 1" in verdict.message
    assert "Does that rank exist?" in verdict.why


def test_messages_are_contiguous():
    def halves(dist, x, copied):
        """Add the even elements of the other rank, then the odd ones."""
        for part in (x[::2], x[1::2]):
            given = part.contiguous() if copied else part
            came = torch.empty_like(given)
            for work in both(dist, given, came):
                work.wait()
            part += came

    verdict = added(lambda dist, x: halves(dist, x, copied=True), p=(2,), unseen=False)
    assert verdict.kind == "pass", verdict
    verdict = added(lambda dist, x: halves(dist, x, copied=False), p=(2,))
    assert verdict.kind == "message"
    assert "`isend` gets a tensor that is not contiguous" in verdict.message
    assert "NCCL warns once" in verdict.why


def test_collectives_are_contiguous():
    def gathered(dist, x):
        out = torch.empty(2 * (len(x) // 2), dtype=x.dtype)
        dist.all_gather_into_tensor(out, x[::2])

    verdict = added(gathered, p=(2,), unseen=False)
    assert verdict.kind == "collective"
    assert "all_gather_into_tensor` gets a tensor that is not" in verdict.message


def test_a_tensor_that_changes_while_it_is_sent():
    def hasty(dist, x):
        came = torch.empty_like(x)
        sending, receiving = both(dist, x, came)
        receiving.wait()
        x += came
        sending.wait()

    verdict = added(hasty)
    assert verdict.kind == "buffer"
    assert "changes the tensor that it is sending to rank" in verdict.message


def test_a_receive_that_is_read_too_early():
    def early(dist, x):
        came = torch.zeros_like(x)
        works = both(dist, x.clone(), came)
        x += came
        for work in works:
            work.wait()

    verdict = added(early)
    assert verdict.kind == "wrong-value"
    assert "until `wait` has returned" in verdict.why


def test_what_is_begun_and_never_finished():
    def forgotten(dist, x):
        both(dist, x.clone(), x)[1].wait()

    def alone_in_a_collective(dist, x):
        if dist.get_rank() == 0:
            dist.all_reduce(x, async_op=True)

    def alone(dist, x):
        if dist.get_rank() == 0:
            dist.isend(x, 1)

    verdict = added(forgotten)
    assert verdict.kind == "buffer"
    assert "never waits" in verdict.message
    verdict = added(alone_in_a_collective)
    assert verdict.kind == "buffer"
    assert "never waits for what `all_reduce` has begun" in verdict.message
    verdict = added(alone)
    assert verdict.kind == "deadlock"
    assert "never receives" in verdict.message


def test_calls_that_are_not_allowed_or_not_known():
    def by_library(dist, x):
        dist.all_reduce(x)

    def unknown(dist, x):
        dist.gather(x)

    def bits(dist, x):
        dist.all_reduce(x, dist.ReduceOp.BAND)

    verdict = added(bits)
    assert "has no ReduceOp.BAND; it has SUM" in verdict.message
    verdict = added(by_library, without=("all_reduce",))
    assert verdict.kind == "library"
    assert line_of(verdict) == "dist.all_reduce(x)"
    verdict = added(unknown)
    assert verdict.kind == "exception"
    assert "has no gather; it has" in verdict.message


def test_a_batch_takes_sides_of_messages():
    def works(dist, x):
        dist.batch_isend_irecv([dist.isend(x, 1 - dist.get_rank())])

    def blocking(dist, x):
        dist.batch_isend_irecv([dist.P2POp(dist.send, x, 1 - dist.get_rank())])

    verdict = added(works, p=(2,))
    assert "takes a list of dist.P2POp" in verdict.message
    verdict = added(blocking, p=(2,))
    assert "takes dist.isend or dist.irecv" in verdict.message


def test_an_error_names_its_rank():
    def fails(dist, x):
        if dist.get_rank() == 1:
            raise KeyError("b")
        dist.all_reduce(x)

    verdict = added(fails)
    assert verdict.kind == "exception"
    assert "KeyError" in verdict.message
    assert verdict.when.startswith("rank 1, with 2 ranks")


# What has led to a wrong value


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("train_step/wrong_mean_of_means", "the ranks' means are averaged"),
        ("train_step/wrong_sum", "divided by nothing"),
        ("train_step/wrong_own_rows", "divided by this rank's rows, times"),
        ("train_step/wrong_no_communication", "only this rank's rows have an effect"),
        ("train_step/wrong_new_weights", "weights[0] still has its first values"),
        ("train_step/wrong_replaces", "weights[0] is right, but it is another tensor"),
        ("parallel_mlp/wrong_bias_p_times", "every rank adds b2 before the sum"),
        ("parallel_mlp/wrong_no_sum", "a rank has only its own term"),
        ("parallel_mlp/wrong_average", "terms are averaged, and not added up"),
        ("sharded_step/wrong_sum", "their mean is needed"),
        ("sharded_step/wrong_own_rows_only", "only this rank's rows have an effect"),
        ("sharded_step/wrong_no_momentum", "neither used nor changed"),
        ("sharded_step/wrong_new_momentum", "state[1] still has its first values"),
        ("sharded_step/wrong_order_of_update", "by the old momentum"),
        ("tree_all_reduce/wrong_missing_partner", "Does that rank exist?"),
        ("tree_all_reduce/wrong_half_of_the_ranks", "has received nothing. Which rank"),
        ("tree_all_reduce/wrong_sends_again", "already sent the same tensor to rank 0"),
        ("shift/wrong_same_neighbour", "no send meets its receive"),
        ("ring_all_reduce/wrong_second_half_from_own", "it sends elements 0 to 5"),
        ("ring_all_reduce/wrong_adds_always", "the complete sum of elements 0 to 5"),
        ("ring_all_reduce/wrong_never_adds", "without its own numbers"),
        ("ring_all_reduce/wrong_same_chunk", "To which elements is the sum added?"),
        ("ring_all_reduce/wrong_first_half_only", "reach the other ranks?"),
        ("ring_all_reduce/wrong_longest_buffer", "5 numbers in `arrived`"),
        ("ring_all_reduce/wrong_chunk", "`chunks` has 3 parts here"),
        ("parallel_mlp/wrong_returns_none", "it changes `y` in place"),
        ("parallel_mlp/wrong_takes_what_it_returns", "it changes `y` in place"),
        ("parallel_mlp/wrong_gathers_the_terms", "is one term of a sum"),
        ("train_step/wrong_divides_by_ranks", "divided by the number of ranks, and"),
        ("train_step/wrong_divides_by_own_rows", "this rank's own number of rows"),
        ("train_step/wrong_divides_twice", "all rows and by the number of ranks"),
        ("train_step/wrong_means_not_weighted", "added up as they are, and divided"),
        (
            "train_step/wrong_keeps_the_parts",
            "rows count, divided by the number of all",
        ),
    ],
)
def test_a_verdict_says_what_has_led_to_it(file, said):
    source = CHAPTERS / "28_multi_gpu" / "answers" / f"{file}.py"
    scope = scope_of("28_multi_gpu")
    run(source.read_text(encoding="utf-8"), f"<{file}>", scope)
    verdict = run(checks("28_multi_gpu")[file.split("/")[0]], "<check>", scope)
    assert said in f"{verdict.message} {verdict.why}"


# The order of a rank's transfers


def in_turns(dist, x):
    """Add two ranks' vectors: rank 0 begins with the send, rank 1 with the receive."""
    rank, came = dist.get_rank(), torch.empty_like(x)
    if rank == 0:
        sending = dist.isend(x, 1)
        dist.recv(came, 1)
    else:
        receiving = dist.irecv(came, 0)
        sending = dist.isend(x, 0)
        receiving.wait()
    sending.wait()
    x += came


@pytest.mark.parametrize("p", [2, 3])
def test_a_receive_waits_for_the_send_that_was_begun_before_it(p):
    def one_by_one(dist, x):
        rank, size = dist.get_rank(), dist.get_world_size()
        came = torch.empty_like(x)
        sending = dist.isend(x, (rank + 1) % size)
        receiving = dist.irecv(came, (rank - 1) % size)
        sending.wait()
        receiving.wait()

    verdict = added(one_by_one, p=(p,))
    assert verdict.kind == "deadlock"
    assert verdict.message == (
        f"The ranks are stuck. On ranks {'0 and 1' if p == 2 else '0 to 2'}, the "
        "`irecv` cannot start until the `isend` is over, and the `isend` waits for "
        "another rank's `irecv`."
    )
    assert "begin both in one `dist.batch_isend_irecv`" in verdict.why
    assert [place.text[:12] for place, _ in verdict.places] == [
        "sending = di",
        "receiving = ",
    ]
    assert [note for _, note in verdict.places] == ["begun first", "has to wait"]


def test_the_order_counts_for_blocking_calls_and_for_batches_too():
    def blocking(dist, x):
        receiving = dist.irecv(torch.empty_like(x), 1 - dist.get_rank())
        dist.send(x, 1 - dist.get_rank())
        receiving.wait()

    def two_batches(dist, x):
        peer, came = 1 - dist.get_rank(), torch.empty_like(x)
        ops = [dist.P2POp(dist.isend, x, peer), dist.P2POp(dist.irecv, came, peer)]
        for work in [w for op in ops for w in dist.batch_isend_irecv([op])]:
            work.wait()

    def never_waits(dist, x):
        dist.isend(x, 1 - dist.get_rank())
        dist.irecv(torch.empty_like(x), 1 - dist.get_rank())

    verdict = added(blocking, p=(2,))
    assert "the `send` cannot start until the `irecv` is over" in verdict.message
    for function in (two_batches, never_waits):
        verdict = added(function, p=(2,))
        assert verdict.kind == "deadlock", verdict
        assert "the `irecv` cannot start until the `isend` is over" in verdict.message


def test_a_send_waits_for_a_send_to_another_rank():
    def relayed(dist, x):
        """Rank 1 does not receive before rank 2 has, which rank 0 serves last."""
        rank = dist.get_rank()
        if rank == 0:
            works = [dist.isend(x, 1), dist.isend(x, 2)]
            for work in works:
                work.wait()
            return
        came = torch.empty_like(x)
        if rank == 2:
            dist.recv(came, 0)
            dist.send(x, 1)
        else:
            dist.recv(came, 2)
            dist.recv(came, 0)

    verdict = added(relayed, p=(3,))
    assert verdict.message == (
        "The ranks are stuck. On rank 0, the `isend` to rank 2 cannot start until the "
        "`isend` to rank 1 is over."
    )


def test_a_deadlock_that_no_group_would_end_has_its_own_reason():
    def returned(dist, x):
        """Rank 1 receives nothing, and rank 2 waits for what comes after that."""
        rank = dist.get_rank()
        if rank == 0:
            dist.isend(x, 1)
            dist.send(x, 2)
        elif rank == 2:
            dist.recv(x, 0)

    def circle(dist, x):
        """Ranks 1 and 2 wait for each other; rank 0's receive is only late."""
        rank, came = dist.get_rank(), torch.empty_like(x)
        if rank == 0:
            dist.isend(x, 1)
            dist.recv(came, 1)
        elif rank == 1:
            dist.isend(x, 0)
            dist.recv(came, 2)
        else:
            dist.recv(came, 1)

    verdict = added(returned, p=(3,))
    assert "to rank 1, which has returned without receiving" in verdict.message
    verdict = added(circle, p=(3,))
    assert "rank 1 receives from 2, rank 2 receives from 1" in verdict.message


def test_a_collective_waits_for_the_message_that_was_begun_before_it():
    def crossed(dist, x):
        own = x.clone()
        if dist.get_rank() == 0:
            sending = dist.isend(own, 1)
            dist.all_reduce(x)
            sending.wait()
        else:
            dist.all_reduce(x)
            if dist.get_rank() == 1:
                dist.recv(own, 0)

    for p in (2, 3):
        verdict = added(crossed, p=(p,))
        assert verdict.kind == "deadlock"
        assert verdict.message == (
            "The ranks are stuck. On rank 0, the `all_reduce` cannot start until the "
            "`isend` is over."
        )
        assert "Begin them in the same order on every rank" in verdict.why


def test_a_message_waits_for_the_collective_that_was_begun_before_it():
    def crossed(dist, x):
        own = x.clone()
        if dist.get_rank() == 0:
            summing = dist.all_reduce(x, async_op=True)
            dist.send(own, 1)
            summing.wait()
        else:
            dist.recv(own, 0)
            dist.all_reduce(x)

    verdict = added(crossed, p=(2,))
    assert verdict.kind == "deadlock"
    assert "the `send` cannot start until the `all_reduce` is over" in verdict.message
    assert [note for _, note in verdict.places] == ["begun first", "has to wait"]


def test_messages_and_collectives_in_the_same_order():
    def in_order(dist, x):
        own, came = x.clone(), torch.empty_like(x)
        works = both(dist, own, came)
        summing = dist.all_reduce(x, async_op=True)
        works += both(dist, own, torch.empty_like(x))
        for work in [*works, summing]:
            work.wait()

    verdict = added(in_order, p=(2,), unseen=False, limits={"steps": 4})
    assert verdict.kind == "pass", verdict
    assert "4 steps" in verdict.facts


def test_transfers_of_two_ranks_in_matching_order_take_a_step_each():
    verdict = added(in_turns, p=(2,), unseen=False, limits={"steps": 2})
    assert verdict.kind == "pass", verdict
    assert "2 steps" in verdict.facts
    verdict = added(in_turns, p=(2,), unseen=False, limits={"steps": 1})
    assert "ends after 2 steps, and 1 will do" in verdict.message
    assert "both in one `batch_isend_irecv`" in verdict.why


def test_a_group_starts_when_the_one_before_it_is_over():
    def two_groups(dist, x):
        came = torch.empty(2, len(x), dtype=x.dtype)
        for work in [w for k in range(2) for w in both(dist, x, came[k])]:
            work.wait()
        x += came[1]

    drawn = ranks.timeline(two_groups, vectors(2))
    assert [(t.start, t.end) for t in drawn.transfers] == [(0, 1)] * 2 + [(1, 2)] * 2


def test_a_group_moves_one_message_at_a_time_in_each_direction():
    def two_of_each(dist, x):
        peer, came = 1 - dist.get_rank(), torch.empty(2, len(x), dtype=x.dtype)
        ops = [dist.P2POp(dist.isend, x, peer)] * 2
        ops += [dist.P2POp(dist.irecv, part, peer) for part in came]
        for work in dist.batch_isend_irecv(ops):
            work.wait()

    drawn = ranks.timeline(two_of_each, vectors(2))
    assert drawn.steps == 2
    assert drawn.sent == (2000,) * 2


def test_the_list_of_a_batch_belongs_to_the_caller():
    def collects(dist, x):
        came = torch.empty(2, len(x), dtype=x.dtype)
        works = both(dist, x.clone(), came[0])
        works += both(dist, x.clone(), came[1])
        while works:
            works.pop().wait()
        x += came[0]

    verdict = added(collects, p=(2,), unseen=False, limits={"steps": 2})
    assert verdict.kind == "pass", verdict
    assert "2 steps" in verdict.facts


def test_an_empty_batch_begins_nothing():
    def ends(dist, x):
        assert dist.batch_isend_irecv([]) == []
        passed_on(dist, x)

    assert added(ends).kind == "pass"


# What a run costs


def star(dist, x):
    """Send everything to rank 0, which sends the sum back."""
    if dist.get_rank():
        dist.send(x, 0)
        dist.recv(x, 0)
        return
    came = torch.empty_like(x)
    for other in range(1, dist.get_world_size()):
        dist.recv(came, other)
        x += came
    for other in range(1, dist.get_world_size()):
        dist.send(x, other)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"steps": 3}, "ends after 4 steps, and 3 will do"),
        ({"sent": lambda p, n: n * 8}, "Rank 0 sends 96 bytes, and 48 will do"),
    ],
)
def test_limits(limits, said):
    verdict = added(star, p=(3,), unseen=False, limits=limits)
    assert verdict.kind in limits
    assert said in verdict.message


def test_a_limit_of_collectives():
    def twice(dist, x):
        dist.all_reduce(x)
        y = x.clone()
        dist.all_reduce(y)

    verdict = added(twice, limits={"collectives": 1})
    assert verdict.kind == "collectives"
    assert "2 collectives" in verdict.message


def test_time_is_latency_and_bandwidth():
    from weft.ranks.model import Distributed

    world = World(2, latency=3.0, bandwidth=8.0)
    a, b = torch.ones(4), torch.zeros(4)
    world.run(
        [
            lambda: Distributed(world, 0, {}).send(a, 1),
            lambda: Distributed(world, 1, {}).recv(b, 0),
        ]
    )
    assert world.clock == [3 + 16 / 8] * 2
    assert world.sent == [16, 0]
    assert world.received == [0, 16]
    assert b.tolist() == a.tolist()


def test_collectives_give_what_pytorch_gives():
    def several(dist, x):
        rank, size = dist.get_rank(), dist.get_world_size()
        whole, part = x.new_empty(6 * size), x.new_empty(6)
        dist.all_gather_into_tensor(whole, x)
        dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG)
        most = x.clone()
        dist.all_reduce(most, dist.ReduceOp.MAX)
        dist.broadcast(most, size - 1)
        dist.barrier()
        assert torch.allclose(part, whole[6 * rank : 6 * rank + 6])
        x.copy_(whole.view(size, 6).sum(0))

    verdict = added(several)
    assert verdict.kind == "pass", verdict


# Pictures


def vectors(size):
    return [(np.ones(250, np.float32),) for _ in range(size)]


def test_a_timeline_shows_every_message():
    drawn = ranks.timeline(passed_on, vectors(3))
    assert drawn.steps == 2
    assert drawn.sent == (2000,) * 3
    lines = repr(drawn).splitlines()
    assert lines[0].split() == ["step", "1", "step", "2", "sent"]
    assert lines[3].count("1.00 kB → 0") == 2
    html = drawn._repr_html_()
    assert html.count("1.00 kB → 0") == 2
    assert "currentColor" in html


def test_a_timeline_shows_where_a_run_stops():
    def half(dist, x):
        rank, size = dist.get_rank(), dist.get_world_size()
        if rank == 0:
            dist.send(x, 1)
        elif rank == 1:
            dist.recv(x, 0)
        dist.recv(x, (rank + 1) % size)

    drawn = ranks.timeline(half, vectors(2))
    assert "1.00 kB → 1" in repr(drawn)
    assert "waits for its `recv`" in repr(drawn)
    assert "waits for its" in drawn._repr_html_()


# Real processes


def test_what_is_the_learners_own_file():
    import threading

    assert not is_own(threading.__file__)
    assert not is_own(torch.__file__)
    assert not is_own(World.__init__.__code__.co_filename)
    assert not is_own("<frozen runpy>")
    assert is_own("/tmp/ipykernel_4/77.py")
    assert is_own(__file__)


def test_the_backend_is_one_that_the_machine_can_use():
    with pytest.raises(ValueError, match="there are 'gloo' and 'nccl'"):
        ranks.launch(passed_on, vectors(2), "mpi")
    if torch.cuda.device_count() < 9:
        with pytest.raises(ValueError, match="NCCL needs a GPU per rank"):
            ranks.launch(passed_on, vectors(9), "nccl")


def test_two_processes_and_one_that_never_ends(monkeypatch, tmp_path):
    """Both add up by gloo; then rank 0 stays, and its time runs out."""

    def run(dist, flag):
        x = torch.full((3,), 1.0 + dist.get_rank())
        passed_on(dist, x)
        if x.tolist() == [3.0] * 3 and dist.get_rank() == 0:
            stay(flag)

    def stay(flag):
        Path(flag).touch()
        while True:
            time.sleep(0.05)

    def after_the_start(workers, seconds):
        while not flag.exists() and all(w.poll() is None for w in workers):
            time.sleep(0.05)
        return awaited(workers, 0.2)

    flag = tmp_path / "flag"
    monkeypatch.setattr(processes, "awaited", after_the_start)
    with pytest.raises(ranks.RanksFailed) as caught:
        ranks.launch(run, [(str(flag),)] * 2, seconds=60)
    message = str(caught.value)
    assert "did not end within 60 seconds" in message
    assert "Rank 0 was in `stay`, line" in message


def test_a_process_has_the_surroundings_of_the_notebook(monkeypatch, tmp_path):
    """Also if what it is forked from was started before these changed."""

    def found(dist):
        return os.getcwd(), os.environ["LATE"], sys.path[0], np.random.random()

    processes.start_early()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LATE", "yes")
    monkeypatch.syspath_prepend(tmp_path / "new")
    one, other = ranks.launch(found, [()] * 2)
    assert one[:3] == other[:3] == (str(tmp_path), "yes", str(tmp_path / "new"))
    assert one[3] != other[3]


def test_a_process_that_ends_without_a_result():
    with pytest.raises(ranks.RanksFailed, match="Rank 0 ended with exit status"):
        ranks.launch(lambda dist: os._exit(3), [()])


# Measurements


def row_of(table, name):
    return next(row for row in table.rows if row.name == name)


def measure(dist, log):
    raise AssertionError("nothing is launched without enough GPUs")


def test_without_gpus_the_records_are_shown(monkeypatch, tmp_path, capsys):
    rows = [
        {"case": "sum", "name": "NCCL", "ms": 2.0, "baseline": "NCCL", "ratio": 1.0},
        {"case": "sum", "name": "mine", "ms": 1.0, "baseline": "NCCL", "ratio": 2.0},
        {"case": "memory", "name": "mine", "value": 3.5, "unit": "GB"},
    ]
    data = {"device": {"name": "NVIDIA H200"}, "rows": rows}
    (tmp_path / "28_multi_gpu.nvidia-h200.json").write_text(json.dumps(data))
    monkeypatch.setattr(results, "folder", lambda: tmp_path)
    monkeypatch.setattr("weft.lesson._current", "28_multi_gpu")
    two = ranks.measured(measure, ranks=99)
    table = two.compare("sum", baseline="NCCL", guess={"mine": 1.5})
    assert row_of(table, "mine").ratio == 2.0
    assert two.missing in table.source
    assert two.values("memory", "GB") == {"mine": 3.5}
    assert "3.5 GB" in capsys.readouterr().out


def test_with_one_gpu_the_table_says_how_many_it_takes(monkeypatch):
    class Gpu:
        usable = True

    monkeypatch.setattr("weft.ranks.measurement.device.find", Gpu)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    two = ranks.measured(measure)
    assert two.missing == "This takes 2 GPUs, one for each rank, and here is 1"
    assert two.compare("no such case").rows == ()


def test_measured_samples_become_a_table(monkeypatch):
    monkeypatch.setattr(Measured, "missing", "")
    launched = []

    def launch(function, given, backend, seconds):
        launched.append(backend)
        log = Log(None)
        log.times["sum"] = {"NCCL": [2.0, 2.0, 2.2], "mine": [1.0, 1.0, 1.2]}
        log.value("memory", "mine", 3.456)
        return [log, None]

    monkeypatch.setattr("weft.ranks.measurement.launch", launch)
    monkeypatch.setattr("weft.lesson._current", None)
    two = ranks.measured(measure)
    table = two.compare("sum", baseline="NCCL", bytes=1e6)
    assert row_of(table, "mine").ratio == pytest.approx(2.0)
    assert row_of(table, "mine").rate == pytest.approx(1e9)
    assert two.values("memory", "GB") == {"mine": 3.46}
    assert launched == ["nccl"], "one launch serves all tables"


def test_samples_are_handed_out_in_turns():
    watch = Samples()

    def three():
        return [1.0, 2.0, 3.0]

    assert [watch.once(three, 0).ms for _ in range(4)] == [1, 2, 3, 1]

"""The model of CUDA graphs and streams, and checks of functions that capture a step."""

import pytest

import weft  # noqa: F401  before Numba

torch = pytest.importorskip("torch")

from weft import check  # noqa: E402  isort: skip
from weft.captures.model import Model  # noqa: E402  isort: skip


def model():
    return Model(lambda: None, [])


def test_a_capture_computes_nothing_and_a_replay_does():
    x, total = torch.ones(3), torch.zeros(3)
    here = model()
    with here.in_place():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            twice = 2 * x
            total += twice
        assert total.tolist() == [0, 0, 0]
        assert twice.isnan().all()
        graph.replay()
        x.fill_(5)
        graph.replay()
    assert twice.tolist() == [10, 10, 10]
    assert total.tolist() == [12, 12, 12]
    assert not here.conflicts


def test_a_replay_before_a_capture_is_an_error():
    with model().in_place(), pytest.raises(RuntimeError, match="preceding capture"):
        torch.cuda.CUDAGraph().replay()


def test_a_capture_within_another_is_an_error():
    with model().in_place():
        first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(torch.cuda.Stream()):
            first.capture_begin()
            with pytest.raises(RuntimeError, match="is capturing"):
                second.capture_begin()


def test_a_capture_on_the_default_stream_is_an_error():
    with model().in_place(), pytest.raises(RuntimeError, match="non-default stream"):
        torch.cuda.CUDAGraph().capture_begin()


def test_gradients_of_a_capture_are_computed_by_each_replay():
    weight, x = torch.ones(2, requires_grad=True), torch.tensor([1.0, 2.0])
    with model().in_place():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            weight.grad = None
            (weight * x).sum().backward()
        for factor in (1, 3):
            x.mul_(factor)
            graph.replay()
    assert weight.grad.tolist() == [3, 6]


def launched(*waits):
    """The conflicts of work on two streams, with some of the waits between them."""
    here = model()
    with here.in_place():
        x = torch.ones(3)
        side = torch.cuda.Stream()
        if "there" in waits:
            side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            x += 1
        if "back" in waits:
            torch.cuda.current_stream().wait_stream(side)
        if "event" in waits:
            event = torch.cuda.Event()
            event.record(side)
            event.wait()
        if "host" in waits:
            torch.cuda.synchronize()
        if "stream" in waits:
            side.synchronize()
        x.mul_(2)
    return len(here.conflicts)


@pytest.mark.parametrize(
    ("waits", "conflicts"),
    [
        ([], 2),
        (["there"], 1),
        (["back"], 1),
        (["there", "back"], 0),
        (["there", "event"], 0),
        (["there", "host"], 0),
        (["there", "stream"], 0),
    ],
)
def test_two_streams_are_ordered_by_waits_alone(waits, conflicts):
    assert launched(*waits) == conflicts


def test_two_streams_may_read_the_same_memory():
    here = model()
    with here.in_place():
        x = torch.ones(3)
        torch.cuda.synchronize()
        for _ in range(2):
            with torch.cuda.stream(torch.cuda.Stream()):
                x.sum()
    assert not here.conflicts


def test_a_view_touches_nothing():
    here = model()
    with here.in_place():
        x = torch.ones(3, 3)
        with torch.cuda.stream(torch.cuda.Stream()):
            x.t()[1:]
    assert not here.conflicts


def test_the_model_leaves_torch_as_it_was():
    before = torch.cuda.CUDAGraph, torch.cuda.Stream, torch.cuda.graph
    with pytest.raises(ZeroDivisionError), model().in_place():
        raise ZeroDivisionError
    assert (torch.cuda.CUDAGraph, torch.cuda.Stream, torch.cuda.graph) == before


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def judged(graphed):
    """The verdict on a function that captures a step without an optimiser."""

    def made(device):
        total = torch.zeros(2)

        def step(x):
            total.add_(x)
            return total.sum()

        return step, [total]

    return check(
        graphed,
        captured=True,
        made=made,
        inputs=lambda rng, steps: (rng.standard_normal((steps, 2)),),
        sizes=[3],
        unseen=False,
    )


def test_a_step_that_keeps_nothing_needs_no_warm_up_here():
    def graphed(step, x):
        held, graph = x.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step(held)

        def replay(x):
            held.copy_(x)
            graph.replay()
            return loss.clone()

        return replay

    assert judged(graphed)


def captures(step, x):
    """Capture a step; return a function that replays it."""
    held, graph = x.clone(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(held)

    def replay(x):
        held.copy_(x)
        graph.replay()
        return loss

    return replay


def test_the_line_that_returns_the_loss_is_named():
    verdict = judged(captures)
    assert verdict.kind == "alias", verdict
    assert [place.text for place, _ in verdict.places] == ["return loss"]


def test_the_line_that_clones_the_loss_in_the_graph_is_named():
    def graphed(step, x):
        held, graph = x.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step(held).clone()

        def replay(x):
            held.copy_(x)
            graph.replay()
            return loss

        return replay

    verdict = judged(graphed)
    assert verdict.kind == "alias", verdict
    assert "part of the graph" in verdict.why
    assert verdict.places[0][0].text == "loss = step(held).clone()"


@pytest.mark.parametrize("first", ["the batch", "zeros"])
def test_a_step_before_the_capture_is_on_the_first_batch(first):
    def graphed(step, x):
        held, graph = torch.zeros_like(x), torch.cuda.CUDAGraph()
        if first == "the batch":
            held.copy_(x)
        step(held)
        with torch.cuda.graph(graph):
            loss = step(held)

        def replay(x):
            held.copy_(x)
            graph.replay()
            return loss.clone()

        return replay

    verdict = judged(graphed)
    if first == "the batch":
        assert verdict, verdict
        return
    assert verdict.kind == "wrong-value", verdict
    assert "not those of the first batch" in verdict.message
    assert [place.text for place, _ in verdict.places] == ["step(held)"]


def test_the_line_that_captures_is_named_and_not_the_def():
    def as_graph(step, x):
        def replay(x):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                loss = step(x)
            graph.replay()
            return loss.clone()

        return replay

    verdict = judged(as_graph)
    assert "captured a step for each" in verdict.message, verdict
    texts = [place.text for place, _ in verdict.places]
    assert texts == ["with torch.cuda.graph(graph):"]


def captures_each_time(step, x):
    """Return a function that captures and replays."""

    def replay(x):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step(x)
        graph.replay()
        return loss.clone()

    return replay


def replays_once_more(step, x):
    """Replay once, and return a function that replays."""
    held, graph = x.clone(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(held)
    step(held)
    graph.replay()

    def replay(x):
        held.copy_(x)
        graph.replay()
        return loss.clone()

    return replay


@pytest.mark.parametrize("copied", ["at once", "before each replay", "never"])
def test_a_tensor_is_filled_before_anything_but_a_capture_reads_it(copied):
    def graphed(step, x):
        held, graph = torch.empty_like(x), torch.cuda.CUDAGraph()
        if copied == "at once":
            held.copy_(x)
            step(held)
        with torch.cuda.graph(graph):
            loss = step(held)

        def replay(x):
            if copied != "never":
                held.copy_(x)
            graph.replay()
            return loss.clone()

        return replay

    verdict = judged(graphed)
    if copied != "never":
        assert verdict, verdict
        return
    assert verdict.kind == "uninitialised"
    assert verdict.message.startswith("The replay reads a tensor that `empty_like`")
    texts = [place.text for place, _ in verdict.places]
    assert "torch.empty_like(x)" in texts[0]
    assert texts[1] == "graph.replay()"


def test_shapes_and_stores_are_no_reads():
    here = model()
    with here.in_place():
        x, y = torch.empty(3), torch.empty(3)
        torch.zeros_like(x)
        y[1:].fill_(2)
        torch.add(y, 1, out=x)
        (x + y).sum()
        assert not here.unfilled
        torch.empty(2) + 1
    assert [found.what for found in here.unfilled] == ["empty"]


@pytest.mark.parametrize(
    ("graphed", "kind", "says"),
    [
        (lambda step, x: step, "capture", "has not been called within"),
        (lambda step, x: None, "capture", "of the type NoneType"),
        (lambda step, x: 1 / 0, "exception", "ZeroDivisionError"),
        (captures_each_time, "capture", "captured a step for each"),
        (replays_once_more, "wrong-value", "replayed 4 times for 3 batches"),
    ],
)
def test_what_is_no_capture(graphed, kind, says):
    verdict = judged(graphed)
    assert verdict.kind == kind, verdict
    assert says in verdict.message, verdict


def test_another_thing_than_a_function():
    assert (
        "of the type int"
        in check(7, captured=True, made=1, inputs=1, sizes=[1]).message
    )

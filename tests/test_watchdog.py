"""Plain functions that wait for ever, that end Python, or that hide from the count."""

import sys
import threading
import time
from typing import Any

import pytest

import weft
from weft.checking import step_limit, watchdog
from weft.checking.verdict import Verdict

pytestmark = pytest.mark.skipif(
    not hasattr(__import__("signal"), "setitimer"), reason="no such signal here"
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)
    monkeypatch.setattr(step_limit.counted, "__defaults__", (None, None, 2))


def verdict(function: Any) -> Verdict:
    return weft.check(function, spec=lambda n: n + 1, inputs=[(1,)], unseen=False)


def sleeps(n):
    time.sleep(10**6)
    return n + 1


def joins(n):
    waiting = threading.Thread(target=threading.Event().wait, daemon=True)
    waiting.start()
    waiting.join()
    return n + 1


def sleeps_in_a_loop(n):
    while n:
        time.sleep(0.01)
    return n


@pytest.mark.parametrize(
    ("function", "line"),
    [
        (sleeps, "time.sleep(10**6)"),
        (joins, "waiting.join()"),
        (sleeps_in_a_loop, "while n:"),
    ],
)
def test_a_function_that_waits_for_ever_is_ended(function: Any, line: str) -> None:
    found = verdict(function)
    assert found.kind == "waiting", repr(found)
    assert [place.text for place, _ in found.places] == [line]
    assert "has done nothing for 2 seconds" in found.message


def stops_the_count(n):
    sys.settrace(None)
    while n:
        n += 1
    return n


def stops_it_again_and_again(n):
    while n:
        sys.settrace(None)
    return n


def keeps_everything(n):
    while n:
        try:
            n += 1
        except BaseException:
            n += 2
    return n


@pytest.mark.parametrize(
    "function", [stops_the_count, stops_it_again_and_again, keeps_everything]
)
def test_who_puts_an_end_to_the_count_is_counted_again(function: Any) -> None:
    before = sys.gettrace()
    if before is not None:
        pytest.skip("something else traces")
    found = verdict(function)
    assert found.kind == "endless-loop", repr(found)
    assert found.places[0][0].text == "while n:"
    assert sys.gettrace() is None


def leaves(n):
    sys.exit(3)


def interrupts(n):
    raise KeyboardInterrupt


def raises_its_own(n):
    class Mine(BaseException):
        pass

    raise Mine("here")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (leaves, "raises SystemExit: 3."),
        (interrupts, "raises KeyboardInterrupt."),
        (raises_its_own, "raises Mine: here."),
    ],
)
def test_what_ends_python_is_a_verdict(function: Any, said: str) -> None:
    found = verdict(function)
    assert found.kind == "exception"
    assert found.message.endswith(said)
    assert found.places


@pytest.mark.usefixtures("interruptible")
def test_stop_still_stops() -> None:
    import signal

    def stopped(n):
        signal.raise_signal(signal.SIGINT)
        return n + 1

    with pytest.raises(KeyboardInterrupt):
        verdict(stopped)


def test_a_timer_of_somebody_elses_is_left_alone() -> None:
    import signal

    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        assert not watchdog.available()
        assert verdict(lambda n: n + 1)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert watchdog.available()

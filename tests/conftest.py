"""Tests run in the simulator, so that they behave the same with and without a GPU.

WEFT_SIMULATOR=0 in the environment lets them use a GPU.
"""

import gc
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# Hundreds of processes import the same modules: let the first keep what it compiles.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

import pytest  # noqa: E402
import tiers  # noqa: E402
from hypothesis import settings  # noqa: E402

ROOT = Path(__file__).parents[1]
MOST_WORKERS = 8
CHAPTERS = sorted(
    path.parent.name for path in ROOT.glob("chapters/[0-9][0-9]_*/lab.py")
)
CHAPTER = re.compile(rf"(?<!\w)({'|'.join(CHAPTERS)})(?!\w)")

os.environ.setdefault("WEFT_SIMULATOR", "1")
# Each core has a worker: threads of PyTorch's own would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

# The same examples in each run; `--hypothesis-profile=default` draws others.
settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.load_profile("same")

# jsonschema, below nbformat, would spend seconds on a grammar for identifiers in URLs.
sys.modules.setdefault("rfc3987_syntax", None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of tests that run alone there are few: read no other files for them."""
    if config.option.markexpr != "alone" or collection_path.suffix != ".py":
        return None
    return "mark.alone" not in collection_path.read_text(encoding="utf-8") or None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--long", action="store_true", help="also the tests of the long tier"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.long:
        os.environ[tiers.LONG] = "1"


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the long tier, unless it is asked for; see CONTRIBUTING."""
    if config.option.long:
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_collection_finish() -> None:
    """Let the collector of garbage leave alone what all tests have in common."""
    gc.freeze()
    gc.set_threshold(50_000, 25, 25)


@pytest.fixture(autouse=True)
def every_kind_is_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test fail whose kernels have an expression of an unknown kind."""
    rewriting = sys.modules.get("weft.simulator.language.rewriting")
    if rewriting is None:
        yield
        return
    from unknown_kinds import unknown

    found: list[str] = []
    infer = rewriting.Function

    def watched(definition, *rest, **named):
        done = infer(definition, *rest, **named)
        found.extend(f"{definition.name}, {one}" for one in unknown(definition))
        return done

    monkeypatch.setattr(rewriting, "Function", watched)
    yield
    assert found == [], "expressions of an unknown kind"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt, which a shell's background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return how many tests `-n auto` runs at a time, to a point.

    It is two more than there are cores, for tests that wait for browsers or processes.
    """
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores + 2, MOST_WORKERS)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the tests of each chapter took; CONTRIBUTING has their budget."""
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            found = CHAPTER.search(getattr(report, "nodeid", ""))
            if found and getattr(report, "when", "") == "call":
                seconds[found[1]] += report.duration
                tests[found[1]] += 1
    if seconds:
        terminalreporter.section("seconds of one worker, by chapter")
        for chapter in sorted(tests):
            line = f"{seconds[chapter]:6.0f} s {tests[chapter]:5} tests  {chapter}"
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def compiled(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of what the compiler said; see compiled.py."""
    if hasattr(pytestconfig, "cache"):
        return pytestconfig.cache.mkdir("compiled")
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(autouse=True, scope="module")
def _compiler(request: pytest.FixtureRequest, compiled: Path) -> Iterator[None]:
    """Ask the compiler only for what it has not said yet, and give it all its time."""
    from compiled import PATIENCE, keep

    from weft import compiling

    asked_each_time = compiling.Worker
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "START", PATIENCE)
        patch.setattr(compiling, "PATIENCE", PATIENCE)
        patch.setattr(compiling, "_worker", None)
        if request.module.__name__ != "test_compiling":  # there it is asked each time
            patch.setattr(compiling, "Worker", keep(compiled))
        yield
        if isinstance(compiling._worker, asked_each_time):
            compiling._worker.end()


def pytest_sessionfinish() -> None:
    """End the compiler's process, which all modules have used."""
    if compiled := sys.modules.get("compiled"):
        compiled.end()

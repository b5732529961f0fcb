"""Tests run in the simulator, so that they behave the same with and without a GPU.

WEFT_SIMULATOR=0 in the environment lets them use a GPU.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

os.environ.setdefault("WEFT_SIMULATOR", "1")
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


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

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "START", PATIENCE)
        patch.setattr(compiling, "PATIENCE", PATIENCE)
        patch.setattr(compiling, "_worker", None)
        if request.module.__name__ != "test_compiling":  # there it is asked each time
            patch.setattr(compiling, "Worker", keep(compiled))
        yield
        if compiling._worker is not None:
            compiling._worker.end()

"""Tests run in the simulator, so that they behave the same with and without a GPU.

WEFT_SIMULATOR=0 in the environment lets them use a GPU.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

os.environ.setdefault("WEFT_SIMULATOR", "1")
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

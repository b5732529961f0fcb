"""The command line of install.py."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from installing import Stop, pins, updating

ROOT = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="install.py",
        description="Make .venv and install the packages that fit this machine.",
    )
    parser.add_argument("--dev", action="store_true", help="also what authors need")
    parser.add_argument("--pins", action="store_true", help="rewrite constraints.txt")
    parser.add_argument(
        "--repair", action="store_true", help="compare every file with its hash"
    )
    parser.add_argument(
        "--compile-later", action="store_true", help="leave bytecode to lab.py"
    )
    options = parser.parse_args(arguments)
    try:
        if options.pins:
            pins.write_pins(ROOT)
            return 0
        done = updating.install(
            ROOT, options.dev, options.repair, compiling=not options.compile_later
        )
        if options.repair and not done:
            print("Every file is the one that was installed.")
    except Stop as reason:
        print(f"\n{reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Run make again to go on from here.", file=sys.stderr)
        return 130
    return 0

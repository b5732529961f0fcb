"""The right build of torch, without downloading any other."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from installing import Stop, engines
from installing.builds import BUILDS

TORCH_WHEELS = "https://download.pytorch.org/whl/"


def torch_indexes(name: str) -> list[str]:
    """Where to look for the build, in this order; "" is what pip is set up to use."""
    if sys.platform == "darwin":
        return [""]
    if os.environ.get("TORCH_INDEX"):
        return [os.environ["TORCH_INDEX"]]
    official = TORCH_WHEELS + name
    return ["", official] if BUILDS[name].kind == "cu13" else [official, ""]


def kind_of(metadata: dict) -> str:
    """The kind of a torch wheel, from its metadata: cpu, cu12 or cu13."""
    local = metadata["version"].partition("+")[2]
    if local:
        return local[:4] if local.startswith("cu") else local
    needs = " ".join(metadata.get("requires_dist", []))
    if sys.platform == "darwin" or not re.search(r"\b(nvidia|cuda)-", needs):
        return "cpu"
    return "cu12" if "-cu12" in needs else "cu13"


def find_torch(python: Path, name: str, version: str) -> list[str]:
    """pip's arguments for the wanted build of torch, without downloading any."""
    seen = []
    for index in torch_indexes(name):
        where = ["--index-url", index] if index else []
        wanted = [*where, f"torch=={version}"]
        found = engines.ask_pip(python, wanted)
        kind = kind_of(found["metadata"]) if found else ""
        if kind == BUILDS[name].kind:
            url = found["download_info"]["url"]
            return [url] if url.startswith("file:") else wanted
        seen.append((index or "pip's package index", kind))

    answers = "\n".join(
        "  {}: {}".format(
            index, f"has the {kind} build" if kind else "no answer, or no such version"
        )
        for index, kind in seen
    )
    raise Stop(
        f"No {BUILDS[name].kind} build of torch {version} was found:\n{answers}\n"
        "Nothing has been installed. Let this machine reach download.pytorch.org, or "
        f"name a mirror of\n{TORCH_WHEELS}{name}:  make lab TORCH_INDEX=https://...\n"
        "To install another build all the same:  make lab VARIANT=cpu|cu12|cu13 "
        "(CUDA builds: several GB)"
    )

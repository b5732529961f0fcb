"""The measurements that the book prints: one JSON file for each lab and GPU.

`results/<lab>.<gpu>.json` holds the device, the versions, the date, a digest of the
notebook's code, and rows: `case`, `name`, `ms`, `spread` (ms), `reps` (repetitions),
`value` with its `unit`, `baseline` (a name), `ratio` (times the baseline's speed),
`ceiling` (a fraction). A row whose time varies a lot gives the reason in `unsteady`.
"""

import json
import os
import re
from datetime import date
from pathlib import Path
from typing import Any

from weft import device, store, versions
from weft.device import cpu

REFERENCE = "nvidia-h200"  # preferred where several GPUs have results
QUOTED = {"h100": "nvidia-h100-80gb-hbm3"}  # short names for GPUs on pages


def slug(gpu: str) -> str:
    """Return a GPU's name as used in file names: `NVIDIA H200` → `nvidia-h200`."""
    return re.sub(r"[^a-z0-9]+", "-", gpu.lower()).strip("-")


def folder() -> Path | None:
    """Return the folder of committed results, or None if there is none."""
    package = Path(__file__).resolve().parents[1]
    places = [package.parent / "results", package / "reference"]  # checkout, installed
    root = store.root()
    if root is not None:
        places.insert(0, root / "results")
    return next((place for place in places if place.is_dir()), None)


def reference(
    lab: str, where: Path | None = None, gpu: str = ""
) -> dict[str, Any] | None:
    """Return the results of a lab on the reference GPU, or None if there are none.

    gpu: the slug of the GPU. By default it is the H200 if it has results, else the
    first GPU in alphabetical order. An unreadable file is ignored.
    """
    where = where or folder()
    if where is None:
        return None
    files = sorted(where.glob(f"{lab}.{gpu or '*'}.json"))
    files.sort(key=lambda f: f.name != f"{lab}.{REFERENCE}.json")
    for file in files:
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(data, dict) and isinstance(data.get("rows"), list):
            return data
    return None


def reference_name(lab: str | None) -> str:
    """Name the GPU whose results a lab's pages show, such as "the NVIDIA H200"."""
    data = reference(lab, gpu=REFERENCE) if lab is not None else None
    name = (data or {}).get("device", {}).get("name")
    return f"the {name}" if name else "the reference GPU"


def of_case(data: dict[str, Any] | None, case: str) -> dict[str, dict[str, Any]]:
    """Return the rows of one case of a results file, by name; {} without `data`."""
    rows = data["rows"] if data is not None else []
    return {row["name"]: row for row in rows if row["case"] == case}


def record(lab: str, rows: list[dict[str, Any]]) -> Path | None:
    """Merge rows into this GPU's results if `WEFT_RESULTS` names a folder.

    A row replaces the one with the same case and name, in its position; new rows
    follow. Rows of an earlier version of the notebook (another `WEFT_DIGEST`) are
    dropped. Returns the file written, or None if none was requested. Raises OSError if
    it cannot be written.
    """
    target = os.environ.get("WEFT_RESULTS")
    if not target:
        return None
    gpu = device.find()
    path = Path(target) / f"{lab}.{slug(gpu.name)}.json"
    digest = os.environ.get("WEFT_DIGEST", "")
    before, _ = store.read(path)
    old = before.get("rows", []) if before.get("digest", "") == digest else []
    merged = {(r["case"], r["name"]): r for r in (*old, *rows)}
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = {
        "lab": lab,
        "device": {
            "name": gpu.name,
            "capability": f"{gpu.capability[0]}.{gpu.capability[1]}",
            "sms": gpu.sms,
            "driver": device.driver_version(),
            "cuda": f"{gpu.cuda[0]}.{gpu.cuda[1]}",
            "cpu": cpu.name(),
        },
        "versions": versions.installed(),
        "date": date.today().isoformat(),
        "digest": digest,
        "rows": list(merged.values()),
    }
    text = json.dumps(contents, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    store.replace(path, text)
    return path

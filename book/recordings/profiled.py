"""What the recordings of ncu say first: the GPU and the versions that made them."""

import datetime
import re
import subprocess
from importlib import metadata


def said(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout


def facts() -> str:
    gpu = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, driver = gpu.strip().splitlines()[0].split(", ")
    ncu = re.search(r"Version (\S+)", said("ncu", "--version"))
    packages = (f"{p} {metadata.version(p)}" for p in ("torch", "numba", "numba-cuda"))
    versions = [f"driver {driver}", f"ncu {ncu[1] if ncu else '?'}", *packages]
    return f"# {name}, {datetime.date.today()}\n# {', '.join(versions)}\n"

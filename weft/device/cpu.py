"""The processor that Python itself runs on, for notebooks that need no GPU."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

INFO = Path("/proc/cpuinfo")


def name(info: Path = INFO) -> str:
    """Return the processor's name, or its architecture if the system gives no name."""
    text = info.read_text(encoding="utf-8") if info.is_file() else ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    named = found[1] if found else platform.processor() or platform.machine()
    return re.sub(r"\((R|TM)\)", "", named)


def versions() -> dict[str, str]:
    """Return {"gcc": version}, or {} if gcc is missing or fails."""
    program = shutil.which("gcc")
    if program is None:
        return {}
    run = subprocess.run([program, "-dumpfullversion"], capture_output=True, text=True)
    return {"gcc": run.stdout.strip()} if run.returncode == 0 else {}

"""Download the installers themselves, pip and uv, and check their digests."""

from __future__ import annotations

import hashlib
import platform
import re
import ssl
import stat
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urljoin

from installing import settings

PIP = "26.3"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"

# The digests are those of PyPI's page on this version, https://pypi.org/simple/uv/
UV = "0.13.9"
UV_WHEELS = {  # (sys.platform, machine): the wheel's platform, its SHA-256
    ("linux", "x86_64"): (
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19",
    ),
    ("linux", "aarch64"): (
        "manylinux_2_28_aarch64",
        "ecb6028d79dc96fbeafffe5c8af62a7099487ebc05a701e76714eebcffd06375",
    ),
    ("darwin", "x86_64"): (
        "macosx_10_12_x86_64",
        "c16ed11e013557536b3e60065f1b912f6407bd6518e041b961e23ef9e6b4fbf5",
    ),
    ("darwin", "arm64"): (
        "macosx_11_0_arm64",
        "66c512266d633bef48384a1f53003f41f2a8e7b36fe6e7fbfd3e0fd52d96fa63",
    ),
}
PATIENCE = 8  # seconds: a name server that is silent takes longer than a connection


def pip_wheel(folder: Path) -> Path:
    """Fetch pip's wheel into a folder. Raises OSError."""
    return wheel("pip", f"pip-{PIP}-py3-none-any.whl", PIP_SHA256, folder)


def uv_program(folder: Path) -> Path:
    """Fetch uv's wheel for this machine, and take the program out. Raises OSError."""
    machine = (sys.platform, platform.machine())
    if machine not in UV_WHEELS:
        raise OSError("no uv for {} on {}".format(*machine))
    suffix, sha256 = UV_WHEELS[machine]
    fetched = wheel("uv", f"uv-{UV}-py3-none-{suffix}.whl", sha256, folder)
    program = folder / "uv"
    with zipfile.ZipFile(fetched) as archive:
        program.write_bytes(archive.read(f"uv-{UV}.data/scripts/uv"))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    fetched.unlink()
    return program


def wheel(package: str, name: str, sha256: str, folder: Path) -> Path:
    """Fetch a wheel from the package index. Raises OSError, also for another digest."""
    page = f"{settings.package_index()}/{package}/"
    try:
        text = download(page).decode("utf-8", "replace")
        link = re.search(rf'href="([^"#]*{re.escape(name)})[#"]', text)
        if link is None:
            raise OSError(f"no {name} there")
        data = download(urljoin(page, link.group(1)))
    except ValueError as error:  # what is configured is no address
        raise OSError(str(error)) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise OSError(f"{name} is not the file it should be: its SHA-256 differs")
    file = folder / name
    file.write_bytes(data)
    return file


def download(url: str, timeout: float = 30) -> bytes:
    with _opened(url, timeout) as answer:
        return answer.read()


def _opened(url: str, timeout: float):
    try:
        return urllib.request.urlopen(url, timeout=timeout)
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ssl.SSLCertVerificationError):
            raise
    # A bare Debian has no certificates. What comes is compared with a digest we know.
    anyone = ssl._create_unverified_context()
    return urllib.request.urlopen(url, timeout=timeout, context=anyone)


def index_answers() -> bool:
    """True if the package index says anything at all, within PATIENCE."""
    said = []

    def ask() -> None:
        try:
            _opened(f"{settings.package_index()}/pip/", PATIENCE / 2).close()
            said.append(True)
        except urllib.error.HTTPError:  # it is there, and does not like the question
            said.append(True)
        except (OSError, ValueError):
            pass

    question = threading.Thread(target=ask, daemon=True)
    question.start()
    question.join(PATIENCE)
    return bool(said)

"""A learner's first exercise, in JupyterLab: run all, read, type a kernel, pass."""

import os
import re
import secrets
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from built_book import ROOT

import lab
from weft import links

LAB = "05_first_kernel"
KERNEL = """\
@cuda.jit
def vector_add(a, b, out):
    i = cuda.grid(1)

    if i < out.size:
        out[i] = a[i] + b[i]
"""
SETTINGS = {
    "@jupyterlab/notebook-extension/tracker.jupyterlab-settings": (
        '{"windowingMode": "none"}'  # all cells are in the page, on screen or not
    ),
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": (
        '{"fetchNews": "false", "checkForUpdates": false}'
    ),
}
PATIENCE = 600  # seconds for the server to answer
RUNS = 20  # of a cell, until the kernel answers


@dataclass(frozen=True)
class Server:
    address: str
    token: str
    folder: Path

    def of(self, path: str) -> str:
        """The address of a notebook, in a workspace that has no other open."""
        room = f"workspaces/{Path(path).stem}"
        return f"{self.address}/lab/{room}/tree/{path}?token={self.token}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    pytest.fail(f"JupyterLab does not answer:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a copy of the labs, as `make lab` would on a machine without a GPU."""
    folder = tmp_path_factory.mktemp("jupyterlab")
    answers = shutil.ignore_patterns("lab.py", "answers", "__pycache__")
    for name in ("labs", "chapters", "weft", "results"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "course" / name, ignore=answers)
    shutil.copyfile(ROOT / "_toc.yml", folder / "course" / "_toc.yml")
    pages = folder / "course" / lab.BOOK
    (pages / "book").mkdir(parents=True)
    (pages / "book" / f"{LAB}.html").write_text("<title>The chapter</title>")
    for name, text in SETTINGS.items():
        path = folder / "settings" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    port, token = free_port(), secrets.token_hex(16)
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    env = {name: value for name, value in os.environ.items() if "WEFT_" not in name}
    env |= {name: str(folder / place) for name, place in own.items()}
    env |= {"WEFT_SIMULATOR": "1", "PYTHONPATH": str(folder / "course")}
    env |= {links.SERVED: str(pages)}
    env |= {"PYTHONSTARTUP": str(folder / "course" / lab.STARTUP)}
    command = [
        *lab.command(folder / "course", False, os.geteuid() == 0, pages),
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
    ]
    log = folder / "log"
    with open(log, "wb") as output:
        server = subprocess.Popen(
            command, env=env, cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for(server, f"{address}/api/status?token={token}", log)
            yield Server(address, token, folder / "course")
        finally:
            server.terminate()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def run_all(page: object) -> None:
    page.locator(".lm-MenuBar-itemLabel", has_text=re.compile("^Run$")).click()
    page.locator('[data-command="runmenu:run-all"]:not(.lm-mod-disabled)').click()


def wait_until_idle(page: object) -> None:
    page.wait_for_function(
        """() => {
          const prompts = [...document.querySelectorAll(".jp-InputPrompt")];
          const busy = prompts.some((p) => p.textContent.includes("[*]"));
          return prompts.some((p) => /\\[\\d+\\]/.test(p.textContent)) && !busy;
        }"""
    )


def test_a_learner_meets_the_verdict_and_then_passes(
    open_page: Callable, jupyterlab: Server
) -> None:
    ours = (ROOT / "labs" / f"{LAB}.ipynb").read_bytes()
    watched = open_page(width=1300, height=1000)
    page = watched.page
    page.goto(jupyterlab.of(f"labs/{LAB}.ipynb"))
    code = page.locator(".jp-CodeCell")
    starter = code.filter(has_text=re.compile(r"def vector_add\(a, b, out\)")).first
    check = code.filter(has_text=re.compile(r"check\(\s*vector_add\b")).first
    starter.wait_for()
    kernel = page.get_by_role("button", name="| Idle")  # in the status bar
    kernel.wait_for()

    assert code.first.get_by_text("Imports: run this cell first").is_visible()
    assert code.first.locator(".cm-content").is_hidden()

    run_all(page)
    verdict = check.locator(".weft-verdict")
    verdict.wait_for()
    assert verdict.get_attribute("data-kind") == "begin"
    assert "your code here" in verdict.inner_text()
    wait_until_idle(page)
    assert page.locator(".jp-OutputArea-output[data-mime-type*=error]").count() == 0

    editor = starter.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(KERNEL.replace("i < out.size", "i >= 0"))
    page.keyboard.press("Shift+Enter")
    check.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    check.locator('.weft-verdict[data-kind="out-of-bounds"]').wait_for()
    steps = check.locator(".weft-history li:visible")
    check.get_by_text("Step back through what led to this").click()
    check.get_by_role("button", name="Back").click()
    assert steps.count() == 1
    assert "writes" in steps.inner_text()

    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(KERNEL)
    assert "a[i] + b[i]" in editor.inner_text()
    page.keyboard.press("Shift+Enter")
    check.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    passed = check.locator('.weft-verdict[data-kind="pass"]')
    passed.wait_for()
    assert "✓" in passed.inner_text()
    assert "vector_add" in passed.inner_text()
    assert re.search(r"1 of \d in this lab. Next: exercise 3", passed.inner_text())

    top = code.first.locator(".jp-OutputArea")
    with page.context.expect_page() as opened:
        top.get_by_role("link", name="chapter").click()
    opened.value.wait_for_load_state()
    assert opened.value.title() == "The chapter"
    top.get_by_role("link", name="lab 06").click()
    page.wait_for_url("**/labs/06_*.ipynb*")

    assert (ROOT / "labs" / f"{LAB}.ipynb").read_bytes() == ours
    assert watched.left == []


def test_a_verdict_keeps_to_the_cell_that_it_judged(
    open_page: Callable, jupyterlab: Server
) -> None:
    name = "copied.ipynb"
    shutil.copyfile(ROOT / "labs" / f"{LAB}.ipynb", jupyterlab.folder / "labs" / name)
    page = open_page(width=1300, height=1000).page
    page.goto(jupyterlab.of(f"labs/{name}"))
    notebook = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    code = notebook.locator(".jp-CodeCell")
    starter = code.filter(has_text=re.compile(r"def vector_add\(a, b, out\)")).first
    check = code.filter(has_text=re.compile(r"check\(\s*vector_add\b")).first
    editor = starter.locator(".cm-content")
    starter.wait_for()
    page.get_by_role("button", name="| Idle").wait_for()

    def run(cell: object) -> None:
        """Run a cell, folded or not, by the number beside it."""
        cell.locator(".jp-InputPrompt:visible").click()
        page.keyboard.press("Control+Enter")

    said = starter.get_by_text("the first cell of this lab has not been run")
    for look in range(RUNS * 100):  # as after a restart; a kernel may not listen yet
        if said.count():
            break
        if look % 100 == 0:
            run(starter)
        page.wait_for_timeout(200)
    said.first.wait_for()

    run(code.first)
    code.first.get_by_role("link", name="chapter").wait_for()
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"%%time\n{KERNEL}")
    run(starter)
    starter.get_by_text("Wall time:").wait_for()
    run(check)
    verdict = check.locator('.weft-verdict[data-kind="pass"]')
    verdict.wait_for()
    prompt = starter.locator(".jp-InputPrompt").inner_text().rstrip(":")
    assert f"judged: cell {prompt}" in verdict.inner_text()

    edited = verdict.locator(".weft-edited")
    assert edited.is_hidden()
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("# one more line")
    edited.wait_for()
    assert "You have edited that cell since" in edited.inner_text()
    for _ in "# one more line":
        page.keyboard.press("Backspace")
    edited.wait_for(state="hidden")

    page.keyboard.type("# not run")
    run(check)
    edited.wait_for()  # what is on screen was not judged

    verdict.get_by_role("link", name="exercise 3").click()
    heading = notebook.get_by_role("heading", name="3 · The index by hand")
    page.wait_for_function(
        """(heading) => {
          const { top } = heading.getBoundingClientRect();
          return 0 < top && top < innerHeight / 3;
        }""",
        arg=heading.element_handle(),
    )

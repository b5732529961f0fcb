"""The container's recipe: clean by a linter's judgement, and copying what exists."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import pytest

import install
import lab
from installing import builds

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text()


def instructions():
    """The Dockerfile's instructions as (name, arguments), continued lines joined."""
    text = re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE).replace("\\\n", " ")
    return [line.split(None, 1) for line in text.splitlines() if line.strip()]


def named(name):
    return [arguments for found, arguments in instructions() if found == name]


def handed_out():
    makefile = (ROOT / "pipeline/targets.mk").read_text().replace("\\\n", " ")
    return set(re.search(r"^handed_out = (.*)$", makefile, re.MULTILINE)[1].split())


def let_in():
    """What .dockerignore leaves of the folder."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    return {rule[1:] for rule in rules if rule.startswith("!")}


def test_the_linter_has_nothing_to_say():
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    hadolint = shutil.which("hadolint", path=path)
    assert hadolint, "hadolint is missing: python3 install.py --dev"
    done = subprocess.run(
        [hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_image_has_what_learners_are_handed_and_no_answers():
    assert let_in() == handed_out() | {"README.md", "grading", "requirements-hub.txt"}
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    assert set(rules) >= {
        "chapters/*/lab.py",
        "chapters/*/answers",
        "results/mutants*",
        "results/agreement*",
    }
    assert all((ROOT / name).exists() for name in let_in())


def test_everything_copied_is_let_in():
    copied = {
        word
        for arguments in named("COPY")
        for word in arguments.split()[:-1]
        if not word.startswith("--")
    }
    assert copied - {"."} <= let_in()
    assert {"install.py", "constraints.txt", "."} <= copied


def test_the_python_of_the_image_is_one_that_the_course_supports():
    default = next(found for found in named("ARG") if found.startswith("PYTHON="))
    assert tuple(map(int, default[len("PYTHON=") :].split("."))) in install.PYTHONS
    assert named("FROM")[0].startswith("python:${PYTHON}-slim-")


def test_nothing_is_started_as_root():
    assert named("USER")
    assert not {"root", "0"} & set(named("USER"))


def test_the_image_starts_jupyterlab_for_the_hosts_browser():
    command = json.loads(named("CMD")[0])
    assert command == ["python", "lab.py", "--ip", "0.0.0.0"]
    assert named("EXPOSE") == ["8888"]


def test_jupyterlab_gets_the_options_that_lab_py_was_given(monkeypatch):
    started = []
    monkeypatch.setattr(lab.os, "execv", lambda _, words: started.append(words))
    monkeypatch.setenv("WEFT_BOOK", "")
    monkeypatch.setenv("PATH", "/usr/bin")
    lab.main(["--ip", "0.0.0.0"])
    assert started[0][-2:] == ["--ip", "0.0.0.0"]
    programs = Path(sys.executable).parent  # ninja's, for lab 32
    assert os.environ["PATH"].split(os.pathsep) == [str(programs), "/usr/bin"]


def test_the_image_says_whether_jupyterlab_answers():
    (check,) = named("HEALTHCHECK")
    assert check.endswith('CMD ["python", "lab.py", "--healthy"]')


def serving(answers):
    """Return a stand-in for urlopen that gives these answers, by address."""

    def open_address(url, timeout):
        if url not in answers:
            raise URLError("refused")
        return SimpleNamespace(status=answers[url])

    return open_address


@pytest.mark.parametrize(
    ("urls", "well"),
    [
        ([], False),
        (["http://here:8888/"], True),
        (["http://here:8888/user/ada/"], True),  # on a JupyterHub
        (["http://here:8888/", "http://gone:9000/"], False),
    ],
)
def test_health_is_an_answer_of_every_server(monkeypatch, urls, well):
    servers = [{"url": url} for url in urls]
    found = "jupyter_server.serverapp.list_running_servers"
    monkeypatch.setattr(found, lambda: iter(servers))
    here = {f"{url}api": 200 for url in urls if "here" in url}
    monkeypatch.setattr(lab, "urlopen", serving(here))
    assert lab.healthy() is well


def test_every_container_that_runs_for_long_has_an_init():
    pages = [ROOT / "README.md", ROOT / "Dockerfile", *(ROOT / "book").glob("*.md")]
    runs = [
        line
        for page in pages
        for line in page.read_text().splitlines()
        if "docker run" in line and "nvidia-smi" not in line
    ]
    assert len(runs) == 4
    assert all("--init" in line for line in runs)


def test_the_variants_are_those_of_the_installer():
    for variant in re.findall(r"VARIANT=(\w+)|or (cu\d+):", TEXT):
        assert builds.choose_build(None, "".join(variant))[0] in builds.BUILDS


def test_the_dev_container_is_a_stage_of_the_same_recipe():
    file = ROOT / ".devcontainer" / "devcontainer.json"
    settings = json.loads(file.read_text())
    build = settings["build"]
    assert (file.parent / build["dockerfile"]).resolve() == ROOT / "Dockerfile"
    assert (file.parent / build["context"]).resolve() == ROOT
    assert any(stage.endswith(f" AS {build['target']}") for stage in named("FROM"))
    assert f"NB_USER={settings['remoteUser']}" in named("ARG")
    assert settings["forwardPorts"] == [int(port) for port in named("EXPOSE")]
    assert settings["postCreateCommand"] == "python3 install.py --dev"


def test_the_page_on_teaching_grades_with_what_the_image_has():
    page = (ROOT / "book" / "teaching.md").read_text()
    command = re.search(r"docker run.*?--network none.*?```", page, re.DOTALL)[0]
    for option in ("--read-only", "--memory ", "--pids-limit", "--cap-drop ALL"):
        assert option in command
    assert "--tmpfs /tmp:exec" in command  # where lab 4's programs are compiled
    lab_named = re.search(r"python -m grading (\w+)", command)[1]
    assert (ROOT / "labs" / f"{lab_named}.ipynb").exists()

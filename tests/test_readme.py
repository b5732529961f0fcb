"""The papers say what is true: links lead somewhere, numbers are the measured ones."""

import json
import re
import sys
import tomllib

import numpy as np
import pytest
from built_book import ROOT
from test_workflows import make_targets

from weft import check

from numba import cuda, float32  # isort: skip

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from weft_book import results, stack
from weft_book.measured import pins

from installing.builds import BUILDS
from installing.updating import AUTHORS_MORE
from verification.cells import run


def text_of(name):
    return (ROOT / name).read_text()


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
)
def test_links_lead_to_files(name):
    text = text_of(name)
    links = re.findall(r"\[[^]]*\]\(([^)]+)\)", text)
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w.-]+\.(?:py|md|txt|toml))`", text)
    example = re.compile(r"14_reduction|NN_topic|^https?:|_build/")
    of_chapter = {path.name for path in (ROOT / "chapters/12_global_memory").iterdir()}
    for path in [*links, *named]:
        if not example.search(path) and path not in of_chapter:
            assert (ROOT / path.partition("#")[0]).exists(), path


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_is_named_exists(name):
    named = re.findall(r"(?:^ +|`)make ([a-z ]+?)(?= [A-Z]|`|$)", text_of(name), re.M)
    assert named
    assert {word for words in named for word in words.split()} <= make_targets()


def test_the_readme_lists_every_chapter_and_each_is_in_the_book():
    outline = tomllib.loads(text_of("book/outline.toml"))
    contents = text_of("_toc.yml")
    for part in outline["parts"]:
        names = [f"{c['stem'][:2]} {c['title']}" for c in part["chapters"]]
        assert f"| {part['title']} | {' · '.join(names)} |" in text_of("README.md")
        for chapter in part["chapters"]:
            assert f"file: book/{chapter['stem']}\n" in contents


def test_the_readme_says_what_was_measured_with_and_what_is_installed():
    measured = [m.versions for m in results.read_all(ROOT)]
    said = stack.sentence(measured, pins(ROOT / "requirements.txt"))
    readme = " ".join(text_of("README.md").split())
    assert said.replace("The runs on a GPU", "The runs") in readme


def test_the_transpose_is_as_fast_as_the_readme_says():
    file = ROOT / "results" / "13_shared_memory.nvidia-h200.json"
    rows = {
        row["name"]: row
        for row in json.loads(file.read_text())["rows"]
        if row["case"] == "8192 x 8192 float32"
    }
    said = re.search(
        r"at ([\d.]+) TB/s\. The kernel .*?at ([\d.]+) TB/s, (\d+) %",
        " ".join(text_of("README.md").split()),
    )
    assert said.groups() == (
        f"{rows['torch']['value']:.2f}",
        f"{rows['fast']['value']:.2f}",
        f"{100 * rows['fast']['ceiling']:.0f}",
    )


def test_the_kernel_of_the_readme_has_the_verdict_below_it():
    readme = text_of("README.md")
    kernel, verdict = re.findall(r"```(?:python|text)\n(.*?)```", readme, re.S)[:2]
    scope = {"cuda": cuda, "float32": float32}
    run(kernel, "<readme>", scope)
    found = check(
        scope["reverse_blocks"],
        spec=lambda x: x.reshape(-1, 64)[:, ::-1].ravel(),
        inputs=lambda rng, n: (rng.random(n, np.float32),),
        sizes=[64, 128],
        launch=lambda n: (n // 64, 64),
    )
    assert str(found).rstrip() == verdict.rstrip()


def test_the_free_disk_space_is_what_the_installer_asks_for():
    page = " ".join(text_of("book/installing.md").split())
    cpu, *others = (build.gigabytes for build in BUILDS.values())
    (gpu,) = set(others)
    said = f"{cpu} GB without a GPU, {gpu} GB with one, and {AUTHORS_MORE} GB more"
    assert said in page


def test_the_packages_are_the_ones_that_the_page_lists():
    torch = re.search(r"^torch==(\S+)", text_of("requirements.txt"), re.M)[1]
    lines = text_of("book/installing.md").splitlines()
    table = [line for line in lines if line.startswith("| driver for CUDA 1")]
    assert len(table) == 3
    assert all(f"| {torch}, CUDA" in row for row in table)

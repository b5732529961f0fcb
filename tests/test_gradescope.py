"""The autograder's archive is what Gradescope asks for, and so is what it answers."""

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from grading.gradescope import _handed_in_by, main

ROOT = Path(__file__).parents[1]
LAB = "00_start_here"
# The fields that a test may have, by Gradescope's specification.
FIELDS = {
    *("score", "max_score", "status", "name", "name_format", "number", "output"),
    *("output_format", "tags", "visibility", "extra_data"),
}


@pytest.fixture
def autograder(tmp_path):
    (tmp_path / "submission").mkdir()
    return tmp_path


def graded(folder, *options):
    assert main([LAB, str(folder), *options]) == 0
    return json.loads((folder / "results" / "results.json").read_text())


def test_a_submission_gets_its_results(autograder, tmp_path):
    shutil.copy(ROOT / "solutions" / f"{LAB}.ipynb", autograder / "submission")
    rules = tmp_path / "rules.toml"
    rules.write_text("[weights]\ndouble = 2.5\n")
    found = graded(autograder, "--rules", str(rules))
    assert [test["score"] for test in found["tests"]] == [2.5, 1, 1]
    assert all(test["score"] == test["max_score"] for test in found["tests"])
    assert all(test.keys() <= FIELDS for test in found["tests"])
    assert found["tests"][0]["name"].startswith("double (")
    assert "passed" in found["tests"][0]["output"]
    assert "output" not in found


def test_a_failure_shows_its_verdict(autograder):
    shutil.copy(ROOT / "labs" / f"{LAB}.ipynb", autograder / "submission")
    found = graded(autograder)
    assert {test["status"] for test in found["tests"]} == {"failed"}
    assert "Reads x[50], but x has 50 elements" in found["tests"][1]["output"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "there are: none"),
        (["a.ipynb", "b.ipynb"], "there are: a.ipynb, b.ipynb"),
        (["a.ipynb", ".ipynb_checkpoints/a.ipynb"], "It is not a notebook"),
    ],
)
def test_what_cannot_be_graded_is_said_once(autograder, files, said):
    for name in files:
        path = autograder / "submission" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{")
    found = graded(autograder)
    assert said in found["output"]
    assert [test["score"] for test in found["tests"]] == [0, 0, 0]


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("make"),
    reason="needs git and make",
)
def test_the_archive_has_the_scripts_at_its_root_and_no_answers(tmp_path):
    archive, rules = tmp_path / "gradescope.zip", tmp_path / "rules.toml"
    rules.write_text("out_of = 10\n")
    said = subprocess.run(
        ["make", "-n", "gradescope", f"LAB={LAB}"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    command = re.search(r"git archive (?:.|\\\n)*?(?=\n\S)", said)[0]
    command = command.replace("_build/gradescope.zip", str(archive))
    subprocess.run(["sh", "-c", command], cwd=ROOT, check=True)
    options = ["--pack", str(archive), "--seed", "a b", "--rules", str(rules)]
    assert main([LAB, *options]) == 0
    with zipfile.ZipFile(archive) as file:
        names = set(file.namelist())
        scripts = {name: file.read(name).decode() for name in names if "/" not in name}
        assert file.getinfo("run_autograder").external_attr >> 16 & 0o111
    assert scripts.keys() == {"setup.sh", "run_autograder", "rules.toml"}
    assert {"course/install.py", "course/grading/gradescope.py"} <= names
    answers = re.compile(r"/(?:solutions|answers|tests)/|chapters/.*/lab\.py$")
    assert not [name for name in names if answers.search(name)]
    run = scripts["run_autograder"].splitlines()[-1]
    assert run.endswith(f"{LAB} /autograder --seed 'a b' --rules ../rules.toml")
    for name in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n"], input=scripts[name], text=True, check=True)


def test_a_lab_that_is_not_there_is_named(tmp_path, capsys):
    assert main(["no_such_lab", "--pack", str(tmp_path / "a.zip")]) == 2
    assert "no lab" in capsys.readouterr().err


def test_who_handed_in_is_known_from_the_metadata(autograder):
    path = autograder / "submission_metadata.json"
    path.write_text('{"users": [{"email": "bo@x.edu"}, {"email": "ana@x.edu"}]}')
    assert _handed_in_by(autograder) == "ana@x.edu bo@x.edu"
    path.write_text("{}")
    assert _handed_in_by(autograder) == ""

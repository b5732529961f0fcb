"""CI's files: well-formed, safe by a linter's judgement, and calling what exists."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

import install
from pipeline import notebook, validate

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = Path(sys.executable).parent

workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def run(*command):
    done = subprocess.run(
        [str(word) for word in command], cwd=ROOT, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def check_schema(schema, *paths):
    asked = ["--builtin-schema", schema, *map(str, paths)]
    done = CliRunner().invoke(check_jsonschema, asked)
    assert done.exit_code == 0, done.output


def make_targets():
    files = ROOT / "Makefile", ROOT / "pipeline" / "targets.mk"
    text = "".join(path.read_text() for path in files)
    return set(re.findall(r"^([a-z-]+):(?!=)", text, re.MULTILINE))


def steps(path):
    jobs = yaml.safe_load(path.read_text())["jobs"]
    return [step for job in jobs.values() for step in job.get("steps", [])]


def test_the_workflows_are_there():
    names = [path.stem for path in WORKFLOWS]
    assert names == ["ci", "gpu", "long", "newest", "pages"]


def test_the_oldest_versions_are_those_the_package_allows():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = (ROOT / "requirements-oldest.txt").read_text()
    for name in ("numba", "numba-cuda", "numpy", "anywidget"):
        bound = next(
            found[1]
            for need in project["dependencies"]
            if (found := re.match(rf"{name}>=([\d.]+)", need))
        )
        assert re.search(rf"^{name}=={re.escape(bound)}\b", pins, re.MULTILINE), name


def test_workflows_follow_githubs_schema_and_have_timeouts():
    check_schema("vendor.github-workflows", *WORKFLOWS)
    check_schema("custom.github-workflows-require-timeout", *WORKFLOWS)


def test_workflows_pass_the_security_linter():
    files = [*WORKFLOWS, ROOT / ".github" / "dependabot.yml"]
    status, said = run(SCRIPTS / "zizmor", "--offline", "--persona=pedantic", *files)
    assert status == 0, said


@workflow
def test_every_command_is_a_make_target(path):
    scripts = [step["run"] for step in steps(path) if "run" in step]
    for command in "\n".join(scripts).splitlines():
        if command == "nvidia-smi":
            continue
        assert command.startswith("make "), command
        assert command.split()[1] in make_targets(), command


@workflow
def test_every_action_is_pinned_to_a_commit_and_says_which_version(path):
    pinned = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
    uses = [line for line in path.read_text().splitlines() if "uses:" in line]
    uses = [line for line in uses if "uses: $/" not in line]  # of this repository
    assert uses
    assert [line for line in uses if not pinned.search(line)] == []


@workflow
def test_no_job_may_do_more_than_it_says(path):
    document = yaml.safe_load(path.read_text())
    assert document["permissions"] == {}
    for name, job in document["jobs"].items():
        writes = {key for key, value in job["permissions"].items() if value == "write"}
        publishes = name == "publish" or job.get("uses", "").endswith("/pages.yml")
        allowed = {"pages", "id-token"} if publishes else set()
        assert writes == allowed, name


def test_ci_runs_every_python_and_the_oldest_numba():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    pythons = jobs["test"]["strategy"]["matrix"]["python"]
    assert pythons == [f"{major}.{minor}" for major, minor in install.PYTHONS]
    assert jobs["oldest"]["steps"][-1]["run"] == "make oldest"


def test_ci_runs_every_solution_in_the_simulator_in_shares():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    shares = jobs["solutions"]["strategy"]["matrix"]["share"]
    stems = notebook.stems(ROOT)
    run = [stem for text in shares for stem in validate.share(stems, text)]
    assert sorted(run) == stems
    last = jobs["solutions"]["steps"][-1]
    assert last["run"] == 'make nbval ARGS="--simulator --share $SHARE"'
    assert last["env"] == {"SHARE": "${{ matrix.share }}"}


def test_ci_builds_the_image():
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert jobs["image"]["steps"][-1]["run"] == "make image"
    assert "docker build" in (ROOT / "pipeline" / "targets.mk").read_text()


def test_the_book_is_published_only_after_the_tests_of_main():
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    job = ci["jobs"]["pages"]
    assert job["uses"] == "$/.github/workflows/pages.yml"
    assert job["if"] == (
        "github.event_name == 'push' "
        "&& (github.repository == 'warp-and-weft/warp-and-weft' || vars.PAGES)"
    )
    assert {*job["needs"], "pages"} == set(ci["jobs"])
    assert ci[True]["push"] == {"branches": ["main"]}
    pages = yaml.safe_load((ROOT / ".github/workflows/pages.yml").read_text())
    assert set(pages[True]) == {"workflow_call", "workflow_dispatch"}


def test_several_gpus_run_at_once_and_keep_their_results_apart():
    gpu = yaml.safe_load((ROOT / ".github/workflows/gpu.yml").read_text())
    job = gpu["jobs"]["solutions"]
    assert job["runs-on"] == ["self-hosted", "linux", "${{ matrix.gpu }}"]
    assert "inputs.gpus" in job["strategy"]["matrix"]["gpu"]
    assert "gpus" in gpu[True]["workflow_dispatch"]["inputs"]
    assert job["steps"][-1]["with"]["name"] == "executed-${{ matrix.gpu }}"


def test_without_a_runner_nothing_is_scheduled():
    gpu = yaml.safe_load((ROOT / ".github/workflows/gpu.yml").read_text())
    job = gpu["jobs"]["solutions"]
    assert job["if"] == "inputs.gpus || vars.GPUS"
    matrix = job["strategy"]["matrix"]["gpu"]
    assert matrix == "${{ fromJSON(inputs.gpus || vars.GPUS) }}"


def test_the_gpu_runner_never_runs_a_strangers_code():
    gpu = yaml.safe_load((ROOT / ".github/workflows/gpu.yml").read_text())
    triggers = gpu[True]  # YAML reads `on` as true
    assert set(triggers) == {"workflow_dispatch", "schedule"}


def test_the_projects_own_ci_calls_the_readmes_test_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert run("bash", "-n", script)[0] == 0
    assert script.read_text().rstrip().endswith("\nexec make test")
    assert re.search(r"^ *make test\b", (ROOT / "README.md").read_text(), re.MULTILINE)


def test_the_issue_forms_and_dependabot_are_valid():
    forms = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    config = next(path for path in forms if path.stem == "config")
    forms.remove(config)
    assert [path.stem for path in forms] == ["installation", "text", "verdict"]
    check_schema("vendor.github-issue-forms", *forms)
    check_schema("vendor.github-issue-config", config)
    check_schema("vendor.dependabot", ROOT / ".github" / "dependabot.yml")


def test_dependabot_leaves_alone_what_has_another_source():
    text = (ROOT / ".github" / "dependabot.yml").read_text()
    pip = yaml.safe_load(text)["updates"][0]
    for name in pip["exclude-paths"]:
        assert (ROOT / name).is_file()
    held = {entry["dependency-name"] for entry in pip["ignore"]}
    requirements = (ROOT / "requirements.txt").read_text()
    assert all(re.search(rf"^{name}==", requirements, re.M) for name in held)


def test_the_citation_is_valid():
    check_schema("vendor.citation-file-format", ROOT / "CITATION.cff")

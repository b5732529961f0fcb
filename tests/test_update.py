"""make update: what a learner wrote is kept, whatever upstream did."""

import json
import shutil
import subprocess

import pytest

import update
from pipeline.edited import lab_digest


def lab(*sources, outputs=()):
    """The text of a lab as the course ships it: it knows the digest of its cells."""
    cells = [
        {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}
        for source in sources
    ]
    metadata = {"weft": {"digest": lab_digest(cells)}}
    cells[0]["outputs"] = list(outputs)
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4})


def typed(text, source):
    """The same lab after the learner typed into its first cell and saved."""
    notebook = json.loads(text)
    notebook["cells"][0]["source"] = source
    return json.dumps(notebook, indent=1)


def git(folder, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


class Course:
    """An upstream repository with two labs, and a learner's clone of it."""

    def __init__(self, folder):
        self.upstream, self.mine = folder / "upstream", folder / "mine"
        (self.upstream / "labs").mkdir(parents=True)
        git(self.upstream, "init", "--quiet", "--initial-branch=main")
        (self.upstream / ".gitignore").write_text("labs/my_*.ipynb\n")
        self.publish({"05_first.ipynb": lab("v1"), "13_shared.ipynb": lab("v1")})
        git(folder, "clone", "--quiet", str(self.upstream), str(self.mine))
        self.labs = self.mine / "labs"

    def publish(self, labs):
        for name, text in labs.items():
            path = self.upstream / "labs" / name
            path.unlink() if text is None else path.write_text(text)
        git(self.upstream, "add", ".")
        git(self.upstream, "commit", "--quiet", "--message", "Change the labs")

    def update(self):
        moved = update.update(self.mine)
        return {old.name: new.name for old, new in moved}

    def names(self):
        return sorted(path.name for path in self.labs.iterdir())


@pytest.fixture
def course(tmp_path):
    return Course(tmp_path)


def test_an_untouched_course_is_brought_up_to_date(course):
    course.publish({"05_first.ipynb": lab("v2"), "14_new.ipynb": lab("v1")})
    assert course.update() == {}
    assert (course.labs / "05_first.ipynb").read_text() == lab("v2")
    assert course.names() == ["05_first.ipynb", "13_shared.ipynb", "14_new.ipynb"]


def test_an_edited_lab_that_changed_upstream_is_set_aside(course):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    course.publish({"05_first.ipynb": lab("v2")})
    assert course.update() == {"05_first.ipynb": "my_05_first.ipynb"}
    assert (course.labs / "my_05_first.ipynb").read_text() == mine
    assert (course.labs / "05_first.ipynb").read_text() == lab("v2")


def test_an_edited_lab_that_did_not_change_upstream_stays_where_it_is(course):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    course.publish({"13_shared.ipynb": lab("v2")})
    assert course.update() == {}
    assert (course.labs / "05_first.ipynb").read_text() == mine
    assert (course.labs / "13_shared.ipynb").read_text() == lab("v2")


def test_earlier_copies_are_never_overwritten(course):
    for version in ("v2", "v3", "v4"):
        mine = typed(lab("v1"), f"my answer before {version}")
        (course.labs / "05_first.ipynb").write_text(mine)
        course.publish({"05_first.ipynb": lab(version)})
        course.update()
    copies = [name for name in course.names() if name.startswith("my_")]
    assert copies == [
        "my_05_first.ipynb",
        "my_05_first_2.ipynb",
        "my_05_first_3.ipynb",
    ]
    assert "before v2" in (course.labs / "my_05_first.ipynb").read_text()
    assert "before v4" in (course.labs / "my_05_first_3.ipynb").read_text()


def test_a_lab_that_was_only_opened_and_saved_leaves_no_copy(course):
    saved = json.dumps(json.loads(lab("v1")), indent=2)
    (course.labs / "05_first.ipynb").write_text(saved)
    course.publish({"05_first.ipynb": lab("v2")})
    assert course.update() == {}
    assert (course.labs / "05_first.ipynb").read_text() == lab("v2")
    assert not (course.labs / "my_05_first.ipynb").exists()


def test_outputs_are_a_reason_to_keep_a_lab(course):
    (course.labs / "05_first.ipynb").write_text(lab("v1", outputs=["a plot"]))
    course.publish({"05_first.ipynb": lab("v2")})
    assert course.update() == {"05_first.ipynb": "my_05_first.ipynb"}


def test_a_lab_of_ones_own_gives_way_to_a_new_one_of_that_name(course):
    (course.labs / "14_new.ipynb").write_text("mine")
    course.publish({"14_new.ipynb": lab("v1")})
    assert course.update() == {"14_new.ipynb": "my_14_new.ipynb"}
    assert (course.labs / "my_14_new.ipynb").read_text() == "mine"
    assert (course.labs / "14_new.ipynb").read_text() == lab("v1")


def test_an_edited_lab_that_upstream_dropped_is_kept(course):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    course.publish({"05_first.ipynb": None})
    assert course.update() == {"05_first.ipynb": "my_05_first.ipynb"}
    assert course.names() == ["13_shared.ipynb", "my_05_first.ipynb"]


def test_an_edit_that_was_staged_counts(course):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    git(course.mine, "add", "labs")
    course.publish({"05_first.ipynb": lab("v2")})
    assert course.update() == {"05_first.ipynb": "my_05_first.ipynb"}
    assert (course.labs / "05_first.ipynb").read_text() == lab("v2")


def test_a_failing_update_puts_everything_back(course):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    (course.labs / "14_new.ipynb").write_text("mine")
    (course.mine / "notes.txt").write_text("mine, and in the way")
    (course.upstream / "notes.txt").write_text("the course's")
    course.publish({"05_first.ipynb": lab("v2"), "14_new.ipynb": lab("v1")})

    with pytest.raises(update.UpdateError, match="ff-only"):
        course.update()
    assert (course.labs / "05_first.ipynb").read_text() == mine
    assert (course.labs / "14_new.ipynb").read_text() == "mine"
    assert course.names() == ["05_first.ipynb", "13_shared.ipynb", "14_new.ipynb"]


def test_without_a_network_nothing_is_touched(course, tmp_path):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    course.upstream.rename(tmp_path / "gone")
    with pytest.raises(update.UpdateError, match="git fetch"):
        course.update()
    assert (course.labs / "05_first.ipynb").read_text() == mine


def test_a_download_without_history_is_told_how_to_update(course):
    shutil.rmtree(course.mine / ".git")
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    with pytest.raises(update.UpdateError, match=r"clone\s+the course anew"):
        course.update()
    assert (course.labs / "05_first.ipynb").read_text() == mine


def test_after_a_commit_of_ones_own_nothing_is_touched(course):
    mine = typed(lab("v1"), "my answer")
    (course.labs / "05_first.ipynb").write_text(mine)
    git(course.mine, "commit", "--quiet", "--all", "--message", "My answer")
    course.publish({"05_first.ipynb": lab("v2")})
    with pytest.raises(update.UpdateError, match="1 commit of your own"):
        course.update()
    assert (course.labs / "05_first.ipynb").read_text() == mine
    assert course.names() == ["05_first.ipynb", "13_shared.ipynb"]


def test_a_branch_of_ones_own_is_told_to_go_back(course):
    git(course.mine, "switch", "--quiet", "--create", "mine")
    with pytest.raises(update.UpdateError, match="git switch main"):
        course.update()

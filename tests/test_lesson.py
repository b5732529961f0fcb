"""Hints, quizzes, progress: what a notebook shows around its kernels."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

import weft
from weft import device, lesson, links, markup, store
from weft.device import for_triton
from weft.errors import LearnerError
from weft.lesson import board, predictions, routes, syllabus
from weft.lesson.syllabus import LessonError

ROOT = Path(__file__).parents[1]
QUIZ = """
[[quiz]]
question = "Is `x[-1]` < a bug?"
choices = [
  { text = "Yes", right = true, because = "A GPU reads *before* the array." },
  { text = "No & never", because = "NumPy wraps, `cuda` does not." },
]
"""
GOOD = f"""
title = "Your first kernel"
minutes = 60
[[exercises]]
name = "vector_add"
title = "Add two vectors"
hints = ["Which thread?", "Guard it with `if`.", "Compare i with out.size."]
[[exercises]]
name = "saxpy"
title = "Scale and add"
hints = ["One hint."]
{QUIZ * 3}
"""
OTHER = GOOD.replace("saxpy", "scale").replace("first kernel", "second kernel")


@pytest.fixture(autouse=True)
def lessons(tmp_path, monkeypatch):
    """A working copy in an empty folder, with two labs."""
    where = tmp_path / "chapters"
    for stem in ("05_first_kernel", "06_grids_2d"):
        (where / stem).mkdir(parents=True)
    (tmp_path / "weft").mkdir()
    (tmp_path / "_toc.yml").touch()
    (where / "05_first_kernel" / "lesson.toml").write_text(GOOD)
    (where / "06_grids_2d" / "lesson.toml").write_text(OTHER)
    monkeypatch.setattr(syllabus, "folder", lambda: where)
    monkeypatch.setattr(lesson, "_current", None)
    monkeypatch.setattr(lesson, "_shown", {})
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.chdir(tmp_path)
    return where


def test_lab_says_its_title_and_where_kernels_run(capsys):
    lesson.lab("05_first_kernel")
    assert capsys.readouterr().out == (
        f"05 · Your first kernel · {device.find().line}\n"
    )
    assert lesson.current() == "05_first_kernel"


def test_an_unknown_lab_lists_those_there_are():
    with pytest.raises(LearnerError, match="05_first_kernel, 06_grids_2d"):
        lesson.lab("07_nowhere")


@pytest.mark.parametrize(
    ("capability", "sms", "refused"),
    [((8, 6), 20, True), ((8, 6), 22, False), ((7, 5), 14, False)],
)
def test_a_lab_refuses_a_gpu_on_which_it_would_hang(
    lessons, monkeypatch, capability, sms, refused
):
    needs = "minutes = 60\ngpu = { sms = 22, sms_from = [8, 0] }"
    (lessons / "05_first_kernel" / "lesson.toml").write_text(
        GOOD.replace("minutes = 60", needs)
    )
    gpu = device.Device(True, name="RTX 3050", capability=capability, sms=sms)
    monkeypatch.setattr(device, "find", lambda: gpu)
    if not refused:
        lesson.lab("05_first_kernel")
        return
    with pytest.raises(LearnerError, match=r"22 multip.*RTX 3050 has 20.*SIMULATOR=1"):
        lesson.lab("05_first_kernel")


def test_without_a_gpu_no_lab_needs_multiprocessors(lessons, monkeypatch, capsys):
    monkeypatch.setattr(device, "find", lambda: device.Device(False, "no GPU"))
    needs = "minutes = 60\ngpu = { sms = 22, sms_from = [8, 0] }"
    (lessons / "05_first_kernel" / "lesson.toml").write_text(
        GOOD.replace("minutes = 60", needs)
    )
    lesson.lab("05_first_kernel")
    assert "Your first kernel" in capsys.readouterr().out


def test_a_lab_about_triton_says_where_triton_does_not_run(
    lessons, monkeypatch, capsys
):
    text = GOOD.replace("minutes = 60", "minutes = 60\ntriton = true")
    (lessons / "05_first_kernel" / "lesson.toml").write_text(text)
    gpu = device.Device(True, name="Tesla T4", capability=(7, 5))
    monkeypatch.setattr(for_triton, "missing", lambda: "")
    monkeypatch.setattr(device, "find", lambda: gpu)
    with pytest.raises(LearnerError, match="the Tesla T4 has"):
        lesson.lab("05_first_kernel")
    monkeypatch.setattr(device, "find", lambda: device.Device(False, "no GPU"))
    lesson.lab("05_first_kernel")
    assert "simulator (no GPU)" in capsys.readouterr().out
    monkeypatch.setattr(for_triton, "missing", lambda: for_triton.advice("darwin"))
    with pytest.raises(LearnerError, match="for Linux alone; this is macOS"):
        lesson.lab("05_first_kernel")


def test_on_gpu_gives_its_reason(capsys, monkeypatch):
    monkeypatch.setattr(device, "find", lambda: device.Device(False, "no GPU"))
    assert not lesson.on_gpu("the simulator has no clock")
    assert capsys.readouterr().out == (
        "Skipped: no GPU here — the simulator has no clock\n"
    )
    monkeypatch.setattr(device, "find", lambda: device.Device(True))
    assert lesson.on_gpu("it does not matter")
    assert capsys.readouterr().out == ""


def test_hint_alone_lists_the_exercises():
    lesson.lab("05_first_kernel")
    with pytest.raises(LearnerError) as found:
        lesson.hint()
    assert str(found.value) == (
        'hint needs the name of an exercise, such as hint("vector_add"). '
        "The exercises of 05_first_kernel: vector_add, saxpy"
    )


def test_hint_alone_outside_a_lab(monkeypatch):
    monkeypatch.setattr(lesson, "_current", None)
    with pytest.raises(LearnerError, match=r"such as hint\(\"vector_add\"\)$"):
        lesson.hint()


def test_hints_come_one_by_one_and_end():
    lesson.lab("05_first_kernel")
    assert repr(lesson.hint("vector_add")) == ("vector_add: hint 1 of 3\nWhich thread?")
    assert "<code>if</code>" in lesson.hint("vector_add")._repr_html_()
    assert lesson.hint("vector_add", 1).text == "Which thread?"
    assert lesson.hint("vector_add").title == "vector_add: hint 2 of 3"
    lesson.hint("vector_add")
    last = lesson.hint("vector_add")
    assert "Those were all 3 hints" in last.text
    assert "solutions/05_first_kernel" in last.text
    assert "Those were all 3 hints" in lesson.hint("vector_add", 9).text
    assert "only hint" in lesson.hint("saxpy", 2).text


def test_a_hint_takes_the_function_itself():
    def saxpy():
        pass

    lesson.lab("05_first_kernel")
    assert lesson.hint(saxpy).text == "One hint."
    with pytest.raises(LearnerError, match="needs the name of an exercise"):
        lesson.hint(3)


def test_an_unknown_exercise_lists_those_there_are():
    lesson.lab("05_first_kernel")
    with pytest.raises(LearnerError, match="vector_add, saxpy"):
        lesson.hint("scale")
    with pytest.raises(LearnerError, match="levels 1 to 3"):
        lesson.hint("vector_add", 0)


ASKED = """
[[exercises]]
name = "classify"
title = "Name it"
hints = ["Look."]
[[exercises.questions]]
question = "copy"
choices = [
  { text = "memory", right = true, because = "It moves bytes." },
  { text = "compute", because = "It computes nothing." },
]
"""


def test_an_exercise_may_ask_for_answers(lessons):
    path = lessons / "05_first_kernel" / "lesson.toml"
    path.write_text(GOOD.replace("[[quiz]]", f"{ASKED}[[quiz]]", 1))
    lesson.lab("05_first_kernel")
    asked = lesson.answers("classify")
    assert asked["inputs"] == [("copy",)]
    assert asked["spec"]("copy") == "memory"
    assert asked["because"]("copy", "compute") == "It computes nothing."
    other = asked["because"]("copy", "speed")
    assert other == "One of these is wanted: 'compute', 'memory'."
    with pytest.raises(LearnerError, match="no questions"):
        lesson.answers("saxpy")


def test_an_author_is_told_of_a_faulty_question(lessons):
    path = lessons / "05_first_kernel" / "lesson.toml"
    asked = ASKED.replace("right = true, ", "")
    path.write_text(GOOD.replace("[[quiz]]", f"{asked}[[quiz]]", 1))
    with pytest.raises(LessonError, match="exercise 3, question 1 has 0 right"):
        syllabus.load("05_first_kernel")


def test_an_exercise_may_name_the_size_that_is_not_listed(lessons):
    path = lessons / "05_first_kernel" / "lesson.toml"
    more = 'hints = ["One hint."]\nunseen = [3, 5]'
    path.write_text(GOOD.replace('hints = ["One hint."]', more))
    assert lesson.unseen("saxpy") == ()
    lesson.lab("05_first_kernel")
    assert lesson.unseen("saxpy") == (3, 5)
    assert lesson.unseen("vector_add") == lesson.unseen("whatever") == ()


def test_before_lab_an_exercise_is_looked_up_in_all():
    assert lesson.hint("scale").text == "One hint."
    with pytest.raises(LearnerError, match="several labs"):
        lesson.hint("vector_add")


class Outline(HTMLParser):
    """Counts tags, and fails on tags that are not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.count = [], {}

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(page):
    parser = Outline()
    parser.feed(page)
    assert parser.open == []
    return parser.count


def test_every_choice_of_the_quiz_opens_by_itself():
    lesson.lab("05_first_kernel")
    page = lesson.quiz()._repr_html_()
    assert page == lesson.quiz_html("05_first_kernel")
    count = outline(page)
    assert count["details"] == count["summary"] == 6
    assert "script" not in count
    assert "<code>x[-1]</code> &lt; a bug?" in page
    assert "No &amp; never" in page
    assert page.count("✓ Right.") == 3


def test_the_quiz_in_a_terminal():
    quiz = lesson.quiz("05_first_kernel")
    assert "1. Is `x[-1]` < a bug?" in repr(quiz)
    assert "   b) No & never" in repr(quiz)
    assert "Right" not in repr(quiz)
    assert quiz.answer(1, "A").startswith("✓ Right. A GPU reads")
    assert quiz.answer(3, "b").startswith("✗ Not this one.")
    with pytest.raises(LearnerError, match="numbered 1 to 3"):
        quiz.answer(4, "a")
    with pytest.raises(LearnerError, match="a, b"):
        quiz.answer(1, "c")


def test_a_quiz_needs_a_lab():
    with pytest.raises(LearnerError, match="say which lab"):
        lesson.quiz()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("minutes = 60", "minutes = 0", "minutes must be"),
        ('title = "Your first kernel"', "", "the file has no `title`"),
        ("saxpy", "vector_add", 'two exercises are named "vector_add"'),
        ('"saxpy"', '"2 words"', "not the name of a function"),
        ('hints = ["One hint."]', "", "exercise 2: hints must be a list"),
        ("right = true, ", "", "question 1 has 0 right choices"),
        ("{ text = \"No & never\", because", "{ text = \"No\", right = true, because",
         "question 3 has 2 right choices"),
        (', because = "NumPy wraps, `cuda` does not."', "", "has no `because`"),
        (QUIZ, "", "the quiz has 0 questions; it needs 3"),
        ("minutes = 60", "minutes = 60\nhours = 1", "unknown key `hours`"),
        ('hints = ["One hint."]', 'hints = ["One hint."]\nunseen = [3.5]',
         "exercise 2: unseen must be a list of whole numbers"),
        ("minutes = 60", "minutes = 60\ngpu = { gb = 6 }", "gpu must be a table"),
        ("minutes = 60", "minutes = 60\ngpu = { memory = [6] }", "memory cannot be"),
        ("minutes = 60", 'minutes = 60\ntools = ["gc"]', "tools must be a list"),
        ("minutes = 60", "minutes = 60\ntriton = 3.7", "triton must be true or false"),
    ],
)  # fmt: skip
def test_an_author_is_told_what_is_wrong_with_a_lesson(lessons, old, new, words):
    assert old in GOOD
    (lessons / "05_first_kernel" / "lesson.toml").write_text(GOOD.replace(old, new))
    with pytest.raises(LessonError) as caught:
        syllabus.load("05_first_kernel")
    assert words in str(caught.value)
    assert "chapters/05_first_kernel/lesson.toml" in str(caught.value)


def test_an_author_is_told_all_at_once(lessons):
    text = GOOD.replace("minutes = 60", "").replace("right = true, ", "")
    (lessons / "05_first_kernel" / "lesson.toml").write_text(text)
    with pytest.raises(LessonError) as caught:
        syllabus.load("05_first_kernel")
    assert str(caught.value).count("\n") == 4


def test_toml_that_is_not(lessons):
    (lessons / "05_first_kernel" / "lesson.toml").write_text("title = ")
    with pytest.raises(LessonError, match="is not TOML"):
        syllabus.load("05_first_kernel")


def test_progress_is_kept_in_the_working_copy(tmp_path):
    board.record("05_first_kernel", "vector_add")
    file = tmp_path / ".weft" / "progress.json"
    before = file.read_text()
    assert "vector_add" in json.loads(before)["05_first_kernel"]
    board.record("05_first_kernel", "vector_add")
    assert file.read_text() == before
    names = {f.name for f in file.parent.iterdir()}
    assert names - {".progress.json.lock"} == {"progress.json"}


def test_the_board_shows_what_is_passed_and_what_is_next():
    empty = lesson.progress()
    assert empty.summary() == (
        "0 of 4 exercises passed. The rest takes about 2 hours. "
        "Begin with `vector_add` in `05_first_kernel`."
    )
    board.record("06_grids_2d", "vector_add")
    board.record("05_first_kernel", "a name of an older version")
    found = lesson.progress()
    assert found.summary() == (
        "1 of 4 exercises passed. The rest takes about 2 hours. "
        "Next: `scale` in `06_grids_2d`."
    )
    assert "06 · Your second kernel  1/2  ✓ vector_add  ○ scale" in repr(found)
    page = found._repr_html_()
    outline(page)
    assert 'title="Add two vectors: passed"' in page
    for lab, exercise in (
        ("05_first_kernel", "vector_add"),
        ("05_first_kernel", "saxpy"),
        ("06_grids_2d", "scale"),
    ):
        board.record(lab, exercise)
    assert lesson.progress().summary() == "4 of 4 exercises passed."


def test_the_board_of_a_route_has_its_labs_alone(monkeypatch):
    weekend = routes.Route("weekend", "A weekend", "", ("06_grids_2d",))
    monkeypatch.setattr(routes, "routes", lambda: [weekend])
    assert [s.name for s in lesson.progress("weekend").lessons] == ["06_grids_2d"]
    with pytest.raises(LearnerError, match=r'no route "week".*"weekend"'):
        lesson.progress("week")


def test_outside_a_lab_and_in_the_pipeline_nothing_is_recorded(tmp_path, monkeypatch):
    board.record(None, "vector_add")
    monkeypatch.setenv("WEFT_STRICT", "1")
    board.record("05_first_kernel", "vector_add")
    assert not (tmp_path / ".weft").exists()


@pytest.mark.parametrize("text", ["{", "[1, 2]", "\x00"])
def test_a_corrupt_progress_file_is_set_aside(tmp_path, capsys, text):
    file = tmp_path / ".weft" / "progress.json"
    file.parent.mkdir()
    file.write_text(text)
    board.record("05_first_kernel", "saxpy")
    assert "progress.json.bad" in capsys.readouterr().out
    assert (file.parent / "progress.json.bad").read_text() == text
    assert lesson.progress().count(syllabus.load("05_first_kernel")) == 1


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, capsys):
    (tmp_path / ".weft").write_text("a file where the folder should be")
    board.record("05_first_kernel", "saxpy")
    assert "Progress" in capsys.readouterr().out


def test_a_lab_that_got_another_number_keeps_its_progress():
    old = {"saxpy": "2026-01-01T00:00:00", "reverse": "2026-03-01T00:00:00"}
    new = {"reverse": "2026-02-01T00:00:00"}
    store.write(
        board.path(),
        {"04_first_kernel": old, "05_first_kernel": new, "98_no_such": {"a": "1"}},
    )
    assert board.passed() == {
        "05_first_kernel": {"saxpy": old["saxpy"], "reverse": new["reverse"]},
        "98_no_such": {"a": "1"},
    }


def test_odd_entries_do_not_break_the_board(tmp_path):
    (tmp_path / ".weft").mkdir()
    board.path().write_text('{"05_first_kernel": 3, "06_grids_2d": {"scale": 1}}')
    assert lesson.progress().summary().startswith("1 of 4")


def test_a_pass_says_how_far_the_learner_is_and_what_is_next():
    assert lesson.passed("saxpy") is None  # outside a lab
    lesson.lab("05_first_kernel")
    first = lesson.passed("saxpy")
    assert first.text == "1 of 2 in this lab. Next: exercise 1, `vector_add`."
    assert lesson.passed("a_helper") is None
    last = lesson.passed("vector_add")
    assert last.text == "All 2 exercises of this lab passed."
    assert "labs/06_grids_2d.ipynb, Your second kernel" in str(last)
    page = last.html()
    outline(page)
    assert "Go on with 06 · Your second kernel" in page
    assert "straight to" not in page + str(last)


def test_a_lab_may_lead_straight_to_a_later_one(lessons):
    path = lessons / "05_first_kernel" / "lesson.toml"
    path.write_text('shortcut = "06_grids_2d"\n' + path.read_text())
    lesson.lab("05_first_kernel")
    lesson.passed("saxpy")
    last = lesson.passed("vector_add")
    assert "or straight to: labs/06_grids_2d.ipynb, Your second kernel" in str(last)
    assert "or go straight to 06 · Your second kernel" in last.html()


def test_the_last_lab_leads_nowhere():
    lesson.lab("06_grids_2d")
    lesson.passed("vector_add")
    assert "next lab" not in str(lesson.passed("scale"))


def test_time_spent_leaves_out_pauses():
    at = "2026-11-01T{}:00+00:00"
    store.write(
        store.place(board.OPENED),
        {"05_first_kernel": {at.format("10:00"): True, at.format("18:00"): True}},
    )
    passed = {"vector_add": at.format("10:20"), "saxpy": at.format("18:05")}
    store.write(board.path(), {"05_first_kernel": passed})
    assert board.spent("05_first_kernel") == timedelta(minutes=25)
    lesson.lab("05_first_kernel")
    said = lesson.passed("saxpy").text
    assert said == "All 2 exercises of this lab passed, in 25 minutes of work."


def test_a_solution_of_the_course_is_no_learners_pass(tmp_path, monkeypatch, capsys):
    (tmp_path / "solutions").mkdir()
    monkeypatch.chdir(tmp_path / "solutions")
    lesson.lab("05_first_kernel")
    assert lesson.passed("vector_add") is None
    assert not (tmp_path / ".weft").exists()
    assert capsys.readouterr().out.startswith("05 · Your first kernel · ")


@pytest.fixture
def in_labs(tmp_path, monkeypatch):
    """The folder of a copy's labs, with both labs and a solution."""
    for name in ("labs/05_first_kernel", "labs/06_grids_2d", "solutions/06_grids_2d"):
        path = tmp_path / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path / "labs")
    return tmp_path


def test_the_top_of_a_lab_leads_to_what_there_is(in_labs):
    lesson.lab("06_grids_2d")
    page = lesson._header(syllabus.load("06_grids_2d"))._repr_html_()
    outline(page)
    assert f'<a href="{links.PUBLIC}/book/06_grids_2d.html">chapter</a>' in page
    assert '<a href="../solutions/06_grids_2d.ipynb">solution</a>' in page
    assert '<a href="../labs/05_first_kernel.ipynb">← lab 05</a>' in page
    assert "→</a>" not in page
    first = lesson._header(syllabus.load("05_first_kernel"))._repr_html_()
    assert '<a href="../labs/06_grids_2d.ipynb">lab 06 →</a>' in first
    public = f'<a href="{links.PUBLIC}/solutions/05_first_kernel.html">solution</a>'
    assert public in first


def test_links_lead_to_the_book_that_is_served(tmp_path, monkeypatch):
    pages = tmp_path / "html"
    (pages / "book" / "bugs").mkdir(parents=True)
    (pages / "book" / "bugs" / "race.html").touch()
    server = {"url": "http://localhost:8888/"}
    (tmp_path / "jpserver-7.json").write_text(json.dumps(server))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("JPY_PARENT_PID", "7")
    monkeypatch.setenv(links.SERVED, str(pages))
    links._server.cache_clear()
    local = "http://localhost:8888/static/book/bugs/race.html"
    assert links.book("bugs/race.html#fix") == f"{local}#fix"
    assert links.book("bugs/hang.html") == f"{links.PUBLIC}/book/bugs/hang.html"
    monkeypatch.delenv("JPY_PARENT_PID")
    links._server.cache_clear()
    assert links.book("bugs/race.html") == f"{links.PUBLIC}/book/bugs/race.html"
    links._server.cache_clear()


def test_the_board_links_labs_and_draws_bars(in_labs):
    board.record("05_first_kernel", "saxpy")
    page = lesson.progress()._repr_html_()
    assert '<a href="../labs/05_first_kernel.ipynb">05 · Your first kernel</a>' in page
    assert "width:50%" in page
    assert "1 of 2</span>" in page


def test_a_second_corrupt_file_does_not_replace_the_first(tmp_path):
    for text in ("{", "["):
        board.path().parent.mkdir(exist_ok=True)
        board.path().write_text(text)
        board.record("05_first_kernel", "saxpy")
    kept = [tmp_path / ".weft" / f"progress.json.bad{n}" for n in ("", 2)]
    assert [path.read_text() for path in kept] == ["{", "["]


def test_progress_may_be_kept_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_HOME", str(tmp_path / "mine"))
    board.record("05_first_kernel", "saxpy")
    assert (tmp_path / "mine" / "progress.json").is_file()
    assert not (tmp_path / ".weft").exists()


@pytest.mark.parametrize("shared", ["read-only", "another user's"])
def test_progress_in_a_shared_copy_is_kept_at_home(tmp_path, monkeypatch, shared):
    monkeypatch.delenv("WEFT_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    copy = tmp_path / "course"
    (copy / "weft").mkdir(parents=True)
    (copy / "_toc.yml").touch()
    monkeypatch.chdir(copy)
    mine, theirs = (tmp_path / "home" / "weft", copy / ".weft")
    assert store.place("progress.json") == theirs / "progress.json"

    if shared == "read-only":
        monkeypatch.setattr(store.os, "access", lambda path, mode: False)
    else:
        theirs.mkdir()
        monkeypatch.setattr(store.os, "geteuid", lambda: os.getuid() + 1)
    assert store.place("progress.json") == mine / "progress.json"
    assert store.write(store.place("progress.json"), {"a": 1}) == ""
    assert store.read(mine / "progress.json") == ({"a": 1}, "")


WRITER = """
import sys
from weft.lesson import board
for k in range(50):
    board.record("05_first_kernel", f"{sys.argv[1]}_{k}")
"""


def test_writers_at_the_same_time_lose_nothing(tmp_path):
    env = os.environ | {"WEFT_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name], env=env)
        for name in ("a", "b", "c")
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    done = json.loads((tmp_path / "progress.json").read_text())
    assert len(done["05_first_kernel"]) == 150


def test_inline_text_escapes_html_and_marks_code_and_emphasis():
    assert markup.inline("`a<b>` & *c*") == "<code>a&lt;b&gt;</code> &amp; <em>c</em>"


@pytest.mark.parametrize("text", ["2 * 3 * 4", "a*b*c", "`*a` and `*b`", "**", "* *"])
def test_not_every_asterisk_is_emphasis(text):
    assert "<em>" not in markup.inline(text)


def test_the_real_lessons_are_valid(monkeypatch):
    monkeypatch.undo()
    for name in syllabus.names():
        found = syllabus.load(name)
        assert found.exercises
        outline(lesson.quiz_html(name))


def test_progress_travels_in_a_file_and_nothing_is_lost(tmp_path, monkeypatch):
    on_colab, at_home = tmp_path / "colab", tmp_path / "home"
    monkeypatch.setenv("WEFT_HOME", str(on_colab))
    board.record("05_first_kernel", "saxpy")
    board.record("09_atomics", "count_matches")
    predictions.note("05_first_kernel", "a case", "yours", 2.0, 3.0)
    file = tmp_path / "weft-progress.json"
    assert "2 exercises passed" in weft.save_progress(file)

    monkeypatch.setenv("WEFT_HOME", str(at_home))
    board.record("05_first_kernel", "saxpy")
    board.record("05_first_kernel", "vector_add")
    early = "2020-01-01T00:00:00+00:00"
    store.update(board.path(), lambda done: done["05_first_kernel"].update(saxpy=early))
    assert weft.load_progress(file) == (
        "2 exercises passed in weft-progress.json, 1 of them new here."
    )
    done = board.passed()
    assert done["05_first_kernel"].keys() == {"saxpy", "vector_add"}
    assert done["05_first_kernel"]["saxpy"] == early
    assert done["09_atomics"].keys() == {"count_matches"}
    assert [p.guess for p in predictions.kept()] == [2.0]
    assert weft.load_progress(file).endswith("0 of them new here.")


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"warp-and-weft": 2}', '{"05_first_kernel": {}}'),
        '{"warp-and-weft": 1, "passed": {"05": 1}, "opened": {}, "predicted": {}}',
    ],
)
def test_another_file_is_no_progress_and_changes_nothing(tmp_path, text):
    board.record("05_first_kernel", "saxpy")
    before = board.path().read_text()
    file = tmp_path / "weft-progress.json"
    file.write_text(text)
    with pytest.raises(LearnerError, match="Nothing has changed here"):
        weft.load_progress(file)
    assert board.path().read_text() == before


def test_a_file_that_is_not_there_or_cannot_be_written_is_said(tmp_path):
    with pytest.raises(LearnerError, match="On Colab, upload it first"):
        weft.load_progress(tmp_path / "none.json")
    (tmp_path / "taken").touch()
    with pytest.raises(LearnerError, match="Name another file"):
        weft.save_progress(tmp_path / "taken" / "weft-progress.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_progress_of_another_user_is_left_alone(tmp_path, capsys):
    board.record("05_first_kernel", "saxpy")
    board.path().parent.chmod(0o555)
    try:
        board.record("05_first_kernel", "vector_add")
    finally:
        board.path().parent.chmod(0o755)
    assert "could not be written" in capsys.readouterr().out
    assert board.passed()["05_first_kernel"].keys() == {"saxpy"}


def test_an_error_of_a_change_is_not_taken_for_one_of_the_store(tmp_path):
    def change(contents):
        contents["a"] = (tmp_path / "no such file").read_text()

    file = tmp_path / "file.json"
    with pytest.raises(FileNotFoundError):
        store.update(file, change)
    assert store.update(file, lambda contents: contents.update(a=1)) == ""
    assert store.read(file) == ({"a": 1}, "")


def test_where_progress_cannot_be_written_a_lab_goes_on(tmp_path, monkeypatch, capsys):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    board.record("05_first_kernel", "saxpy")
    monkeypatch.setattr(store, "replace", refuse)
    board.record("05_first_kernel", "vector_add")
    assert "could not be written (Permission denied)" in capsys.readouterr().out
    assert board.passed()["05_first_kernel"].keys() == {"saxpy"}

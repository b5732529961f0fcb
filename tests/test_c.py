"""C in a notebook: cells, the programs round them, and what is said of them."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import weft  # noqa: F401  before Numba

from weft.c import Step, cell, check, compiler, driver, makefile  # isort: skip
from weft.c import reports, running, source, words, workshop  # isort: skip
from weft.device import cpu  # isort: skip

TWICE = "double twice(double x)\n{\n    return 2 * x;\n}\n"


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.delenv("WEFT_STRICT", raising=False)
    monkeypatch.setattr("weft.lesson.passed", lambda *_: None)


def judged(text: str, **more):
    written, _ = cell("c", "twice", text)
    arguments = {
        "spec": lambda x: 2 * x,
        "inputs": lambda rng, n: (float(rng.integers(1, n)),),
        "sizes": [9, 1000],
        "call": "give(twice(x));",
    }
    return check(written, "double twice(double x)", **arguments | more)


# cells


def test_a_cell_keeps_its_lines():
    found = source.read("swap", "c", "int a;\nint b;\n")
    assert (found.name, found.file) == ("swap", "swap.c")
    assert found.place(3).text == "int b;"
    assert source.read("stats.h", "c", "int a;").file == "stats.h"


def test_four_spaces_are_a_tab_in_a_makefile():
    found = source.read("build", "makefile", "a: b\n    cc b\n\tcc c\n  d\n")
    assert found.text == "\na: b\n\tcc b\n\tcc c\n  d\n"


def test_a_cell_is_saved_and_the_compiler_heard():
    written, said = cell("c", "twice", TWICE)
    assert said == ""
    assert (workshop.folder() / "twice.c").read_text() == written.text
    _, said = cell("c", "twice", TWICE.replace(";", ""))
    assert "twice.c:4:" in said
    assert str(workshop.folder()) not in said


def test_the_magics_are_there(monkeypatch, capsys):
    class Shell:
        def __init__(self):
            self.user_ns, self.magics = {}, {}

        def register_magic_function(self, function, kind, name):
            self.magics[name] = function

    shell = Shell()
    workshop.register(shell)
    shell.magics["c"]("twice", TWICE)
    assert shell.user_ns["twice"].text == "\n" + TWICE
    shell.magics["makefile"]("build", "a: b\n")
    assert shell.user_ns["build"].language == "makefile"
    assert capsys.readouterr().out == "saved as twice.c\nsaved as build.mk\n"


def test_a_terminal_shows_commands_and_skips_what_is_missing(capsys):
    workshop.terminal("echo hello", "sh -c 'kill -11 $$'", "no-such-program -x", "ls")
    said = capsys.readouterr().out
    assert said.startswith("$ echo hello\nhello\n$ sh -c")
    assert "[ended by signal 11]" in said
    assert said.endswith("Skipped: there is no no-such-program here. \n")
    assert workshop.how_to_get("gdb") == "To get it: sudo apt install gdb"


# checks


def test_right_and_wrong():
    assert judged(TWICE)
    wrong = judged(TWICE.replace("2", "3"))
    assert wrong.kind == "wrong-value"
    assert wrong.line == 4
    assert judged(TWICE).facts[0].startswith("right on 3 cases")


def test_the_starter_says_where_to_begin():
    asked = "    // about 1 line\n    // your code here\n"
    starter = "double twice(double x)\n{\n" + asked
    assert judged(starter + "}\n").kind == "begin"
    assert judged(starter + "\n    return x;\n}\n").kind == "begin"
    assert judged(starter + "    return 2 * x;\n}\n"), "who keeps the comment"
    found = check("double twice", spec=abs, inputs=lambda rng, n: (n,), sizes=[1])
    assert found.kind == "type"


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(compiler, "NAMES", ("no-such-compiler",))
    verdict = judged(TWICE)
    assert verdict.kind == "no-compiler"
    assert "apt install gcc" in verdict.why or "xcode-select" in verdict.why
    assert cell("c", "twice", "garbage")[1] == ""


def test_endless_loops_and_endless_output_are_stopped():
    body = "    while (x > 0)\n        x += 0;\n    return x;\n"
    loop = f"double twice(double x)\n{{\n{body}}}\n"
    verdict = judged(loop)
    assert verdict.kind == "endless-loop"
    assert verdict.line == 4
    text = (
        '#include <stdio.h>\ndouble twice(double x)\n{\n    for (;;) puts("on");\n}\n'
    )
    assert judged(text).kind in ("ended", "endless-loop")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("int n = 2147483647; n += (int)x; return n;", "signed-overflow"),
        ("int *p = (int *)(long)(16 * x); return *p;", "wild-pointer"),
        ("int n = (int)x; free(&n); return n;", "compile"),
        ("int *p = malloc(8); p += (int)(x / x); free(p); return 0;", "bad-free"),
        ("return twice(x) + 1;", "recursion"),
        ("exit((int)x);", "ended"),
        ("char *p = malloc(8); p[(int)x] = 1; return 0;", "heap-buffer-overflow"),
    ],
)
def test_what_the_sanitizers_find(body, kind):
    text = f"#include <stdlib.h>\ndouble twice(double x)\n{{\n    {body}\n}}\n"
    inputs = lambda rng, n: (float(n),)  # noqa: E731
    verdict = judged(text, inputs=inputs, sizes=[1000])
    assert verdict.kind == kind, f"\n{verdict!r}"
    assert 5 in {place.line for place, _ in verdict.places}, f"\n{verdict!r}"


def test_a_main_of_their_own_is_no_harm():
    assert judged(TWICE + "int main(void)\n{\n    return twice(1) > 0;\n}\n")


def test_what_it_prints_is_told_with_a_failure():
    text = "#include <stdio.h>\n" + TWICE.replace("return 2", 'puts("here"); return 3')
    assert "It printed: here" in judged(text).facts


def test_memory_that_nobody_wrote():
    written = np.frombuffer(bytes([running.FILL] * 4), np.float32)[0]
    assert reports.unwritten(written)
    assert not reports.unwritten(np.float32(0))


def test_a_runtime_that_does_not_start_is_tried_again(monkeypatch):
    calls = []

    def fake(program, data, leaks):
        calls.append(leaks)
        said = (
            ""
            if len(calls) < 3
            else "weft: begun\n" + running.NO_LEAKS[0] * (leaks == "1")
        )
        return running.Ran(0, said, [], True, "", False, leaks == "1")

    monkeypatch.setattr(running, "_run", fake)
    ran = running.run(Path("program"), b"")
    assert calls == ["1", "1", "1", "0"]
    assert not ran.leaks_seen


def test_cases_travel_as_bytes():
    case = (np.arange(6, dtype=np.float32).reshape(2, 3), 7, np.int32(-1), 0.5)
    assert len(driver.packed(case)) == 16 + 24 + 8 + 4 + 8
    text = driver.program("f.c", "void f(void)", ["x", "n", "k", "y"], case, "f();")
    for line in ("float *x = ", "size_t n;", "int k;", "double y;", "free(x);"):
        assert line in text
    results, ended = driver.unpacked(
        b"i" + bytes([4, *[0] * 7, 1, *[0] * 7, 9, 0, 0, 0])
    )
    assert results[0].tolist() == [9]
    assert not ended


# words


@pytest.mark.parametrize(
    ("said", "words_of_it"),
    [
        ("expected ';' before 'return'", "semicolon"),
        ("expected ';' after expression", "semicolon"),
        ("use of undeclared identifier 'k'", "declaration"),
        ("call to undeclared library function 'malloc'", "#include"),
        ("'m' is a pointer; did you mean to use '->'?", "`->`"),
        ("incompatible integer to pointer conversion", "stars"),
        ("arithmetic on a pointer to void is a GNU extension", "no size"),
        ("non-void function does not return a value", "without `return`"),
    ],
)
def test_the_words_of_both_compilers_are_known(said, words_of_it):
    assert words_of_it in words.meaning(said)


def test_complaints_are_read():
    said = (
        "f.c: In function 'f':\n"
        "f.c:4:5: warning: unused variable 'k' [-Wunused-variable]\n"
        "/some/where/f.c:6:1: fatal error: no.h: No such file or directory\n"
    )
    first, second = compiler.complaints(said)
    assert (first.line, first.error, first.text) == (4, False, "unused variable 'k'")
    assert (second.file, second.line, second.error) == ("f.c", 6, True)


def test_unknown_options_are_left_out():
    program = compiler.find()
    assert program
    options = compiler.strict(program)
    assert "-Werror=int-conversion" in options


# make


def test_without_make_it_says_what_to_install(monkeypatch):
    written, _ = cell("makefile", "build", "a: b\n")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert check(written, files={}, steps=[Step()]).kind == "no-compiler"


def test_a_step_says_when():
    assert Step("make").when == "make"
    assert Step("make", touch="a.c").when == "make, after a change of a.c"


def test_a_compilers_own_rules_are_no_matter():
    text = "a: b\n    cp b a\n    date > a.d\n"
    written, _ = cell("makefile", "build", text)
    steps = [Step("make", makes=["a"]), Step(), Step(touch="b", makes=["a"])]
    verdict = check(written, files={"b": ""}, steps=steps)
    assert verdict, f"\n{verdict!r}"
    assert makefile.SECONDS > 10


def test_an_error_that_a_source_asks_for_is_quoted():
    written, _ = cell("makefile", "build", "a.o: a.c\n    $(CC) -c a.c\n")
    source = '#error "compiled without $(CFLAGS)"\n'
    verdict = check(written, files={"a.c": source}, steps=[Step("make")])
    assert verdict.kind == "make-error"
    assert verdict.message == "The compiler stops: compiled without $(CFLAGS)."


def test_the_processor_has_a_name(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Some(R) CPU @ 3 GHz\n")
    assert cpu.name(info) == "Some CPU @ 3 GHz"
    assert cpu.name(tmp_path / "none")

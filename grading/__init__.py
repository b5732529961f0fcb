"""Mark a class: `python -m grading LAB submissions/*.ipynb`.

Of a submission only what defines an exercise is used: functions, classes, constants, C
cells, and what they refer to. Everything else, the checks above all, is the
instructor's copy of the lab. Each submission is read and run in a process of its own,
in the simulator, with limits on time, memory, files and the network, as far as the
system allows that.

`submitted` reads a submission, `pieces` and `answers` take it apart, `paper` is the
instructor's copy. `inspector` refuses what no answer needs: `allowed` is the list of
what one may use, `naming` what its names stand for. `marking` runs all submissions;
`record` keeps what is done. `sitting` runs one: `processes` starts and watches
`worker`, which gives up what `namespaces`, `confining` and `landlock` take from it by
`system_calls`, and in the end looks at itself with `integrity` and `canary`;
`listening` says whether its report can be true. `servers` start the worker in a process
that `forking` has forked. `table`, `reports` and `audit` write marks, feedback and what
to look at, by way of `files`. `gradebook` puts the tables of a class together, with
`register`, `scoring` and `class_page`. `course` is the same under nbgrader, and
`gradescope` on Gradescope.
"""

"""Mark a class: `python -m grading LAB submissions/*.ipynb`.

Of a submission only what defines an exercise is used: functions, classes, constants, C
cells, and what they refer to. Everything else, the checks above all, is the
instructor's copy of the lab. Each submission runs in a process of its own, in the
simulator, with limits on time and memory, and without a network where the system
allows that.

`submitted` reads a submission, `pieces` and `answers` take it apart, `inspector`
refuses what no answer needs, `paper` is the instructor's copy. `marking` runs all
submissions, `sitting` one of them, with `worker` as what runs. `table` and `reports`
write marks and feedback. `gradebook` puts the tables of a class together, with
`register`, `scoring` and `class_page`. `course` is the same under nbgrader, and
`gradescope` on Gradescope.
"""

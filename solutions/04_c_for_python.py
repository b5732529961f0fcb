# ---
# jupyter:
#   weft:
#     runs_on: cpu
# ---

# %% [markdown]
# # 04 · C for Python people
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/04_c_for_python.ipynb)
#
# **When you have finished, you can**
#
# - read a declaration such as `const float **x`, and say what is where in memory;
# - write C functions that work on pointers, arrays and structs, and free what you
#   allocate;
# - read the messages of the compiler and the sanitizers, and find a crash in gdb;
# - compile C, call it from Python, and write a Makefile;
# - read a `.cu` file.
#
# **You need** about 90 minutes, a C compiler, and no GPU. On Debian, Ubuntu and WSL:
# `sudo apt install gcc make gdb`. Colab has the first two.

# %%
try:
    import weft
except ModuleNotFoundError:  # on Colab: fetch the course first
    # %pip install -q git+https://github.com/warp-and-weft/warp-and-weft
    import weft

import ctypes
import time

import numpy as np

from weft import hint, quiz
from weft.c import Step, check, folder, terminal

weft.lab("04_c_for_python")

# %% [markdown]
# ## A program
#
# C is compiled: a program, the **compiler**, translates the text once, and the result
# runs without the compiler. So there are two steps where Python has one, and two kinds
# of errors: those that the compiler finds, and those that you meet when the program
# runs.
#
# A cell that begins with `%%c greet` contains C. Running it does not run the C; it
# saves the cell as `greet.c`, and prints what the compiler has to say about it.
# `terminal` runs commands for you, in the folder with that file.
#
# Read the program from the top. `#include` brings in declarations, here that of
# `printf`. `#define` makes a **macro**: a text that is replaced before the compiler
# proper begins. `main` is where a program starts. Every variable has a type, every
# statement ends with a semicolon, and blocks are in braces; indentation is for people.

# %% language="c" magic_args="greet" tags=["given"]
# #include <stdio.h>
#
# #define TIMES 3
#
# int main(void)
# {
#     for (int i = 0; i < TIMES; i++) {
#         printf("%d: hello from C\n", i);
#     }
#     return 0;
# }

# %%
terminal(
    "gcc -Wall greet.c -o greet",
    "./greet",
)

# %% [markdown]
# Remove the semicolon after `printf(...)`, run the cell, and read the message: file,
# line, column, what was expected. The line numbers are those of your cell. Then put it
# back.
#
# ## Everything has a size
#
# A variable in C is a few bytes in memory, and `sizeof` says how many. Before you run
# the next two cells, guess: how large is an `int`, a `size_t` (the type of sizes and
# indices), a pointer, the struct?

# %% language="c" magic_args="sizes" tags=["given"]
# #include <stdint.h>
# #include <stdio.h>
#
# enum state { READY, RUNNING, DONE };
#
# struct reading {
#     char unit;
#     double value;
#     enum state state;
# };
#
# int main(void)
# {
#     printf("char    %zu\n", sizeof(char));
#     printf("int     %zu\n", sizeof(int));
#     printf("size_t  %zu\n", sizeof(size_t));
#     printf("float   %zu\n", sizeof(float));
#     printf("double  %zu\n", sizeof(double));
#     printf("float * %zu\n", sizeof(float *));
#     printf("struct  %zu\n", sizeof(struct reading));
#     printf("DONE is %d\n", DONE);
#     printf("7 / 2 is %d, (double)7 / 2 is %g\n", 7 / 2, (double)7 / 2);
#     printf("-1 as a size_t is %zu\n", (size_t)-1);
#     printf("0.1f is %.9f\n", 0.1f);
#     return 0;
# }

# %%
terminal("gcc -Wall sizes.c -o sizes", "./sizes")

# %% [markdown]
# A `char` of 1 byte, a `double` of 8 and an `enum` of 4 make 13. The struct has 24,
# because the compiler puts the `double` at a multiple of 8, and fills the gaps.
#
# `(double)7` is a **cast**: the same value in another type. Casts can lose information:
# an index that goes below zero becomes a very large number. You will meet that one
# again.

# %% [markdown]
# ## 1 · Pointers
#
# In Python, a name refers to an object, and a function receives the object. In C, a
# variable *is* its bytes, and a function receives a **copy** of them. To let a function
# change your variable, you tell it where the variable is: you pass its address.
#
# - `&a` is the address of `a`;
# - `int *p` is a **pointer**: a variable that holds the address of an `int`;
# - `*p` is the `int` at that address, to read or to write.
#
# ```c
# int a = 5;
# int *p = &a;    // p: where a is
# *p = 7;         // now a is 7
# ```
#
# Write a function that swaps two numbers, given their addresses.
#
# The check compiles your cell with the **address sanitizer**, which watches every
# access, puts a small program around it, runs that outside this notebook's process, and
# compares with the `spec`. The `call` is the part of that program that calls you:
# `give(a)` returns a result to the check.
#
# Stuck? `hint("swap")`.

# %% language="c" magic_args="swap"
# void swap(int *a, int *b)
# {
#     // about 3 lines
#     // BEGIN SOLUTION
#     int kept = *a;
#     *a = *b;
#     *b = kept;
#     // END SOLUTION
# }

# %%
check(
    swap,
    "void swap(int *a, int *b)",
    spec=lambda x, y: (y, x),
    inputs=lambda rng, n: tuple(
        np.int32(n - rng.integers(least, least + 4))
        for least in ((1, 5) if n % 2 else (5, 1))
    ),
    sizes=[10, 2**31 - 1],
    call="""
        swap(&x, &y);
        give(x);
        give(y);
    """,
)

# %% [markdown] tags=["solution"]
# `a` and `b` themselves are copies, and end with the call. Assigning to them (`a = b`)
# changes where the copies point, and the caller never sees it. Only a write through
# them, `*a = …`, is visible outside.
#
# `int kept` is on the **stack**: memory that belongs to this call, and is gone when it
# returns.

# %% [markdown]
# ## 2 · Arrays and pointer arithmetic
#
# An array is a row of elements, one after another. A function does not receive the
# array; it receives the address of its first element, and nothing else: no length, no
# bounds, no negative indices. That is why C functions that work on arrays take a
# pointer **and** a length.
#
# `p + 1` is the address of the *next element*, not of the next byte: 4 bytes further on
# for a `float *`. And `x[i]` is defined as `*(x + i)`.
#
# NumPy's `x[::step]` walks through memory like that. Add up every `step`-th element of
# `x`, beginning with the first; `n` is the length of `x`, and may be 0.
#
# `const` promises not to write to what `x` points to. Add up in `double`: the check has
# numbers that cancel, and a `float` would lose the rest.
#
# Stuck? `hint("sum_every")`.

# %% language="c" magic_args="sum_every"
# #include <stddef.h>
#
# double sum_every(const float *x, size_t n, size_t step)
# {
#     double total = 0;
#
#     // about 3 lines
#     // BEGIN SOLUTION
#     for (size_t i = 0; i < n; i += step) {
#         total += x[i];
#     }
#     // END SOLUTION
#
#     return total;
# }

# %% tags=["given"]
def numbers(rng, n, step):
    """Return n numbers, of which the first and last to be added are large."""
    x = rng.random(n, np.float32)
    x[:1] += 2**26
    x[::step][-1:] -= 2**26  # of double, the small digits are left
    return x, step


# %%
check(
    sum_every,
    "double sum_every(const float *x, size_t n, size_t step)",
    spec=lambda x, step: x[::step].sum(),
    inputs=numbers,
    sizes=[(8, 1), (9, 2), (100, 7), (0, 3)],
    call="""
        sum_every(x, x_size, step);
        give(sum_every(x, x_size, step));
    """,
)

# %% [markdown] tags=["solution"]
# `sizeof(x) / sizeof(x[0])` would be the length of an array declared right here. For a
# parameter it is 8 / 4, the size of a pointer divided by that of a `float`: the
# compiler warns, and the check makes an error of it.
#
# This is also all that a NumPy view is: a pointer, a length, a stride. Numba's kernels
# receive arrays in this form.

# %% [markdown]
# ## 3 · Structs and the arrow
#
# A **struct** is a few variables under one name, next to each other in memory: a class
# with fields and no methods. `m.rows` accesses a field of a struct. With a pointer to a
# struct it is `(*m).rows`, for which there is a shorter way to write it: `m->rows`.
#
# The struct below is a NumPy matrix without the comforts. The data are in one block,
# row after row, so that element (`row`, `col`) is at `row * cols + col`.
#
# Multiply one column of the matrix by a factor, in place. The struct itself does not
# change.
#
# Stuck? `hint("scale_column")`.

# %% language="c" magic_args="scale_column"
# #include <stddef.h>
#
# struct matrix {
#     float *data;
#     size_t rows, cols;
# };
#
# void scale_column(struct matrix *m, size_t col, float factor)
# {
#     // about 3 lines
#     // BEGIN SOLUTION
#     for (size_t row = 0; row < m->rows; row++) {
#         m->data[row * m->cols + col] *= factor;
#     }
#     // END SOLUTION
# }

# %%
check(
    scale_column,
    "void scale_column(struct matrix *m, size_t col, float factor)",
    spec=lambda x, col, factor: (
        np.where(np.arange(x.shape[1]) == col, x * factor, x),
        1,
    ),
    inputs=lambda rng, m, n: (
        rng.random((m, n), np.float32),
        int(rng.integers(n)),
        np.float32(rng.uniform(2, 9)),
    ),
    sizes=[(4, 4), (3, 7), (9, 2), (1, 1)],
    call="""
        struct matrix m = {x, x_rows, x_cols};
        scale_column(&m, col, factor);
        give_all(x, x_rows * x_cols);

        int same = m.data == x && m.rows == x_rows && m.cols == x_cols;
        give(same);
        if (!same)
            printf("m itself is another than before the call");
    """,
)

# %% [markdown] tags=["solution"]
# To get to the next row, move on by a whole row: `cols` elements, not `rows`. With
# square matrices the mistake does not show, which is why only the check's first and
# last matrices are square.
#
# The struct is passed by address. `scale_column(struct matrix m, …)` would work here
# too, since the copy holds the same `data` pointer. But it would copy 24 bytes, and a
# change to `m.rows` would be lost.

# %% [markdown]
# ## 4 · The heap, and pointers to pointers
#
# What is declared inside a function is on the stack and ends with the call. What must
# live longer comes from the **heap**: `malloc(bytes)` returns the address of a new
# block, `calloc(count, size)` that of a block filled with zeros, and `free(p)` gives a
# block back. C does not do that for you, and it does not stop you from using the block
# afterwards.
#
# Both return `void *`, an address without a type, and C converts it to any other
# pointer without a cast.
#
# A `float **` is the address of a `float *`. Here it points to an array of row
# pointers:
#
# ```c
# x          // float **: address of the array of row pointers
# x[i]       // float *:  address of row i
# x[i][j]    // float
# ```
#
# Write two functions: one that makes such a table, all zeros, and one that frees every
# block of it. `rows` and `cols` are at least 1.
#
# Stuck? `hint("make_rows")`.

# %% language="c" magic_args="make_rows"
# #include <stdlib.h>
#
# float **make_rows(size_t rows, size_t cols)
# {
#     // about 5 lines
#     // BEGIN SOLUTION
#     float **x = malloc(rows * sizeof(float *));
#
#     for (size_t i = 0; i < rows; i++) {
#         x[i] = calloc(cols, sizeof(float));
#     }
#     return x;
#     // END SOLUTION
# }
#
# void free_rows(float **x, size_t rows)
# {
#     // about 4 lines
#     // BEGIN SOLUTION
#     for (size_t i = 0; i < rows; i++) {
#         free(x[i]);  // the rows first
#     }
#     free(x);
#     // END SOLUTION
# }

# %%
check(
    make_rows,
    "float **make_rows(size_t rows, size_t cols);\n"
    "void free_rows(float **x, size_t rows)",
    spec=lambda rows, cols: (*np.zeros((rows, cols), np.float32), 1),
    inputs=lambda rng, rows, cols: (rows, cols),
    sizes=[(3, 4), (5, 2), (2, 33), (1, 1)],
    call="""
        float **other = make_rows(rows, cols);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                other[i][j] = 1;

        size_t __sanitizer_get_current_allocated_bytes(void);
        size_t before = __sanitizer_get_current_allocated_bytes();
        float **x = make_rows(rows, cols);
        size_t bytes = __sanitizer_get_current_allocated_bytes() - before;
        size_t needed = rows * sizeof(float *) + rows * cols * sizeof(float);

        for (size_t i = 0; i < rows; i++) {
            give_all(x[i], cols);
            for (size_t j = 0; j < cols; j++)
                x[i][j] = 1;
        }
        int modest = bytes <= needed + needed / 2 + 16;
        give(modest);
        if (!modest)
            printf("%zu bytes asked for, %zu needed", bytes, needed);
        free_rows(x, rows);
        free_rows(other, rows);
    """,
)

# %% [markdown] tags=["solution"]
# The order matters when freeing: after `free(x)`, the row pointers are gone, and `x[i]`
# reads a block that belongs to something else.
#
# A real program checks whether `malloc` returned `NULL`, which it does when there is no
# memory left. And it would rather allocate one block of `rows * cols` floats, as NumPy
# does: then the rows are next to each other, and there is one block to free.
#
# `x[i][j]` of such a table takes two loads, and the second waits for the first: the row
# pointer, then the element. A kernel on a GPU receives a flat array and a row length
# instead.

# %% [markdown]
# ## 5 · `void *`: any type at all
#
# `memcpy`, `qsort` and `cudaMemcpy` work on anything. They take a `void *`, an address
# without a type, and the size in bytes, which the address alone does not tell. The
# compiler refuses both `*p` and `p + 1` for a `void *`. To move around in such memory,
# convert it to a pointer to bytes first: `unsigned char *bytes = base;`.
#
# Reverse an array of `count` elements of `size` bytes each, in place. The bytes within
# an element keep their order.
#
# Stuck? `hint("reverse")`.

# %% language="c" magic_args="reverse"
# #include <stddef.h>
# #include <string.h>
#
# void reverse(void *base, size_t count, size_t size)
# {
#     // about 10 lines
#     // BEGIN SOLUTION
#     unsigned char *low = base;
#     unsigned char *high = low + count * size;
#
#     for (size_t i = 0; i < count / 2; i++) {
#         high -= size;
#         for (size_t k = 0; k < size; k++) {
#             unsigned char kept = low[k];
#             low[k] = high[k];
#             high[k] = kept;
#         }
#         low += size;
#     }
#     // END SOLUTION
# }

# %%
check(
    reverse,
    "void reverse(void *base, size_t count, size_t size)",
    spec=lambda x: x[::-1],
    inputs=lambda rng, count, size: (
        rng.integers(0, 256, (count, size), np.uint8),
    ),
    sizes=[(6, 4), (5, 8), (4, 24), (7, 1), (9, 1000), (1, 3)],
    call="""
        reverse(x, x_rows, x_cols);
        give_all(x, x_rows * x_cols);
    """,
)

# %% [markdown] tags=["solution"]
# One function for `float`, `double` and structs: that is what `void *` buys. The price
# is that the compiler cannot notice when you pass the wrong size.
#
# The other way to say "any type" is a **function pointer**: `qsort` is given the
# address of a function that compares two elements, `int (*compare)(const void *, const
# void *)`. C++ has a third way, templates, further down.

# %% [markdown]
# ## Calling C from Python
#
# Compiled as a **shared library**, C functions can be called by any program, including
# Python. NumPy and PyTorch are such libraries with Python around them. The `ctypes`
# module has to be told the types, because it cannot see them.

# %% language="c" magic_args="sums" tags=["given"]
# #include <stddef.h>
#
# double sum_squares(const double *x, size_t n)
# {
#     double total = 0;
#     for (size_t i = 0; i < n; i++) {
#         total += x[i] * x[i];
#     }
#     return total;
# }

# %%
terminal("gcc -Wall -O2 -fPIC -shared sums.c -o libsums.so")

library = folder() / "libsums.so"
if library.exists():
    sum_squares = ctypes.CDLL(str(library)).sum_squares
    sum_squares.argtypes = [
        np.ctypeslib.ndpointer(np.float64, ndim=1, flags="C_CONTIGUOUS"),
        ctypes.c_size_t,
    ]
    sum_squares.restype = ctypes.c_double

    x = np.arange(4.0)
    print(sum_squares(x, x.size))

# %% [markdown]
# Leave out `restype`, and ctypes takes the result for an `int`: nonsense, and no error.
# Leave out `argtypes`, and it passes what it believes to be right. Pass a length that
# is too large, and your notebook's process reads beyond the array. There is no
# sanitizer here; that is why the checks run in a process of their own.
#
# How much faster than a loop in Python is the loop in C? And NumPy's own? Replace
# `None` by your guesses, as multiples of Python's speed.

# %%
guess = {"C": None, "NumPy": None}


def best(function, times=20):
    """Return the shortest of some runs, in ms."""
    runs = []
    for _ in range(times):
        start = time.perf_counter()
        function()
        runs.append(1e3 * (time.perf_counter() - start))
    return min(runs)


def python_loop(values):
    total = 0.0
    for value in values:
        total += value * value
    return total


x = np.random.default_rng(0).random(1_000_000)
values = x.tolist()
ms = {"Python": best(lambda: python_loop(values))}
if library.exists():
    ms["C"] = best(lambda: sum_squares(x, x.size))
ms["NumPy"] = best(lambda: (x * x).sum())

for name, took in ms.items():
    times, said = ms["Python"] / took, guess.get(name)
    print(f"{name:7} {took:7.3f} ms   {times:6.1f} times as fast", end="")
    print(f", you said {said}" if said is not None else "")

# %% tags=["solution"]
if library.exists():
    weft.bench.expect("C beside Python", ms["Python"] / ms["C"], at_least=10)

# %% [markdown] tags=["solution"]
# The arithmetic is the same million multiplications and additions. Python adds
# everything else: each `value` is an object on the heap, reached through a pointer,
# with a type to look up before `*` means anything. The C loop reads 8 bytes and adds.
#
# NumPy's two operations are loops in C as well. The first writes a million squares to
# memory, and the second reads them again; the C loop never stores them. Doing in one
# pass what would otherwise take two is called *fusion*, and chapter 17 is about it.
#
# NumPy may still be ahead. Its loops process several numbers with one instruction. Ours
# adds one number after another, in the order in which we wrote it, and each addition
# waits for the one before.

# %% [markdown]
# ## 6 · A Makefile
#
# A program of several files is compiled file by file into **object files**, which are
# then **linked** into one program. After a change, only what depends on it has to be
# made again. `make` finds out what that is, from a file of rules:
#
# ```make
# target: what it needs
#     the command that makes it
# ```
#
# A rule runs if its target is missing, or older than something that it needs. `make`
# alone makes the first target, after everything that it needs.
#
# Here `main.c` and `stats.c` both include `stats.h`. The first rule is given. Write
# three more: for `main.o`, for `stats.o` (compile only: `-c`), and `clean`, which
# removes `report` and the object files. Since no file called `clean` is ever made, name
# that target in a line `.PHONY: clean`.
#
# `$(CC)` is the compiler, `$(CFLAGS)` our options for it. In a real Makefile a
# command's line begins with a **tab**, and make says `missing separator` if it does
# not. A notebook's Tab key types spaces, so in a `%%makefile` cell four spaces count as
# one tab.
#
# The check calls make, changes files, and looks at what it made.
#
# Stuck? `hint("build")`.

# %% language="makefile" magic_args="build"
# CFLAGS = -Wall -O2
#
# report: main.o stats.o
#     $(CC) main.o stats.o -o report
#
# # about 7 lines
# # BEGIN SOLUTION
# main.o: main.c stats.h
#     $(CC) $(CFLAGS) -c main.c
#
# stats.o: stats.c stats.h
#     $(CC) $(CFLAGS) -c stats.c
#
# .PHONY: clean
# clean:
#     rm -f report main.o stats.o
# # END SOLUTION

# %%
MADE = ["main.o", "stats.o", "report"]

check(
    build,
    files={
        "stats.h": "double mean(const double *x, int n);\n",
        "stats.c": """
            #ifndef __OPTIMIZE__
            #error "compiled without $(CFLAGS)"
            #endif
            #include "stats.h"
            double mean(const double *x, int n)
            {
                double total = 0;
                for (int i = 0; i < n; i++) total += x[i];
                return total / n;
            }
            """,
        "main.c": """
            #ifndef __OPTIMIZE__
            #error "compiled without $(CFLAGS)"
            #endif
            #include <stdio.h>
            #include "stats.h"
            int main(void)
            {
                double x[] = {1, 2, 6};
                printf("%g\\n", mean(x, 3));
                return 0;
            }
            """,
    },
    steps=[
        Step("make", makes=MADE),
        Step("make"),
        Step("make", touch="stats.c", makes=["stats.o", "report"]),
        Step("make", touch="main.c", makes=["main.o", "report"]),
        Step("make", touch="stats.h", makes=MADE),
        Step("make clean", removes=MADE),
        Step("make", makes=MADE),
        Step("make clean", touch="clean", removes=MADE),
    ],
)

# %% [markdown] tags=["solution"]
# make knows nothing about C. It compares times, and if no rule names a header, changes
# to it go unnoticed for ever. Compilers can write such rules themselves: `gcc -MMD`
# lists the headers that it met in `main.d`, for the Makefile to include.

# %% [markdown]
# ## When it crashes: gdb
#
# A pointer that leads nowhere ends the program with a *segmentation fault*, without a
# line number. A program compiled with `-g` keeps the way back to its lines, and the
# debugger **gdb** stops it where the crash happens. `bt` shows which function called
# which, `print` the value of any expression, and `frame 1` goes to the caller.
#
# Below, `find` walks along a list, and the program asks for a colour that is not in it.

# %% language="c" magic_args="colours" tags=["given"]
# #include <stdio.h>
# #include <string.h>
#
# struct node {
#     const char *name;
#     int wavelength;
#     struct node *next;
# };
#
# static struct node blue = {"blue", 470, NULL};
# static struct node green = {"green", 530, &blue};
# static struct node red = {"red", 650, &green};
#
# struct node *find(struct node *at, const char *name)
# {
#     while (at != NULL && strcmp(at->name, name) != 0)
#         at = at->next;
#     return at;
# }
#
# void show(const char *name)
# {
#     struct node *found = find(&red, name);
#     printf("%s: %d nm\n", name, found->wavelength);
# }
#
# int main(void)
# {
#     show("green");
#     show("violet");
#     return 0;
# }

# %%
terminal(
    "gcc -Wall -g colours.c -o colours",
    "./colours",
    "gdb -q -batch -ex run -ex bt -ex 'print found' -ex 'frame 1' ./colours",
)

# %% [markdown] tags=["solution"]
# The debugger names the line and shows that `found` is 0, the null pointer: `find`
# returns it when the list ends. And where is the line about green? `printf` had put it
# into a buffer, and the buffer was lost in the crash. The last line printed is not
# where a program stopped. The chapter has a longer session, with breakpoints.

# %% [markdown]
# ## C++ on top
#
# CUDA's language is C++. Most C is also C++, and a `.cu` file uses some more of it:
# **references** (`&` in a declaration: an address that is used like a value),
# **templates** (one text for many types), classes with destructors, which free memory
# by themselves, and functions that share a name. For the last, the compiler writes the
# types into the name that the linker sees. `extern "C"` asks for the plain name,
# without which `ctypes` would not find the function.

# %% language="c" magic_args="largest.cpp" tags=["given"]
# #include <cstdio>
# #include <vector>
#
# template <typename T>
# T largest(const std::vector<T> &x)
# {
#     T best = x[0];
#     for (T value : x)
#         if (value > best)
#             best = value;
#     return best;
# }
#
# float twice(float x) { return 2 * x; }
# int twice(int x) { return 2 * x; }
# extern "C" int thrice(int x) { return 3 * x; }
#
# int main()
# {
#     std::vector<int> a = {3, 9, 4};
#     std::vector<float> b = {0.5f, 0.25f};
#     std::printf("%d %g\n", largest(a), largest(b));
#     return 0;
# }  // a and b free their memory here

# %%
terminal(
    "g++ -Wall -std=c++17 largest.cpp -o largest",
    "./largest",
    "nm largest | grep -o '[^ ]*[wr]ice.*'",
)

# %% [markdown]
# ## A `.cu` file
#
# You have met everything in it: a pointer for each array with a length, an index, a
# guard, a function that returns nothing. `__global__` marks what runs on the GPU.
# `float *d_out` is an address in the *GPU's* memory. `cudaMalloc` has to write that
# address into your variable, so you pass the variable's address, `&d_out`: a pointer to
# a pointer. `CHECK` is a macro: it looks at the error code that every call returns, and
# `#call` in it is the text of the call.
#
# Chapter 5 writes this kernel in Python.

# %% language="c" magic_args="vector_add.cu" tags=["given"]
# #include <cstdio>
# #include <cstdlib>
# #include <vector>
#
# #define CHECK(call)                                                  \
#     do {                                                             \
#         cudaError_t error = (call);                                  \
#         if (error != cudaSuccess) {                                  \
#             std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
#             std::exit(1);                                            \
#         }                                                            \
#     } while (0)
#
# __global__ void vector_add(const float *a, const float *b, float *out, int n)
# {
#     int i = blockIdx.x * blockDim.x + threadIdx.x;
#
#     if (i < n)
#         out[i] = a[i] + b[i];
# }
#
# int main()
# {
#     const int n = 1000;
#     const size_t bytes = n * sizeof(float);
#     std::vector<float> a(n, 1.0f), b(n, 2.0f), out(n);
#     float *d_a = nullptr, *d_b = nullptr, *d_out = nullptr;
#
#     CHECK(cudaMalloc(&d_a, bytes));
#     CHECK(cudaMalloc(&d_b, bytes));
#     CHECK(cudaMalloc(&d_out, bytes));
#     CHECK(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice));
#     CHECK(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice));
#
#     vector_add<<<(n + 255) / 256, 256>>>(d_a, d_b, d_out, n);
#     CHECK(cudaGetLastError());
#     CHECK(cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost));
#
#     std::printf("out[0] is %g, out[%d] is %g\n", out[0], n - 1, out[n - 1]);
#     cudaFree(d_a);
#     cudaFree(d_b);
#     cudaFree(d_out);
#     return 0;
# }

# %%
terminal("nvcc -c vector_add.cu -o vector_add.o", "ls vector_add.o")
if weft.GPU:
    terminal("nvcc vector_add.cu -o vector_add", "./vector_add")

# %% [markdown]
# The machine code of the kernel is in the object file, for one kind of GPU or for
# several. Chapter 3 takes it apart.
#
# ## If you want more
#
# - Let `sum_every` take a negative step, as NumPy's slices may: which types have to
#   change, and where does the walk begin?
# - Give `struct matrix` a field `stride`, so that it can be a view of some columns of a
#   larger matrix. What has to change in `scale_column`?
# - Write `sort_floats` with `qsort` from `<stdlib.h>`, and the function that compares.
# - Put `-fsanitize=address -g` into a command of `terminal`, and read the sanitizer's
#   own report about a program that reads one element too many.
#
# ## What you learned
#
# 1. A variable is bytes in memory. `&` gives their address, `*` follows one, and a
#    function that is to change your variable needs its address.
# 2. An array is the address of its first element. You pass its length separately, and
#    steps are counted in elements.
# 3. `p->field` is a field of the struct that `p` points to.
# 4. The stack ends with the call. The heap ends with `free`: once for each block, and
#    not before its last use.
# 5. `void *` is an address without a type; a function that takes one takes a size as
#    well.
# 6. A `.cu` file is this, with `__global__` before the function and a grid of threads
#    to run it.

# %%
quiz()

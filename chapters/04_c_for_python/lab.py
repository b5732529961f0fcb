# ---
# jupyter:
#   weft:
#     runs_on: cpu
# ---

# %% [markdown]
# # 04 · C for Python programmers
#
# [Open in Colab](https://colab.research.google.com/github/warp-and-weft/warp-and-weft/blob/main/labs/04_c_for_python.ipynb)
#
# **After this lab, you can**
#
# - read a declaration such as `const float **x`, and say what is where in memory;
# - write C functions that work on pointers, arrays and structs, and free what you
#   allocate;
# - read the messages of the compiler and the sanitizers, and find a crash with gdb;
# - compile C, call it from Python, and write a Makefile;
# - read a `.cu` file.
#
# **You need** about 90 minutes, a C compiler, and no GPU. On Debian, Ubuntu and WSL,
# `sudo apt install gcc make gdb` installs the tools. Colab already has gcc and make.

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

chapter = weft.lab("04_c_for_python")
checks = chapter.checks

# %% [markdown]
# ## A program
#
# C is a compiled language. A program called the **compiler** translates your text once,
# and the result runs without it. So there are two steps where Python has one, and two
# kinds of errors: those that the compiler finds, and those that show only when the
# program runs.
#
# A cell that begins with `%%c greet` contains C. Running the cell does not run the C
# program; it saves the cell as `greet.c` and prints what the compiler has to say about
# that file. `terminal` runs commands for you, in the folder that contains the file.
#
# Read the program from the top. `#include` brings in declarations, here that of
# `printf`. `#define` defines a **macro**, a piece of text that is substituted before
# the compiler proper starts work. `main` is where a program starts. Every variable has
# a type, statements end with a semicolon, and blocks are in braces; indentation is only
# for people.

# %% language="c" magic_args="greet"
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
terminal("gcc -Wall greet.c -o greet", "./greet")

# %% [markdown]
# Remove the semicolon after `printf(...)`, run the cell and read the message, which
# gives the file, the line, the column and what was expected. The line numbers are those
# of your cell. Then put the semicolon back.
#
# ## Everything has a size
#
# A variable in C is a few bytes of memory, and `sizeof` tells you how many. Before you
# run the next two cells, guess: how large is an `int`, a `size_t` (the type for sizes
# and indices), a pointer, and the struct?

# %% language="c" magic_args="sizes"
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
# A `char` of 1 byte, a `double` of 8 and an `enum` of 4 add up to 13 bytes. The struct
# takes 24 bytes, because the compiler places the `double` at a multiple of 8 and fills
# the gaps with padding.
#
# `(double)7` is a **cast**: it gives the same value in another type. Casts can go
# wrong: if an index of type `size_t` drops below zero, it becomes the largest number of
# that type. You will meet this mistake again.

# %% [markdown]
# ## 1 · Pointers
#
# In Python, a name refers to an object, and a function receives the object. In C, a
# variable *is* its bytes, and a function receives a **copy** of them. To let a function
# change your variable, you tell it where the variable is: you pass its address.
#
# - `&a` is the address of `a`;
# - `int *p` is a **pointer**, a variable that holds the address of an `int`;
# - `*p` is the `int` at that address, which you can read or write.
#
# ```c
# int a = 5;
# int *p = &a;    // p: the address of a
# *p = 7;         // now a is 7
# ```
#
# Write a function that swaps two numbers, given their addresses.
#
# The check puts a small program around your cell and compiles both with the **address
# sanitizer**, which watches every memory access. It runs the program in a process of
# its own, outside this notebook, and compares the results with the `spec`. The `call`
# is the part of the program that calls your function; in it, `give(x)` hands a result
# back to the check. Stuck? `hint("swap")`.

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
    inputs=checks.two_numbers,
    sizes=[10, 2**31 - 1],
    call="""
        swap(&x, &y);
        give(x);
        give(y);
    """,
)

# %% [markdown] tags=["solution"]
# `a` and `b` themselves are copies, and they disappear when the call returns. Assigning
# to them (`a = b`) changes where the copies point, which the caller never sees. The
# caller sees only what you write through the pointers, as in `*a = …`.
#
# `int kept` is on the **stack**: memory that belongs to this call and is gone when it
# returns.

# %% [markdown]
# ## 2 · Arrays and pointer arithmetic
#
# An array is a number of elements side by side in memory. A function does not receive
# the array. It receives the address of the first element and nothing else: no length,
# no bounds, no negative indices. That is why C functions that work on arrays take a
# pointer **and** a length.
#
# `p + 1` is the address of the *next element*, not of the next byte. For a `float *`,
# that is 4 bytes further on. `x[i]` is defined as `*(x + i)`.
#
# NumPy's `x[::step]` walks through an array in steps of `step` elements. Do the same in
# C: add up every `step`-th element of `x`, beginning with the first; `n` is the length
# of `x`, and may be 0.
#
# `const` promises that the function will not write to what `x` points to. Add up in
# `double`: the check uses large numbers that cancel, and a `float` would lose the small
# digits that remain. Stuck? `hint("sum_every")`.

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

# %%
check(
    sum_every,
    "double sum_every(const float *x, size_t n, size_t step)",
    spec=lambda x, step: x[::step].sum(),
    inputs=checks.numbers,
    sizes=[(8, 1), (9, 2), (100, 7), (0, 3)],
    call="""
        sum_every(x, x_size, step);
        give(sum_every(x, x_size, step));
    """,
)

# %% [markdown] tags=["solution"]
# `sizeof(x) / sizeof(x[0])` would be the length of an array declared in this very
# function. For a parameter it is 8 / 4, the size of a pointer divided by that of a
# `float`. The compiler warns about it, and the check treats the warning as an error.
#
# A pointer, a length and a stride: that is also all there is to a NumPy view. Numba's
# kernels receive arrays in this form.

# %% [markdown]
# ## 3 · Structs and the arrow
#
# A **struct** is a few variables under one name, side by side in memory: a class with
# fields but no methods. If `m` is a struct, `m.rows` is one of its fields. If `m` is a
# pointer to a struct, the field is `(*m).rows`, for which C has a shorter form:
# `m->rows`.
#
# The struct below is a NumPy matrix reduced to the bare minimum. The data are in one
# block of memory, row after row, so element (`row`, `col`) is at index `row * cols +
# col`.
#
# Multiply one column of the matrix by a factor, in place. The struct itself must stay
# as it is. Stuck? `hint("scale_column")`.

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
# To get to the next row, skip a whole row: `cols` elements, not `rows`. Square matrices
# forgive this mistake, which is why only the first and the last matrix of the check are
# square.
#
# The function gets the struct's address. `scale_column(struct matrix m, …)` would
# work here too, because the copy holds the same `data` pointer. But every call would
# copy 24 bytes, and a change to `m.rows` would be lost.

# %% [markdown]
# ## 4 · The heap, and pointers to pointers
#
# A variable declared inside a function lives on the stack and is gone when the call
# returns. Whatever has to live longer comes from the **heap**: `malloc(bytes)` returns
# the address of a new block, `calloc(count, size)` that of a block filled with zeros,
# and `free(p)` gives a block back. Nothing frees a block for you, and nothing stops you
# from using it after it has been freed.
#
# `malloc` and `calloc` return a `void *`, an address without a type, which C converts
# to any other pointer without a cast.
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
# Write two functions: one that makes such a table, filled with zeros, and one that
# frees every block of it. `rows` and `cols` are at least 1. Stuck? `hint("make_rows")`.

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
    call=checks.USE_ROWS,
)

# %% [markdown] tags=["solution"]
# The order matters when freeing: after `free(x)`, the row pointers are gone, and `x[i]`
# reads memory that is no longer yours.
#
# A real program tests whether `malloc` returned `NULL`, which means that no memory is
# left. It would also allocate a single block of `rows * cols` floats, as NumPy does.
# The rows are then side by side, and there is only one block to free.
#
# In such a table, `x[i][j]` takes two loads, first the row pointer, then the element,
# and the second load has to wait for the first. A kernel on a GPU is given a flat array
# and a row length instead.

# %% [markdown]
# ## 5 · `void *`: any type at all
#
# `memcpy`, `qsort` and `cudaMemcpy` work on any type. They take a `void *`, and also a
# size in bytes, because the address alone does not say how much is there. The compiler
# refuses both `*p` and `p + 1` for a `void *`. To move around in such a block, convert
# its address to a pointer to bytes first: `unsigned char *bytes = base;`.
#
# Reverse an array of `count` elements of `size` bytes each, in place. The bytes within
# an element keep their order. Stuck? `hint("reverse")`.

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
# With `void *`, one function works for `float`, `double` and structs. The price is that
# the compiler cannot tell when you pass the wrong size.
#
# A size is enough to move elements, but not to compare them. For that, `qsort` also
# takes a **function pointer**, the address of a function that compares two elements:
# `int (*compare)(const void *, const void *)`. C++ has another way to write code for
# any type, templates, which you will meet further down.

# %% [markdown]
# ## Calling C from Python
#
# Compiled as a **shared library**, C functions can be called from any program, Python
# included. NumPy and PyTorch consist largely of such libraries, with Python around
# them. You have to tell the `ctypes` module what types a function has; the library
# does not record them.

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
# If you leave out `restype`, ctypes takes the result for an `int`, and you get nonsense
# without an error. If you leave out `argtypes`, ctypes guesses the types from the
# values you pass. If you pass a length that is too large, the notebook's own process
# reads past the end of the array. No sanitizer protects you here, and a crash takes the
# notebook with it. That is why the checks run in a separate process.
#
# How many times as fast as a loop in Python is the loop in C? And how fast are NumPy's
# own operations? Replace each `None` with your guess, as a multiple of Python's speed.

# %%
guess = {"C": None, "NumPy": None}

ms = chapter.measure.loops(
    sum_squares if library.exists() else None, guess
)

# %% tags=["solution"]
if library.exists():
    weft.bench.expect("C beside Python", ms["Python"] / ms["C"], at_least=10)

# %% [markdown] tags=["solution"]
# The arithmetic is the same in all three: a million multiplications and additions.
# Python spends its extra time on everything else. Each `value` is an object on the
# heap, reached through a pointer, and its type has to be looked up before `*` can be
# executed. In each iteration, the C loop reads 8 bytes, multiplies and adds.
#
# NumPy's two operations are loops in C as well. The first writes a million squares to
# memory, and the second reads them back; our C loop never stores them. Doing the work
# of two passes in one is called *fusion*, the subject of chapter 17.
#
# NumPy may be ahead all the same. Its loops handle several numbers with one
# instruction. Our loop adds one number after another, in the order we wrote, and each
# addition waits for the previous one.

# %% [markdown]
# ## 6 · A Makefile
#
# A program of several files is compiled file by file into **object files**, which are
# then **linked** into one program. After a change, only what depends on it has to be
# built again. `make` finds out what has to be built, from a file of rules:
#
# ```make
# target: what it needs
#     the command that makes it
# ```
#
# A rule runs if its target is missing, or older than something that the target needs.
# `make` on its own makes the first target in the file, after making whatever that
# target needs.
#
# Here `main.c` and `stats.c` both include `stats.h`. The first rule is given. Write
# three more rules. The rules for `main.o` and `stats.o` only compile and do not link,
# which is what the option `-c` means. The rule for `clean` removes `report` and the
# object files. Since that rule makes no file called `clean`, you also need a line that
# says so: `.PHONY: clean`.
#
# `$(CC)` is the compiler, and `$(CFLAGS)` contains its options. In a real Makefile, a
# line with a command has to begin with a **tab**, or make reports a `missing
# separator`. A notebook's Tab key types spaces, so in a `%%makefile` cell four spaces
# count as a tab.
#
# The check runs make, changes files, and looks at what make has rebuilt. Stuck?
# `hint("build")`.

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
check(build, files=checks.FILES, steps=checks.STEPS)

# %% [markdown] tags=["solution"]
# make knows nothing about C. It only compares times, so if no rule names a header, you
# can change it as often as you like and nothing is rebuilt. Compilers can write such
# rules for you: with `-MMD`, gcc lists the headers that it has read in a rule in
# `main.d`, which the Makefile can include.

# %% [markdown]
# ## When it crashes: gdb
#
# Following a pointer that leads nowhere usually ends the program with a *segmentation
# fault*, and without a line number. A program compiled with `-g` records which source
# line each instruction came from, and the debugger **gdb** stops it where the fault
# happens. `bt` shows which function called which, `print` shows the value of any
# expression, and `frame 1` goes to the caller.
#
# The program below is folded; open its cell to read it. Its function `find` walks along
# a list, and the program looks for a colour that is not in it.

# %% language="c" magic_args="colours" tags=["folded"]
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
# The debugger names the line and shows that `found` is 0, the null pointer, which
# `find` returns when it reaches the end of the list. The line about green is missing
# because `printf` had only put it into a buffer, which was lost in the crash. So the
# last line printed does not tell you where a program stopped. The chapter has a longer
# session, with breakpoints.

# %% [markdown]
# ## More programs
#
# You have done the exercises. Open this section to see what C++ adds to C, to read a
# whole `.cu` file, and to find ideas for further experiments.

# %% [markdown]
# ### C++ on top
#
# CUDA's language is C++. Most C is also valid C++, but you will meet a few more things
# in a `.cu` file: **references** (`&` in a declaration: an address that is used like a
# value), **templates** (one text for many types), classes with destructors, which free
# memory automatically, and functions that share a name. To tell such functions apart,
# the compiler adds the types to the name that the linker sees, which is called
# *mangling*. `extern "C"` asks for the plain name, without which `ctypes` would not
# find the function.

# %% language="c" magic_args="largest.cpp"
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
# ### A `.cu` file
#
# You have now met almost everything in this file: a pointer for each array, one length
# for all of them, an index, and a function that returns nothing. The `if` is a guard,
# for threads that have no element. `__global__` marks a function that runs on the GPU.
# `float *d_out` holds an address in the *GPU's* memory. `cudaMalloc` has to write that
# address into your variable, so you pass it the variable's address, `&d_out`: a pointer
# to a pointer. `CHECK` is a macro that tests the error code that every call returns,
# and `#call` in it is the text of the call.
#
# Chapter 5 writes this kernel in Python.

# %% language="c" magic_args="vector_add.cu"
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
# The object file contains the kernel's machine code, for one kind of GPU or for
# several. Chapter 3 takes such a file apart.

# %% [markdown]
# ### If you want more
#
# - Let `sum_every` take a negative step, as NumPy's slices do. Which types have to
#   change, and where does the walk begin?
# - Give `struct matrix` a field `stride`, so that it can be a view of some columns of a
#   larger matrix. What has to change in `scale_column`?
# - Write `sort_floats` with `qsort` from `<stdlib.h>`, and the function that compares
#   two elements.
# - Write a program that reads one element too many, add `-fsanitize=address -g` to the
#   command in `terminal` that compiles it, and read the sanitizer's own report.

# %% [markdown]
# ## What you learned
#
# 1. A variable is a few bytes of memory. `&` gives you their address, `*` follows an
#    address, and a function that has to change one of your variables needs its address.
# 2. An array is passed as the address of its first element. You pass the length as
#    well, and a pointer's steps are counted in elements.
# 3. `p->field` is a field of the struct that `p` points to.
# 4. Memory on the stack lasts until the call returns. Memory on the heap lasts until
#    you call `free`: once for each block, and not before its last use.
# 5. `void *` is an address without a type; a function that takes one takes a size as
#    well.
# 6. A `.cu` file contains all of this, with `__global__` before the kernel and a grid
#    to launch it on.

# %%
quiz()

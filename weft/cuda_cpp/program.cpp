/* The program around a learner's kernel. `running.py` fills in what begins with a
   dollar sign: the cell's file, a pointer of the kernel's type and its name, seconds,
   what declares the arguments, and their names.

   It runs the launch twice. First all threads work on the same arrays, the last block
   first. Then each thread works alone, on the arrays as they were before the launch,
   which shows the elements that it writes. */
#include "prelude.h"
#define main weft_learners_main
#include "$file"
#undef main

static void $pointer = $name;

#include "channel.h"
#include <cstring>
#include <vector>

extern "C" void __asan_poison_memory_region(void const volatile *, size_t);

struct Array {
    char kind;
    size_t size, count;
    char *data;
    std::vector<char> before, alone;
    std::vector<int> writer, other;
};

struct Where {
    unsigned block, thread;
};

static const size_t GUARD = 1 << 23; /* bytes beside an array that nothing may touch */
static std::vector<Array *> weft_arrays;
static volatile Where *weft_where;

/* Read an array into memory of its own, with a guard on both sides. */
static void *weft_take(const char *name, char kind, size_t size)
{
    Array *a = new Array{kind, size, 0, nullptr, {}, {}, {}, {}};
    weft_read(&a->count, sizeof a->count);
    size_t bytes = size * a->count, held = (bytes + 15) / 16 * 16;
    char *all = (char *)mmap(nullptr, held + 2 * GUARD, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        _exit(96);
    a->data = all + GUARD;
    weft_read(a->data, bytes);
    __asan_poison_memory_region(all, GUARD);
    __asan_poison_memory_region(a->data + bytes, held - bytes + GUARD);
    a->before.assign(a->data, a->data + bytes);
    a->alone = a->before;
    a->writer.assign(a->count, -1);
    a->other.assign(a->count, -1);
    weft_arrays.push_back(a);
    fprintf(stderr, "weft: array %s %p %zu %zu\n", name, (void *)a->data, size,
            a->count);
    return a->data;
}

static void weft_place(unsigned rank, const uint3 &size, uint3 &index)
{
    index = {rank % size.x, rank / size.x % size.y, rank / size.x / size.y};
}

static void weft_begin(unsigned block, unsigned thread)
{
    weft_where->block = block;
    weft_where->thread = thread;
    weft_place(block, weft_grid_size, weft_block);
    weft_place(thread, weft_block_size, weft_thread);
}

/* Note what the thread of this rank has changed, and undo it. */
static void weft_note(int rank)
{
    for (Array *a : weft_arrays) {
        if (memcmp(a->data, a->before.data(), a->before.size()) == 0)
            continue;
        for (size_t i = 0; i < a->count; i++) {
            char *now = a->data + i * a->size, *was = &a->before[i * a->size];
            if (memcmp(now, was, a->size) == 0)
                continue;
            (a->writer[i] < 0 ? a->writer : a->other)[i] = rank;
            memcpy(&a->alone[i * a->size], now, a->size);
            memcpy(now, was, a->size);
        }
    }
}

int main(int argc, char **argv)
{
    weft_where = (Where *)weft_open(argc, argv, $seconds, sizeof(Where));
    weft_read(&weft_grid_size, sizeof weft_grid_size);
    weft_read(&weft_block_size, sizeof weft_block_size);
    fprintf(stderr, "weft: begun\n");
$arguments
    unsigned blocks = weft_grid_size.x * weft_grid_size.y * weft_grid_size.z;
    unsigned threads = weft_block_size.x * weft_block_size.y * weft_block_size.z;

    for (unsigned b = blocks; b-- > 0;)
        for (unsigned t = 0; t < threads; t++) {
            weft_begin(b, t);
            weft_kernel($names);
        }
    for (Array *a : weft_arrays) {
        weft_give(a->kind, a->size, a->data, a->count);
        memcpy(a->data, a->before.data(), a->before.size());
    }
    fflush(stdout); /* what a kernel prints is wanted once */
    if (!freopen("/dev/null", "w", stdout))
        return 97;
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned t = 0; t < threads; t++) {
            weft_begin(b, t);
            weft_kernel($names);
            weft_note(b * threads + t);
        }
    for (Array *a : weft_arrays) {
        weft_give(a->kind, a->size, a->alone.data(), a->count);
        weft_give('i', sizeof(int), a->writer.data(), a->count);
        weft_give('i', sizeof(int), a->other.data(), a->count);
    }
    weft_close();
    return 0;
}

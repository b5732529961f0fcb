/* What the programs around a learner's code share: limits, and files in and out. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

extern "C" void __sanitizer_print_stack_trace(void);
extern "C" void __lsan_disable(void) __attribute__((weak));

static FILE *weft_in, *weft_out;

static void weft_late(int)
{
    static const char said[] = "weft: out of time\n";
    if (write(2, said, sizeof said - 1) > 0)
        __sanitizer_print_stack_trace();
    _exit(99);
}

static void weft_read(void *p, size_t bytes)
{
    if (bytes && fread(p, 1, bytes, weft_in) != bytes)
        _exit(98);
}

static void weft_give(char kind, size_t size, const void *p, size_t count)
{
    unsigned long long head[2] = {size, count};
    fwrite(&kind, 1, 1, weft_out);
    fwrite(head, sizeof head, 1, weft_out);
    if (count)
        fwrite(p, size, count, weft_out);
    fflush(weft_out);
}

/* Set the limits and open the files that `main` was given. Returns memory of so many
   bytes that is the file "where", so a crash leaves it behind. */
static void *weft_open(int argc, char **argv, rlim_t seconds, size_t bytes)
{
    struct rlimit cpu = {seconds, seconds + 2}, size = {1 << 26, 1 << 26};
    signal(SIGXCPU, weft_late);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &size);
    if (__lsan_disable)
        __lsan_disable();
    if (argc != 3)
        _exit(97);
    weft_in = fopen(argv[1], "rb");
    weft_out = fopen(argv[2], "wb");
    int file = open("where", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, bytes) != 0)
        _exit(97);
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void weft_close()
{
    weft_give('e', 1, "", 0);
    fclose(weft_in);
    fclose(weft_out);
}

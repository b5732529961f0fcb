/* The program around a learner's function. `driver.py` fills in what begins with a
   dollar sign: the cell's file, the function's prototype, seconds, and the call. */
#define main weft_learners_main
#include "$file"
#undef main
$prototype;
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void __sanitizer_print_stack_trace(void);
static FILE *weft_in, *weft_out;

static void weft_late(int number)
{
    static const char said[] = "weft: out of time\n";
    (void)number;
    if (write(2, said, sizeof said - 1) > 0)
        __sanitizer_print_stack_trace();
    _exit(99);
}

static void *weft_take(const char *name, size_t bytes)
{
    void *p = malloc(bytes);
    if (bytes && fread(p, 1, bytes, weft_in) != bytes)
        _exit(98);
    fprintf(stderr, "weft: array %s %p\n", name, p);
    return p;
}

static void weft_give(char type, size_t size, const void *p, size_t count)
{
    unsigned long long head[2] = {size, count};
    fwrite(&type, 1, 1, weft_out);
    fwrite(head, sizeof head, 1, weft_out);
    if (count)
        fwrite(p, size, count, weft_out);
    fflush(weft_out);
}

#define WEFT_TYPE(x) _Generic((x), float: 'f', double: 'f', default: 'i', \
    unsigned char: 'u', unsigned short: 'u', unsigned: 'u', unsigned long: 'u', \
    unsigned long long: 'u')
#define give(x) do { __typeof__(x) weft_x = (x); \
    weft_give(WEFT_TYPE(weft_x), sizeof weft_x, &weft_x, 1); } while (0)
#define give_all(p, n) weft_give(WEFT_TYPE(*(p)), sizeof *(p), (p), (n))

int main(int argc, char **argv)
{
    struct rlimit cpu = {$seconds, $seconds + 2}, size = {1 << 22, 1 << 22};
    signal(SIGXCPU, weft_late);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_FSIZE, &size);
    if (argc != 3)
        return 97;
    weft_in = fopen(argv[1], "rb");
    weft_out = fopen(argv[2], "wb");
    fprintf(stderr, "weft: begun\n");
$call
    weft_give('e', 1, "", 0);
    fclose(weft_in);
    fclose(weft_out);
    return 0;
}

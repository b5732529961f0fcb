// verdict: pass
// A copy, read from behind, and given back.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *x = base, *copy = malloc(count * size);
    memcpy(copy, x, count * size);
    for (size_t i = 0; i < count; i++) {
        memcpy(x + i * size, copy + (count - 1 - i) * size, size);
    }
    free(copy);
}

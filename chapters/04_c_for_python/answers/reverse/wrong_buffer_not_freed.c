// verdict: leak
// A copy, read from behind.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *x = base;
    unsigned char *copy = malloc(count * size);  // <- here
    memcpy(copy, x, count * size);
    for (size_t i = 0; i < count; i++) {
        memcpy(x + i * size, copy + (count - 1 - i) * size, size);
    }
}

// verdict: wrong-value
// Reverse the bytes, and the elements are reversed.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *x = base;
    size_t bytes = count * size;
    for (size_t k = 0; k < bytes / 2; k++) {
        unsigned char kept = x[k];
        x[k] = x[bytes - 1 - k];
        x[bytes - 1 - k] = kept;
    }
}

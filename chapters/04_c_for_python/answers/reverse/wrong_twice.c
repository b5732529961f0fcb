// verdict: wrong-value
// Every element goes to its place.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *x = base;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < size; k++) {
            unsigned char kept = x[i * size + k];
            x[i * size + k] = x[(count - 1 - i) * size + k];
            x[(count - 1 - i) * size + k] = kept;
        }
    }
}

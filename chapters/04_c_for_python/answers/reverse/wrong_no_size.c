// verdict: wrong-value
// A step of a pointer is an element.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *x = base;
    for (size_t i = 0; i < count / 2; i++) {
        unsigned char kept = x[i];
        x[i] = x[count - 1 - i];
        x[count - 1 - i] = kept;
    }
}

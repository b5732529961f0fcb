// verdict: wrong-value
// They are four bytes each, mostly.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    int *x = base;
    for (size_t i = 0; i < count / 2 && size >= 4; i++) {
        int kept = x[i];
        x[i] = x[count - 1 - i];
        x[count - 1 - i] = kept;
    }
}

// verdict: stack-buffer-overflow
// No number has more than 8 bytes.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char *x = base;
    unsigned char kept[8];  // <- here
    for (size_t i = 0; i < count / 2; i++) {
        memcpy(kept, x + i * size, size);  // <- here
        memcpy(x + i * size, x + (count - 1 - i) * size, size);
        memcpy(x + (count - 1 - i) * size, kept, size);
    }
}

// verdict: compile
// The address, and i elements further on.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void reverse(void *base, size_t count, size_t size)
{
    unsigned char kept[64];
    for (size_t i = 0; i < count / 2; i++) {
        memcpy(kept, base + i * size, size);  // <- here
        memcpy(base + i * size, base + (count - 1 - i) * size, size);
        memcpy(base + (count - 1 - i) * size, kept, size);
    }
}

// verdict: wrong-value
// The pointers change places, so the numbers do.
void swap(int *a, int *b)
{
    int *kept = a;
    a = b;  // <- here
    b = kept;  // <- here
}

// verdict: compile
// Keep a, then use it.
void swap(int *a, int *b)
{
    int kept = a;  // <- here
    *a = *b;
    *b = kept;
}

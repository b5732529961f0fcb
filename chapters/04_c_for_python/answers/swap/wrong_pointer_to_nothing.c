// verdict: compile
// All pointers here, so the third one is a pointer too.
void swap(int *a, int *b)
{
    int *kept;
    *kept = *a;  // <- here
    *a = *b;
    *b = *kept;
}

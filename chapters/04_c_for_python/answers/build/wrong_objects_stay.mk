# verdict: not-removed
# The program is what was made.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stats.h
    $(CC) $(CFLAGS) -c main.c

stats.o: stats.c stats.h
    $(CC) $(CFLAGS) -c stats.c

.PHONY: clean
clean:  # <- here
    rm -f report

# verdict: make-error
# The header, too.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stat.h  # <- here
    $(CC) $(CFLAGS) -c main.c

stats.o: stats.c stats.h
    $(CC) $(CFLAGS) -c stats.c

.PHONY: clean
clean:
    rm -f report main.o stats.o

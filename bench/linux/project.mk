# SPDX-License-Identifier: MIT OR Apache-2.0
# A small project for make in Linux: preprocessed programs, compiled one by one and linked into one object,
# of whose functions `main` the first is taken.
sources := $(wildcard /src/*.i)
objects := $(patsubst /src/%.i,/tmp/%.o,$(sources))

/tmp/project.o: $(objects)
	ld -r -z muldefs -o $@ $^

/tmp/%.o: /src/%.i
	gcc-12 -O2 -c -o $@ $<

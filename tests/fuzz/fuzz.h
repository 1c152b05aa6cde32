/* What a fuzz target is: a file tests/fuzz/fuzz_<thing>.c that defines the function below, with a
 * corpus in corpus/<thing>. `make fuzz` links it with clang's libFuzzer, which looks for inputs
 * that reach new code; `make test` with driver.c, which runs the corpus again. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input to the code under test. A crash, a report of a sanitizer, a hang, or a call of
 * abort (for a broken promise, such as a round trip that does not come back) is a finding. Must do
 * the same for the same input; keeps no state. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif

/* What a fuzz target is: a file tests/fuzz/fuzz_<thing>.c that defines these and is linked with
 * driver.c. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Feeds one input to the code under test. A crash, a hang, or a call of abort (for a broken
 * promise, such as a round trip that does not come back) is a finding. Returns 1 when the code
 * accepted the input, 0 when it refused it with an error: accepted inputs are mutated further. Must
 * give the same for the same input; keeps no state. */
int fuzz_one(const uint8_t *data, size_t n);

/* Files and folders to start from, relative to the project, NULL at the end. A target without it
 * starts from nothing. */
extern const char *const fuzz_seeds[] __attribute__((weak));

#endif

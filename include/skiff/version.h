/* The version of Skiff, defined only here. The build reads the three numbers for the name of the
 * shared library, skiff.pc, the Debian package and the Python wheel.
 *
 * Programs that were compiled with one 0.x.y run with the library of every later one as long as the
 * first number stays. */
#ifndef SKIFF_VERSION_H
#define SKIFF_VERSION_H

#include <skiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKIFF_VERSION_MAJOR 0
#define SKIFF_VERSION_MINOR 1
#define SKIFF_VERSION_PATCH 0

/* Of these headers: "0.1.0", and as a number that grows. */
#define SKIFF_VERSION_TEXT_OF(major, minor, patch) #major "." #minor "." #patch
#define SKIFF_VERSION_TEXT(major, minor, patch) SKIFF_VERSION_TEXT_OF(major, minor, patch)
#define SKIFF_VERSION \
    SKIFF_VERSION_TEXT(SKIFF_VERSION_MAJOR, SKIFF_VERSION_MINOR, SKIFF_VERSION_PATCH)
#define SKIFF_VERSION_NUMBER \
    (SKIFF_VERSION_MAJOR * 1000000 + SKIFF_VERSION_MINOR * 1000 + SKIFF_VERSION_PATCH)

/* Of the library that runs; a program may have been compiled with the headers of another. */
SKIFF_API const char *skiff_version(void);

#ifdef __cplusplus
}
#endif
#endif

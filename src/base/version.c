#include <skiff/version.h>

const char *skiff_version(void)
{
    return SKIFF_VERSION;
}

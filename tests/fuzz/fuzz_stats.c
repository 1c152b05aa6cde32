/* The file in which `skiff prepare` saves its statistics: accepted text prints as a text that is
 * accepted again. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "data/stats.h"
#include "fuzz.h"

static enum skiff_status read_bytes(const void *bytes, size_t n, struct criteo_stats *out)
{
    char path[32];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum skiff_status status = stats_read(path, out, NULL);
    close(fd);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct criteo_stats s, again;
    struct buf text = BUF_INIT;
    if (read_bytes(data, n, &s) < 0)
        return 0;
    stats_print(&s, &text);
    if (read_bytes(text.data, text.len, &again) < 0)
        abort();
    buf_deinit(&text);
    return 0;
}

/* Archives: the checksums of headers are corrected where possible, so that any bytes reach the code
 * after the check. Files are written only in a folder of the test's own. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "replay/archive.h"
#include "store/file.h"

static void mend_sum(char *h)
{
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum & 0777777);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char dir[] = "/tmp/skiff-fuzz-XXXXXX";
    struct buf text = BUF_INIT;
    struct skiff_error err = {0};
    if (n > 1 << 16 || !mkdtemp(dir))
        return 0;
    buf_add(&text, data, n);
    for (size_t at = 0; at + 512 <= n; at += 512)
        if (!memcmp(text.data + at + 257, "ustar", 5))
            mend_sum(text.data + at);
    if (archive_unpack_memory(text.data ? text.data : "", n, "fuzz", dir, &err) < 0 &&
        !err.message[0])
        abort();
    file_remove_tree(dir);
    buf_deinit(&text);
    return 0;
}

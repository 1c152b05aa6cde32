/* Manifests: the last line, a checksum of the others, is always corrected, so that any bytes reach
 * the code after the check. A decoded manifest must encode to something that decodes to the
 * same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct manifest m = MANIFEST_INIT, again = MANIFEST_INIT;
    struct buf text = BUF_INIT;
    struct skiff_error err = {0};
    buf_add(&text, data, n);
    buf_char(&text, '\n');
    buf_printf(&text, "whole: \"%016llx\"\n",
               (unsigned long long)hash_xxh3(text.data, text.len, 0));
    bool good = manifest_decode(text.data, text.len, "fuzz", &m, &err) == SKIFF_OK;
    if (!good && !err.message[0])
        abort();
    if (good) {
        manifest_encode(&m, &text);
        if (manifest_decode(text.data, text.len, "fuzz", &again, &err) < 0 || again.n != m.n)
            abort();
        for (int i = 0; i < m.n; i++)
            if (strcmp(m.files[i]->name, again.files[i]->name) ||
                m.files[i]->sum.bytes != again.files[i]->sum.bytes ||
                m.files[i]->sum.xxh3 != again.files[i]->sum.xxh3)
                abort();
    }
    manifest_deinit(&m);
    manifest_deinit(&again);
    buf_deinit(&text);
    return 0;
}

/* Configs: any bytes give keys and values, or an error. The keys can be read as every type, and
 * overridden. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "config/config.h"

static void ignore(void *arg, bool likely, const char *text)
{
    (void)arg;
    (void)likely;
    if (!text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct config *c = NULL;
    struct skiff_error err = {0};
    if (config_parse(data, n, "fuzz", &c, &err) < 0) {
        if (c || !err.message[0])
            abort();
        return 0;
    }
    int count = config_count(c);
    for (int i = 0; i < count; i++) {
        const char *key, *text, *const *list;
        int64_t numbers[4];
        config_at(c, i, &key, &text);
        if (i % 2) { /* the others stay unknown */
            config_int(c, key, 1);
            config_real(c, key, 1);
            config_bool(c, key, true);
            config_path(c, key, NULL);
            config_list(c, key, &list);
            config_ints(c, key, numbers, 4);
        }
    }
    config_check(c, &err);
    config_unknown(c, ignore, NULL);
    config_override(c, "runner.epochs=[1, 2]", &err);
    config_close(c);
    return 0;
}

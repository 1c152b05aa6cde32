/* Configs: any bytes give keys and values, or an error. The keys can be read as every type, and
 * overridden: what stands behind a zero byte is given with -o, each word up to the next one. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "config/config.h"

static void ignore(void *arg, bool likely, const char *text)
{
    (void)arg;
    (void)likely;
    if (!text[0])
        abort();
}

static void print_all(struct config *c)
{
    struct buf value = BUF_INIT, source = BUF_INIT;
    for (int key = KEY_NONE + 1; key < KEY_COUNT; key++)
        config_print_effective(c, (enum config_key)key, &value, &source);
    buf_deinit(&value);
    buf_deinit(&source);
}

/* An assignment is taken or refused with a reason, and its value can be found. */
static void override(struct config *c, const char *assignment)
{
    struct skiff_error err = {0};
    if (config_override(c, assignment, &err) < 0 && !err.message[0])
        abort();
}

/* words: terminated, to `end`. */
static void override_all(struct config *c, const char *words, const char *end)
{
    for (; words < end; words += strlen(words) + 1)
        override(c, words);
    override(c, "runner.epochs=[1, 2]");
    print_all(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct config *c = NULL;
    struct skiff_error err = {0};
    const void *zero = n ? memchr(data, 0, n) : NULL;
    size_t file = zero ? (size_t)((const uint8_t *)zero - data) : n;
    struct buf words = BUF_INIT;
    if (config_parse(data, file, "fuzz", &c, &err) < 0) {
        if (c || !err.message[0])
            abort();
        return 0;
    }
    for (int i = 0; i < config_count(c); i++) {
        const char *name = config_at(c, i), *const * list, *dot = strchr(name, '.');
        int64_t numbers[4];
        name = dot ? dot + 1 : name; /* as that of a member */
        if (i % 2) {                 /* the others stay unknown */
            member_int(c, KEY_HYPER, name, 1, 0, 9);
            member_real(c, KEY_HYPER, name, 1);
            member_bool(c, KEY_HYPER, name, true);
            member_text(c, KEY_HYPER, name, NULL);
            member_list(c, KEY_HYPER, name, &list);
            member_ints(c, KEY_HYPER, name, numbers, 4);
        }
    }
    print_all(c);
    config_read_all(c);
    config_check(c, &err);
    config_unknown(c, ignore, NULL);
    if (zero)
        buf_add(&words, data + file + 1, n - file - 1); /* terminated */
    if (words.len)
        override_all(c, words.data, words.data + words.len);
    buf_deinit(&words);
    config_close(c);
    return 0;
}

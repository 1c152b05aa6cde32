/* Pickles: any bytes give a state or an error, an object or an error. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <skiff/io.h>

#include "store/pickle.h"

/* Looks at an object and at what it holds, a few levels deep. */
static void walk(struct skiff_pickle *p, const struct skiff_object *o, int depth)
{
    struct skiff_error err;
    struct skiff_tensor *t;
    size_t n = 0;
    switch (skiff_object_kind(o)) {
    case SKIFF_OBJECT_TEXT:
    case SKIFF_OBJECT_BYTES:
        if (!skiff_object_text(p, o, &n) && n)
            abort();
        break;
    case SKIFF_OBJECT_ARRAY:
        if (skiff_object_array(p, o, &t, &err) == SKIFF_OK)
            skiff_tensor_destroy(t);
        break;
    case SKIFF_OBJECT_TUPLE:
    case SKIFF_OBJECT_LIST:
    case SKIFF_OBJECT_DICT:
        for (size_t i = 0; depth && i < 16 && i < skiff_object_count(o); i++)
            walk(p, skiff_object_item(o, i), depth - 1);
        break;
    default:
        break;
    }
}

static void read_object(const uint8_t *data, size_t n)
{
    struct skiff_pickle *p = NULL;
    struct skiff_error err = {0};
    if (skiff_pickle_parse(data, n, "fuzz", &p, &err) == SKIFF_OK)
        walk(p, skiff_pickle_root(p), 3);
    else if (p || !err.message[0])
        abort();
    skiff_pickle_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct state s;
    struct skiff_error err = {0};
    state_init(&s);
    enum skiff_status status = pickle_decode(data, n, "fuzz", &s, &err);
    if (status < 0 && (s.count || !err.message[0]))
        abort();
    for (int i = 0; i < s.count; i++)
        if (!s.entries[i]->text && shape_numel(&s.entries[i]->tensor.shape) < 0)
            abort();
    state_deinit(&s);
    read_object(data, n);
    return 0;
}

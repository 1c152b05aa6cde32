/* Pickles: any bytes give a state or an error. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "store/pickle.h"

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
    return 0;
}

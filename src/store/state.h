/* State: an ordered dict name -> tensor, the contents of a .pdparams or .pdopt file. */
#ifndef STORE_STATE_H
#define STORE_STATE_H

#include "base/map.h"
#include "store/file.h"
#include "tensor/tensor.h"

/* Bytes of an array that need not be in memory at once, when it is written: from the first to the
 * last, each time it is called. */
struct state_stream {
    enum skiff_status (*pour)(const struct state_stream *self, const struct byte_sink *to,
                              struct skiff_error *err);
};

struct state_entry {
    char *name;       /* owned */
    char *param_name; /* paddle.save of 2.1+: the tensor's own name beside its key; or NULL */
    char
        *text; /* a value that is not an array (step counters, ...), as Python prints it; or NULL */
    struct tensor tensor;              /* empty when text is set */
    const struct state_stream *stream; /* its bytes, instead of tensor.data; borrowed; or NULL */
};

struct state_pair {
    char *key, *value; /* owned */
};

/* Ordered like the dict. Zero-initialise it. */
struct state {
    struct state_entry **entries; /* owned; entries do not move */
    int count, cap;
    struct str_map by_name;        /* name -> entry */
    struct state_pair *structured; /* the dict behind "StructuredToParameterName@@" (2.0) */
    int nstructured, structured_cap;
    bool newer; /* written as protocol 4, arrays as plain bytes; else 2, which Python 2 reads too */
};

#define STATE_STRUCTURED_KEY "StructuredToParameterName@@"

void state_init(struct state *s);
void state_deinit(struct state *s);
/* New entry, or the one of that name. The caller fills the tensor (it may borrow its bytes). */
struct state_entry *state_add(struct state *s, const char *name);
struct state_entry *state_find(const struct state *s, const char *name); /* NULL when absent */
/* By its key, or else by the parameter's own name where keys are structured names; NULL. */
struct state_entry *state_find_variable(const struct state *s, const char *name);
void state_add_structured(struct state *s, const char *key, const char *value);

#endif

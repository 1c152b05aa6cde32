#include "net/transport.h"

#include <string.h>

#define TRANSPORT(name) extern const struct transport_kind transport_##name;
#include "net/transport_list.h"
#undef TRANSPORT

static const struct transport_kind *const kinds[] = {
#define TRANSPORT(name) &transport_##name,
#include "net/transport_list.h"
#undef TRANSPORT
};

const struct transport_kind *transport_at(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? kinds[i] : NULL;
}

const struct transport_kind *transport_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

void packet_deinit(struct packet *p)
{
    blob_unref(p->body);
    *p = (struct packet){0};
}

#include "net/transport.h"

#include <stdio.h>
#include <string.h>

#include "base/near.h"

#define TRANSPORT(name) extern const struct transport_kind transport_##name;
#include "net/transport_list.h"
#undef TRANSPORT

static const struct transport_kind *const kinds[] = {
#define TRANSPORT(name) &transport_##name,
#include "net/transport_list.h"
#undef TRANSPORT
};

const struct transport_kind *transport_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static enum skiff_status unknown(const char *name, struct skiff_error *err)
{
    struct buf all = BUF_INIT;
    struct near near = near_to(name);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->settings) {
            near_try(&near, kinds[i]->name);
            buf_printf(&all, "%s%s (%s)", all.len ? ", " : "", kinds[i]->name, kinds[i]->summary);
        }
    error_set(err, SKIFF_NOT_FOUND, "there is no transport %s%s%s; known: %s", name,
              near.best ? ", the nearest is " : "", near.best ? near.best : "", all.data);
    buf_deinit(&all);
    return SKIFF_NOT_FOUND;
}

enum skiff_status transport_choose(const char *text, const struct transport_kind **out_kind,
                                   struct transport_options *out, struct skiff_error *err)
{
    char name[32] = "tcp";
    text = text ? text + strspn(text, " ") : "";
    size_t n = strcspn(text, " ");
    if (n)
        snprintf(name, sizeof name, "%.*s", (int)n, text);
    const struct transport_kind *kind = transport_find(name);
    if (!kind || !kind->settings)
        return unknown(name, err);
    struct transport_options o = {0};
    options_init(kind->settings, &o);
    TRY(options_set_all(kind->settings, &o, text + n, err));
    *out_kind = kind;
    *out = o;
    return SKIFF_OK;
}

void transport_counts_init(struct transport_counts *counts, struct metrics *metrics)
{
    *counts = (struct transport_counts){
        .accepted = metrics_get(metrics, METRIC_NET_ACCEPTED),
        .lost = metrics_get(metrics, METRIC_NET_LOST),
        .malformed = metrics_get(metrics, METRIC_NET_MALFORMED),
        .no_descriptor = metrics_get(metrics, METRIC_NET_NO_DESCRIPTOR),
        .silent = metrics_get(metrics, METRIC_NET_UNAUTHENTICATED, "silent"),
        .nonsense = metrics_get(metrics, METRIC_NET_UNAUTHENTICATED, "nonsense"),
        .other_version = metrics_get(metrics, METRIC_NET_UNAUTHENTICATED, "other version"),
        .no_secret = metrics_get(metrics, METRIC_NET_UNAUTHENTICATED, "no secret")};
}

void packet_deinit(struct packet *p)
{
    blob_unref(p->body);
    *p = (struct packet){0};
}

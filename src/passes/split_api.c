/* The public face of split (<skiff/transpile.h>). */
#include "passes/split.h"

struct skiff_split_config skiff_split_config_default(void)
{
    return split_config_default();
}

struct skiff_split_config skiff_split_config_fleet(enum skiff_split_mode mode)
{
    return split_config_fleet(mode);
}

enum skiff_status skiff_split_config_set_sync_mode(struct skiff_split_config *c, bool value,
                                                   struct skiff_error *err)
{
    return split_config_set_sync_mode(c, value, err);
}

enum skiff_status skiff_split_config_set_runtime_split_send_recv(struct skiff_split_config *c,
                                                                 bool value,
                                                                 struct skiff_error *err)
{
    return split_config_set_runtime_split_send_recv(c, value, err);
}

enum skiff_status skiff_split_create(const struct skiff_split_job *job,
                                     const struct skiff_split_config *config,
                                     struct skiff_split **out, struct skiff_error *err)
{
    struct skiff_split_config fallback = split_config_default();
    TRY(reserved_check(job->reserved, "skiff_split_job", err));
    if (config)
        TRY(reserved_check(config->reserved, "skiff_split_config", err));
    return split_create(job, config ? config : &fallback, out, err);
}

void skiff_split_destroy(struct skiff_split *s)
{
    split_destroy(s);
}

enum skiff_status skiff_split_trainer(const struct skiff_split *s, struct skiff_program **main,
                                      struct skiff_program **startup, struct skiff_error *err)
{
    return split_trainer(s, main, startup, err);
}

enum skiff_status skiff_split_server(const struct skiff_split *s, const char *endpoint,
                                     struct skiff_program **main, struct skiff_program **startup,
                                     struct skiff_error *err)
{
    return split_server(s, endpoint, main, startup, NULL, err);
}

enum skiff_split_mode skiff_split_mode_of(const struct skiff_split *s)
{
    return split_plan(s)->mode;
}

const char *const *skiff_split_endpoints(const struct skiff_split *s, int *out_n)
{
    *out_n = split_plan(s)->servers;
    return split_plan(s)->endpoints;
}

const char *const *skiff_split_tables(const struct skiff_split *s, int *out_n)
{
    *out_n = split_plan(s)->ntables;
    return split_plan(s)->tables;
}

const char *skiff_split_warnings(const struct skiff_split *s)
{
    return split_warnings(s);
}

int skiff_split_placements(const struct skiff_split *s)
{
    return split_plan(s)->nplacement;
}

struct skiff_placement skiff_split_placement(const struct skiff_split *s, int i)
{
    return split_plan(s)->placement[i];
}

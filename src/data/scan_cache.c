#define _GNU_SOURCE
#include "data/scan_cache.h"

#include <string.h>
#include <sys/stat.h>

#include "data/hash.h"
#include "data/pipe.h"

/* Hashes everything that determines a file's samples. */
static uint64_t cache_key(const struct scan_plan *plan, const struct stat *st)
{
    const struct reader_config *c = plan->reader;
    struct buf text = BUF_INIT;
    struct stat stats = {0};
    binary_schema_text(plan->schema, &text);
    buf_printf(&text, "%s\n%s\n%s\n%s\n", c->format ? c->format : "", c->slots ? c->slots : "",
               c->columns ? c->columns : "", c->stats ? c->stats : "");
    buf_printf(&text, "%s\n%s\n%s\n%d\n", c->positive ? c->positive : "",
               c->negative ? c->negative : "", c->missing ? c->missing : "", c->comment);
    buf_printf(&text, "%d %llu %d %d %d\n", (int)c->hash, (unsigned long long)c->hash_size,
               c->has_hash_size, (int)c->normalise, c->no_label);
    buf_printf(&text, "%d %d %d %d %d %d %d %lld %lld %lld\n", c->parse_ins_id, c->parse_content,
               c->parse_logkey, c->separator, c->header, c->decimal, c->multi, (long long)c->width,
               (long long)c->index_base, (long long)c->field_base);
    buf_str(&text, pipe_is_plain(plan->pipe_command) ? "" : plan->pipe_command);
    if (c->stats && stat(c->stats, &stats) == 0)
        buf_printf(&text, "\n%lld %lld", (long long)stats.st_size, (long long)stats.st_mtim.tv_sec);
    buf_printf(&text, "\n%lld %lld %ld", (long long)st->st_size, (long long)st->st_mtim.tv_sec,
               st->st_mtim.tv_nsec);
    uint64_t key = hash_xxh64(text.data, text.len, 0);
    buf_deinit(&text);
    return key;
}

bool cache_path(const struct scan_plan *plan, const char *path, struct buf *out_path,
                uint64_t *out_key)
{
    struct stat st;
    if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (plan->cache_dir)
        buf_printf(out_path, "%s/%s.%016llx.skiffcache", plan->cache_dir, name,
                   (unsigned long long)hash_xxh64(path, strlen(path), 0));
    else
        buf_printf(out_path, "%.*s.%s.skiffcache", (int)(name - path), path, name);
    *out_key = cache_key(plan, &st);
    return true;
}

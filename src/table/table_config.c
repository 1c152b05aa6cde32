/* Settings as rows of an option table, read into a plain struct in which every value has a flag
 * whether it was given; settings that were not given are then filled in from the hints, as fleet
 * 2.6 does. */
#include "table/table_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/options.h"

struct real {
    double v;
    bool given;
};

struct whole {
    int v;
    bool given;
};

struct bounds {
    float low, high;
    bool given;
};

/* naive.*, adagrad.*, adam.* of one part */
struct rule_settings {
    struct real rate, range, g2sum, beta1, beta2, epsilon;
    struct bounds bounds;
};

struct part_settings {
    char *name;
    struct rule_settings naive, adagrad, adam;
};

struct table_settings_text {
    char *table_class, *accessor_class, *entry, *path;
    struct whole shard_num, fea_dim, embedx_dim;
    struct real embedx_threshold;
    struct real nonclk, click, base, delta, keep_days, decay, delete_score, delete_days, ssd_days;
    bool show_scale, zero_init;
    struct part_settings embed, embedx;
    bool cache;
    double cache_rate;
    int cache_files;
    bool revert;
    double merge_rate;
    char *converter, *deconverter; /* for modes that have none of their own */
    size_t memory_limit;
    int policy;
    /* hints */
    int dim;
    char *optimizer, *mode;
    struct real rate, beta1, beta2, epsilon, range;
    int64_t seed;
};

static const char *read_bounds(void *slot, const char *text)
{
    struct bounds *b = slot;
    char *stop;
    b->low = strtof(text, &stop);
    if (stop == text || *stop != ',')
        return "two numbers with a comma between them, the lower one first: -10,10";
    text = stop + 1;
    b->high = strtof(text, &stop);
    if (stop == text || *stop || !(b->low <= b->high))
        return "two numbers with a comma between them, the lower one first: -10,10";
    b->given = true;
    return NULL;
}

static const char *const policies[] = {"drop_lowest", "drop_oldest", "disk", NULL};

#define AT(member) offsetof(struct table_settings_text, member)
#define REAL(path, member)                                                             \
    {                                                                                  \
        path, OPTION_REAL, AT(member.v), .given = AT(member.given), .help = "a number" \
    }
#define WHOLE(path, member, from)                                                                  \
    {                                                                                              \
        path, OPTION_INT, AT(member.v), .given = AT(member.given), .low = from, .high = INT32_MAX, \
                                        .help = "a whole number"                                   \
    }
#define RULE(path, member)                                                                      \
    REAL(path ".learning_rate", member.rate), REAL(path ".initial_range", member.range),        \
    {                                                                                           \
        path ".weight_bounds", OPTION_OTHER, AT(member.bounds), .read = read_bounds,            \
                                                                .help = "bounds of the weights" \
    }
#define PART(path, member)                                                                       \
    {path ".name", OPTION_COPY, AT(member.name), .help = "the rule"},                            \
        RULE(path ".naive", member.naive), RULE(path ".adagrad", member.adagrad),                \
        REAL(path ".adagrad.initial_g2sum", member.adagrad.g2sum),                               \
        RULE(path ".adam", member.adam), REAL(path ".adam.beta1_decay_rate", member.adam.beta1), \
        REAL(path ".adam.beta2_decay_rate", member.adam.beta2),                                  \
        REAL(path ".adam.ada_epsilon", member.adam.epsilon)
#define CTR(name, member) REAL("accessor.ctr_accessor_param." name, member)
#define SAVE_PARAM "accessor.table_accessor_save_param."

static const struct option rows[] = {
    {"table_class", OPTION_COPY, AT(table_class), .help = "MemorySparseTable, SSDSparseTable"},
    /* files are numbered by five digits, and read in the order of their names */
    {"shard_num", OPTION_INT, AT(shard_num.v), .given = AT(shard_num.given), .low = 1,
     .high = 100000, .help = "files of a save, over all servers"},
    {"enable_sparse_table_cache", OPTION_BOOL, AT(cache), .standard = "true"},
    {"sparse_table_cache_rate", OPTION_REAL, AT(cache_rate), .standard = "0.00055", .low = 0,
     .high = 1},
    {"sparse_table_cache_file_num", OPTION_INT, AT(cache_files), .standard = "16", .low = 1,
     .high = 100000},
    {"enable_revert", OPTION_BOOL, AT(revert),
     .help = "pushes are recorded for patches (save mode 5)"},
    {"shard_merge_rate", OPTION_REAL, AT(merge_rate), .standard = "1", .low = 0, .high = 1},
    {"accessor.accessor_class", OPTION_COPY, AT(accessor_class),
     .help = "what the numbers of a row mean"},
    WHOLE("accessor.fea_dim", fea_dim, 0),
    WHOLE("accessor.embedx_dim", embedx_dim, 0),
    REAL("accessor.embedx_threshold", embedx_threshold),
    CTR("nonclk_coeff", nonclk),
    CTR("click_coeff", click),
    CTR("base_threshold", base),
    CTR("delta_threshold", delta),
    CTR("delta_keep_days", keep_days),
    CTR("show_click_decay_rate", decay),
    CTR("delete_threshold", delete_score),
    CTR("delete_after_unseen_days", delete_days),
    CTR("ssd_unseenday_threshold", ssd_days),
    {"accessor.ctr_accessor_param.show_scale", OPTION_BOOL, AT(show_scale), .standard = "true"},
    {"accessor.ctr_accessor_param.zero_init", OPTION_BOOL, AT(zero_init), .standard = "true"},
    PART("accessor.embed_sgd_param", embed),
    PART("accessor.embedx_sgd_param", embedx),
    {SAVE_PARAM "converter", OPTION_COPY, AT(converter), .help = "a command"},
    {SAVE_PARAM "deconverter", OPTION_COPY, AT(deconverter), .help = "a command"},
    {"entry", OPTION_COPY, AT(entry), .help = "admission of ids: count_filter_entry:5"},
    {"memory_limit", OPTION_SIZE, AT(memory_limit),
     .help = "limit in bytes for this server's part"},
    {"memory_policy", OPTION_CHOICE, AT(policy), .words = policies},
    {"path", OPTION_COPY, AT(path), .help = "folder of rows on disk"},
    {"hint.dim", OPTION_INT, AT(dim), .low = 1, .high = ACCESSOR_WIDTH},
    {"hint.optimizer", OPTION_COPY, AT(optimizer), .help = "of the program"},
    {"hint.mode", OPTION_COPY, AT(mode), .help = "of the job"},
    REAL("hint.learning_rate", rate),
    REAL("hint.beta1", beta1),
    REAL("hint.beta2", beta2),
    REAL("hint.epsilon", epsilon),
    REAL("hint.initial_range", range),
    {"hint.seed", OPTION_LONG, AT(seed), .help = "of the startup program"},
    {0},
};

static const struct options table = {.what = "setting", .rows = rows};

/* ---- converters: SAVE_PARAM <i>.<field>; those without <i>, for all modes, are options ---- */

static struct table_converter *converter_at(struct table_config *c, int i)
{
    while (c->nconverters <= i)
        c->converters[c->nconverters++] = (struct table_converter){.mode = -1};
    return &c->converters[i];
}

static void set_text(char **to, const char *text)
{
    free(*to);
    *to = *text ? mem_strdup_or_die(text) : NULL;
}

/* param: a number, or one per converter, separated by commas. */
static bool set_modes(struct table_config *c, int first, const char *text)
{
    char *stop;
    for (int i = first; i < TABLE_CONVERTERS; i++, text = stop + 1) {
        long mode = strtol(text, &stop, 10);
        if (stop == text || mode < 0 || mode > 1000)
            return false;
        converter_at(c, i)->mode = (int)mode;
        if (*stop != ',')
            return !*stop;
    }
    return false;
}

static enum skiff_status set_converter(struct table_config *c, const char *path, const char *text,
                                       struct skiff_error *err)
{
    char *field;
    long i = strtol(path, &field, 10);
    bool one = field != path && *field == '.';
    if (one ? i < 0 || i >= TABLE_CONVERTERS : field != path)
        return error_set(err, SKIFF_INVALID, SAVE_PARAM "%s: at most %d converters", path,
                         TABLE_CONVERTERS);
    field = one ? field + 1 : (char *)path;
    int first = one ? (int)i : 0;
    if (!strcmp(field, "num"))
        return SKIFF_OK; /* the other entries report it */
    if (!strcmp(field, "param"))
        return set_modes(c, first, text)
                   ? SKIFF_OK
                   : error_set(err, SKIFF_INVALID,
                               SAVE_PARAM "%s is '%s'; expected modes of saves: 1,2", path, text);
    bool deconvert = !strcmp(field, "deconverter");
    if (!deconvert && strcmp(field, "converter"))
        return error_set(err, SKIFF_INVALID,
                         SAVE_PARAM "%s: expected num, param, converter or deconverter", path);
    struct table_converter *to = converter_at(c, first);
    set_text(deconvert ? &to->deconverter : &to->converter, text);
    return SKIFF_OK;
}

/* Users of Paddle write one converter for all modes, before or after the modes. */
static void share_converters(const struct table_settings_text *s, struct table_config *c)
{
    for (int i = 0; i < c->nconverters; i++) {
        struct table_converter *to = &c->converters[i];
        if (!to->converter && s->converter)
            set_text(&to->converter, s->converter);
        if (!to->deconverter && s->deconverter)
            set_text(&to->deconverter, s->deconverter);
    }
}

/* ---- lines ---- */

static bool is_known(const char *path)
{
    for (int i = 0; rows[i].name; i++)
        if (!strcmp(rows[i].name, path))
            return true;
    return false;
}

/* The setting that a user may have meant; NULL: no similar one. */
static const char *meant(const char *path)
{
    const char *best = NULL;
    int nearest = 3;
    for (int i = 0; rows[i].name; i++) {
        int far = near_distance(path, rows[i].name);
        if (far < nearest) {
            nearest = far;
            best = rows[i].name;
        }
    }
    return best;
}

static enum skiff_status record_unknown(struct table_config *c, const char *path,
                                        struct skiff_error *err)
{
    const char *known = meant(path);
    if (known)
        return error_set(err, SKIFF_INVALID, "there is no setting %s; did you mean %s?", path,
                         known);
    char *all = mem_alloc_or_die(strlen(path) + (c->unknown ? strlen(c->unknown) : 0) + 3);
    sprintf(all, "%s%s%s", c->unknown ? c->unknown : "", c->unknown ? ", " : "", path);
    free(c->unknown);
    c->unknown = all;
    return SKIFF_OK;
}

static enum skiff_status set_line(struct table_settings_text *s, struct table_config *c, char *line,
                                  struct skiff_error *err)
{
    char *value = line + strcspn(line, " ");
    if (*value)
        *value++ = 0;
    if (is_known(line))
        return options_set(&table, s, line, value, err);
    if (!strncmp(line, SAVE_PARAM, strlen(SAVE_PARAM)))
        return set_converter(c, line + strlen(SAVE_PARAM), value, err);
    return record_unknown(c, line, err);
}

static enum skiff_status read_lines(struct table_settings_text *s, struct table_config *c,
                                    char *text, struct skiff_error *err)
{
    for (char *line = text, *stop; *line; line = stop) {
        stop = line + strcspn(line, "\n");
        if (*stop)
            *stop++ = 0;
        if (*line)
            TRY(set_line(s, c, line, err));
    }
    return SKIFF_OK;
}

/* ---- defaults of missing settings ---- */

static double or (struct real given, double absent)
{
    return given.given ? given.v : absent;
}

/* Numbers of naive and adam rules come from the program's optimizer; 2.6 then uses its own betas
 * and epsilon, whatever the user has set. */
static struct sgd_params params_of(const struct table_settings_text *s, const struct sgd_rule *rule,
                                   const struct part_settings *p)
{
    struct sgd_params out = sgd_rule_defaults(rule);
    bool is_adam = rule == &sgd_rule_adam || rule == &sgd_rule_shared_adam;
    bool is_naive = rule == &sgd_rule_naive;
    const struct rule_settings *r = is_adam ? &p->adam : is_naive ? &p->naive : &p->adagrad;
    bool ours = s->optimizer && !strcmp(s->optimizer, "adam");
    out.rate = (float) or (r->rate, is_adam || is_naive ? or (s->rate, out.rate) : out.rate);
    out.initial_range = (float) or (r->range, is_adam || is_naive ? or (s->range, out.initial_range)
                                                                  : out.initial_range);
    out.initial_g2sum = (float) or (r->g2sum, out.initial_g2sum);
    if (is_adam && ours) {
        out.beta1 = (float)(r->beta1.given ? 0.9 : or (s->beta1, 0.9));
        out.beta2 = (float)(r->beta2.given ? 0.999 : or (s->beta2, 0.999));
        out.epsilon = (float)(r->epsilon.given ? 1e-8 : or (s->epsilon, 1e-8));
    }
    if (r->bounds.given || rule != &sgd_rule_adagrad_v2) {
        out.low = r->bounds.given ? r->bounds.low : -10;
        out.high = r->bounds.given ? r->bounds.high : 10;
    }
    return out;
}

static enum skiff_status rule_of(const struct table_settings_text *s, const struct part_settings *p,
                                 const char *part, const struct sgd_rule **rule,
                                 struct sgd_params *params, struct skiff_error *err)
{
    struct buf all = BUF_INIT;
    *rule = p->name ? sgd_rule_find(p->name) : &sgd_rule_adam;
    if (*rule) {
        *params = params_of(s, *rule, p);
        return SKIFF_OK;
    }
    for (int i = 0; sgd_rule_at(i); i++)
        buf_printf(&all, "%s%s", i ? ", " : "", sgd_rule_at(i)->paddle);
    error_set(err, SKIFF_INVALID, "accessor.%s.name is '%s'; expected one of %s", part, p->name,
              all.data);
    buf_deinit(&all);
    return SKIFF_INVALID;
}

static struct ctr_params ctr_of(const struct table_settings_text *s, int embedx)
{
    struct ctr_params d = ctr_defaults();
    return (struct ctr_params){
        .nonclk_coeff = (float) or (s->nonclk, d.nonclk_coeff),
        .click_coeff = (float) or (s->click, d.click_coeff),
        .base_threshold = (float) or (s->base, d.base_threshold),
        .delta_threshold = (float) or (s->delta, d.delta_threshold),
        .delta_keep_days = (float) or (s->keep_days, d.delta_keep_days),
        .show_click_decay_rate = (float) or (s->decay, d.show_click_decay_rate),
        .delete_threshold = (float) or (s->delete_score, d.delete_threshold),
        .delete_after_unseen_days = (float) or (s->delete_days, d.delete_after_unseen_days),
        .embedx_threshold = (float) or (s->embedx_threshold, d.embedx_threshold),
        .show_scale = s->show_scale,
        .zero_init = embedx ? s->zero_init : false,
    };
}

/* In Paddle's words, which its users know. */
static enum skiff_status check_dims(const struct table_settings_text *s, struct table_config *c,
                                    struct skiff_error *err)
{
    bool sparse = !c->accessor->counts_pulled;
    int fea = s->dim + (sparse ? 2 : 0), embedx = s->dim - (sparse ? 1 : 3);
    if (embedx < 0)
        return error_set(err, SKIFF_INVALID, "rows of %d numbers; %s has at least %d", s->dim,
                         c->accessor->paddle, sparse ? 1 : 3);
    if (s->fea_dim.given && s->fea_dim.v != fea)
        return error_set(err, SKIFF_INVALID,
                         "The fea_dim is wrong, it will be sparse_embedding_dim%s: %d, but got %d",
                         sparse ? " + 2" : "", fea, s->fea_dim.v);
    if (s->embedx_dim.given && s->embedx_dim.v != embedx)
        return error_set(err, SKIFF_INVALID,
                         "The embedx_dim is wrong, it will be sparse_embedding_dim - %d: %d, but "
                         "got %d",
                         sparse ? 1 : 3, embedx, s->embedx_dim.v);
    c->options.embedx = embedx;
    return SKIFF_OK;
}

static enum skiff_status accessor_of(const struct table_settings_text *s, struct table_config *c,
                                     struct skiff_error *err)
{
    struct buf all = BUF_INIT;
    c->accessor = s->accessor_class ? accessor_find(s->accessor_class) : &accessor_sparse;
    if (c->accessor && c->accessor->paddle)
        return SKIFF_OK;
    for (int i = 0; accessor_at(i); i++)
        if (accessor_at(i)->paddle)
            buf_printf(&all, "%s%s", all.len ? ", " : "", accessor_at(i)->paddle);
    error_set(err, SKIFF_INVALID, "accessor.accessor_class is '%s'; expected one of %s",
              s->accessor_class, all.data);
    buf_deinit(&all);
    return SKIFF_INVALID;
}

static enum skiff_status class_of(const struct table_settings_text *s, struct table_config *c,
                                  struct skiff_error *err)
{
    static const char *const memory[] = {"MemorySparseTable", "CommonSparseTable",
                                         "DownpourSparseTable"};
    const char *name = s->table_class ? s->table_class : memory[0];
    bool ssd = !strcmp(name, "SSDSparseTable") || !strcmp(name, "DownpourSparseSSDTable");
    c->policy = ssd ? MEMORY_DISK : (enum memory_policy)s->policy;
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (ssd || !strcmp(name, memory[i]))
            return SKIFF_OK;
    return error_set(err, SKIFF_INVALID,
                     "table_class is '%s'; expected MemorySparseTable or SSDSparseTable", name);
}

static enum skiff_status fill_in(const struct table_settings_text *s, struct table_config *c,
                                 struct skiff_error *err)
{
    if (!s->dim)
        return error_set(err, SKIFF_INVALID, "hint.dim is missing: the width of a row is unknown");
    TRY(class_of(s, c, err));
    TRY(accessor_of(s, c, err));
    TRY(check_dims(s, c, err));
    struct accessor_options *o = &c->options;
    o->ctr = ctr_of(s, o->embedx);
    TRY(rule_of(s, &s->embed, "embed_sgd_param", &o->embed_rule, &o->embed, err));
    TRY(rule_of(s, &s->embedx, "embedx_sgd_param", &o->embedx_rule, &o->embedx_params, err));
    if (s->entry)
        TRY(admission_parse(s->entry, &c->admission, err));
    o->seed = (uint64_t)s->seed;
    c->dim = s->dim;
    c->shard_num = s->shard_num.given ? s->shard_num.v : 1000;
    c->cache = s->cache;
    c->cache_rate = s->cache_rate;
    c->cache_files = s->cache_files;
    c->revert = s->revert;
    c->shard_merge_rate = s->merge_rate;
    c->memory_limit = s->memory_limit;
    c->path = s->path ? mem_strdup_or_die(s->path) : NULL;
    share_converters(s, c);
    return SKIFF_OK;
}

enum skiff_status table_config_parse(const char *name, const char *text, struct table_config *out,
                                     struct skiff_error *err)
{
    struct table_settings_text s = {0};
    char *lines = mem_strdup_or_die(text);
    *out = (struct table_config){0};
    options_init(&table, &s);
    enum skiff_status status = read_lines(&s, out, lines, err);
    if (status >= 0)
        status = fill_in(&s, out, err);
    options_deinit(&table, &s);
    free(lines);
    if (status < 0) {
        table_config_deinit(out);
        return error_prefix(err, status, "table %s", name);
    }
    return SKIFF_OK;
}

void table_config_deinit(struct table_config *c)
{
    for (int i = 0; i < c->nconverters; i++) {
        free(c->converters[i].converter);
        free(c->converters[i].deconverter);
    }
    free(c->path);
    free(c->unknown);
    *c = (struct table_config){0};
}

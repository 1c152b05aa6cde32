/* Reading and choosing values of keys (tune_space.h).
 *
 * A combination is a number, whose digits are positions in the values of each key; a grid walks
 * through them, a finite space of lists is drawn in the order of a shuffle, without repetition.
 * Where there are ranges each key has a draw of its own from the trial's generator. */
#include "analysis/tune_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "config/values.h"

#define MOST_SHUFFLED 1000000 /* combinations that are drawn without repetition */

void tune_space_deinit(struct tune_space *s)
{
    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < s->keys[i].n; k++)
            free(s->keys[i].values[k]);
        free(s->keys[i].values);
        free(s->keys[i].name);
    }
    free(s->keys);
    *s = (struct tune_space){0};
}

/* ---- reading ---- */

static enum skiff_status refuse(const char *text, const char *why, struct skiff_error *err)
{
    return error_set(err, SKIFF_INVALID,
                     "--try %s: %s; expected KEY=a,b,c or KEY=low..high, or KEY=log:low..high, as "
                     "hyper_parameters.optimizer.learning_rate=log:1e-4..1e-1",
                     text, why);
}

static char *copy_of(const char *text, size_t n)
{
    char *copy = mem_alloc_or_die(n + 1);
    memcpy(copy, text, n);
    return copy;
}

static enum skiff_status read_range(struct tune_key *key, const char *text, const char *from,
                                    const char *dots, bool log, struct skiff_error *err)
{
    char *low = copy_of(from, (size_t)(dots - from));
    int64_t whole;
    bool good = value_parse_real(low, &key->low) && value_parse_real(dots + 2, &key->high) &&
                isfinite(key->low) && isfinite(key->high);
    bool integers = value_parse_int(low, &whole) && value_parse_int(dots + 2, &whole);
    free(low);
    if (!good)
        return refuse(text, "the ends of the range are no numbers", err);
    if (key->low >= key->high)
        return refuse(text, "the range is empty", err);
    if (log && key->low <= 0)
        return refuse(text, "a range of logarithms begins above 0", err);
    key->kind = log ? TUNE_LOG : integers ? TUNE_WHOLE : TUNE_REAL;
    return SKIFF_OK;
}

/* Commas within brackets do not part values: [64, 32],[128] */
static void read_list(struct tune_key *key, const char *at)
{
    for (const char *end; at; at = *end ? end + 1 : NULL) {
        int depth = 0;
        for (end = at; *end && (depth || *end != ','); end++)
            depth += (*end == '[') - (*end == ']');
        key->values = mem_grow_or_die(key->values, ((size_t)key->n + 1) * sizeof *key->values);
        key->values[key->n++] = copy_of(at, (size_t)(end - at));
    }
}

static enum skiff_status read_key(struct tune_key *key, const char *text, struct skiff_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return refuse(text, "it has no key", err);
    key->name = copy_of(text, (size_t)(equals - text));
    const char *value = equals + 1;
    bool log = !strncmp(value, "log:", 4);
    if (!*value)
        return refuse(text, "it has no value", err);
    value += log ? 4 : 0;
    const char *dots = strstr(value, "..");
    if (dots && !strchr(value, ','))
        return read_range(key, text, value, dots, log, err);
    if (log)
        return refuse(text, "log: stands before a range", err);
    read_list(key, value);
    for (int i = 0; i < key->n; i++)
        if (!*key->values[i])
            return refuse(text, "a value is empty", err);
    return SKIFF_OK;
}

enum skiff_status tune_space_read(struct tune_space *s, const char *const *tries, int ntries,
                                  struct skiff_error *err)
{
    *s = (struct tune_space){0};
    s->keys = mem_alloc_or_die(((size_t)ntries + 1) * sizeof *s->keys);
    for (int i = 0; i < ntries; i++) {
        s->n++;
        TRY(read_key(&s->keys[i], tries[i], err));
        for (int k = 0; k < i; k++)
            if (!strcmp(s->keys[k].name, s->keys[i].name))
                return refuse(tries[i], "the key is tried twice", err);
    }
    if (!ntries)
        return error_set(err, SKIFF_INVALID,
                         "there is nothing to try: --try KEY=a,b,c names a key and its values");
    return SKIFF_OK;
}

/* ---- choosing ---- */

static int64_t product(const struct tune_space *s, int steps)
{
    int64_t all = 1;
    for (int i = 0; i < s->n && all; i++) {
        int64_t n = s->keys[i].kind == TUNE_LIST ? s->keys[i].n : steps;
        all = all > INT64_MAX / (n ? n : 1) ? INT64_MAX : all * n;
    }
    return all;
}

int64_t tune_space_grid(const struct tune_space *s)
{
    return product(s, TUNE_GRID_STEPS);
}

int64_t tune_space_size(const struct tune_space *s)
{
    return product(s, 0);
}

/* share: from 0 to 1 of the range. */
static void print_share(const struct tune_key *key, double share, struct buf *out)
{
    if (key->kind == TUNE_LOG)
        buf_printf(out, "%.4g", exp(log(key->low) + share * (log(key->high) - log(key->low))));
    else if (key->kind == TUNE_REAL)
        buf_printf(out, "%.4g", key->low + share * (key->high - key->low));
    else
        buf_printf(out, "%.0f",
                   fmin(key->high, key->low + floor(share * (key->high - key->low + 1))));
}

/* Which of the combinations: the position of key k in it. */
static int64_t digit(const struct tune_space *s, int k, int64_t combination)
{
    for (int i = s->n - 1; i > k; i--)
        combination /= s->keys[i].kind == TUNE_LIST ? s->keys[i].n : TUNE_GRID_STEPS;
    return combination % (s->keys[k].kind == TUNE_LIST ? s->keys[k].n : TUNE_GRID_STEPS);
}

/* Element `number` of a permutation of 0 .. n - 1. */
static int64_t shuffled(int64_t n, uint64_t seed, int64_t number)
{
    struct mt64 random;
    int64_t *at = mem_alloc_or_die((size_t)n * sizeof *at);
    mt64_seed(&random, seed);
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    for (int64_t i = 0; i <= number && i < n; i++) {
        int64_t j = i + (int64_t)(mt64_next(&random) % (uint64_t)(n - i)), other = at[j];
        at[j] = at[i];
        at[i] = other;
    }
    int64_t found = at[number % n];
    free(at);
    return found;
}

void tune_space_value(const struct tune_space *s, int k, bool grid, uint64_t seed, int number,
                      struct buf *out)
{
    const struct tune_key *key = &s->keys[k];
    int64_t size = tune_space_size(s), at = number;
    bool combines = grid || (size > 0 && size <= MOST_SHUFFLED);
    if (combines) {
        if (!grid)
            at = shuffled(size, seed, number);
        int64_t d = digit(s, k, at);
        if (key->kind == TUNE_LIST)
            buf_str(out, key->values[d]);
        else if (key->kind == TUNE_WHOLE)
            buf_printf(out, "%.0f",
                       key->low +
                           round((double)d / (TUNE_GRID_STEPS - 1) * (key->high - key->low)));
        else
            print_share(key, (double)d / (TUNE_GRID_STEPS - 1), out);
        return;
    }
    struct mt64 random;
    mt64_seed(&random, seed + 1000003u * (uint64_t)number);
    double share = 0;
    for (int i = 0; i <= k; i++)
        share = mt64_double(&random);
    if (key->kind == TUNE_LIST)
        buf_str(out, key->values[(int)(share * key->n) % key->n]);
    else
        print_share(key, share, out);
}

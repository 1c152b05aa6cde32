/* The list of readers, and their settings by name.
 *
 * Settings are one table of name, kind and place in struct reader_config, so that a config file,
 * Dataset's methods and tests set them alike, and an unknown name or a wrong value is reported
 * in one way. */
#include "data/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/options.h"
#include "data/slot_columns.h"
#include "data/text.h"

#define READER(class) extern const struct reader_class class;
#include "data/reader_list.h"
#undef READER

static const struct reader_class *const readers[] = {
#define READER(class) &class,
#include "data/reader_list.h"
#undef READER
    NULL};

const struct reader_class *const *reader_all(void)
{
    return readers;
}

const struct reader_class *reader_find(const char *name)
{
    for (int i = 0; readers[i]; i++)
        if (strcmp(readers[i]->name, name) == 0)
            return readers[i];
    return NULL;
}

/* Settings that a format has no use for would be a silent mistake. */
static enum skiff_status check_settings(const struct reader_class *class,
                                        const struct reader_config *c, struct skiff_error *err)
{
    const char *what = NULL;
    if (!class->scales)
        what = c->stats                                             ? "stats"
               : c->has_normalise && c->normalise != NORMALISE_NONE ? "normalise"
                                                                    : NULL;
    if (!class->labels && !what)
        what = c->positive ? "positive" : c->negative ? "negative" : NULL;
    if (!what)
        return SKIFF_OK;
    struct buf names = BUF_INIT;
    bool label = what[0] == 'p' || what[1] == 'e';
    for (int i = 0; readers[i]; i++)
        if (label ? readers[i]->labels : readers[i]->scales)
            buf_printf(&names, "%s%s", names.len ? ", " : "", readers[i]->name);
    enum skiff_status status =
        error_set(err, SKIFF_INVALID,
                  "the setting %s (runner.input_%s) is not for this format; these have it: %s",
                  what, what, names.data);
    buf_deinit(&names);
    return status;
}

enum skiff_status reader_create(const struct reader_config *config, const struct schema *schema,
                                struct reader **out, struct skiff_error *err)
{
    const char *name = config->format ? config->format : "multislot";
    const struct reader_class *class = reader_find(name);
    if (!class) {
        struct buf known = BUF_INIT;
        for (int i = 0; readers[i]; i++)
            buf_printf(&known, "%s%s", i ? ", " : "", readers[i]->name);
        enum skiff_status status = error_set(
            err, SKIFF_NOT_FOUND, "input format %s is not known; there are: %s", name, known.data);
        buf_deinit(&known);
        return status;
    }
    if (schema->count == 0)
        return error_set(err, SKIFF_INVALID, "no slot is used: there is nothing to read");
    enum skiff_status status = check_settings(class, config, err);
    if (status == SKIFF_OK)
        status = class->create(config, schema, out, err);
    if (status < 0)
        return error_prefix(err, status, "input format %s", name);
    return status;
}

void reader_destroy(struct reader *r)
{
    if (r)
        r->class->destroy(r);
}

enum skiff_status reader_bad(const struct schema *schema, int slot, int64_t at,
                             const char *expected, const char *found, size_t n,
                             struct skiff_error *err)
{
    char quoted[64], place[2 * SLOT_TITLE_MAX];
    return error_set(err, SKIFF_FORMAT, "%s: expected %s, found %s",
                     slot_place(schema, slot, at, place), expected, text_quote(found, n, quoted));
}

enum skiff_status reader_no_label(const struct schema *schema, int slot, const char *name,
                                  struct skiff_error *err)
{
    char place[2 * SLOT_TITLE_MAX];
    return error_set(err, SKIFF_NOT_FOUND,
                     "%s: the row has no label (%s); input_label False reads rows without one",
                     slot_place(schema, slot, 0, place), name);
}

enum skiff_status reader_bad_advice(const struct schema *schema, int slot, int64_t at,
                                    const char *expected, const char *found, size_t n,
                                    const char *advice, struct skiff_error *err)
{
    char quoted[64], place[2 * SLOT_TITLE_MAX];
    return error_set(err, SKIFF_FORMAT, "%s: expected %s, found %s; %s",
                     slot_place(schema, slot, at, place), expected, text_quote(found, n, quoted),
                     advice);
}

const char *reader_slot_names(const struct schema *schema, char out[static 300])
{
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < schema->count; i++) {
        const char *name = schema->slots[i].name;
        size_t len = strlen(name);
        if (n + len + 8 > 300) {
            strcpy(out + n, ", ...");
            break;
        }
        n += (size_t)snprintf(out + n, 300 - n, "%s%s", i ? ", " : "", name);
    }
    return out;
}

enum skiff_status reader_no_memory(const struct schema *schema, int slot, struct skiff_error *err)
{
    return error_set(err, SKIFF_NOMEM, "no memory for a value of slot \"%s\"",
                     schema->slots[slot].name);
}

/* ---- configuration ---- */

const char *reader_read_char(void *target, const char *text)
{
    static const char *const names[] = {"tab", "\\t", "comma", "space", "pipe", "semicolon"};
    static const char chars[] = "\t\t, |;";
    char c = text[0];
    bool good = !text[0] || !text[1];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            c = chars[i];
            good = true;
        }
    if (!good)
        return "one character, or tab, comma, space, pipe, semicolon";
    *(char *)target = c;
    return NULL;
}

static const char *reader_read_decimal(void *target, const char *text)
{
    char c;
    if (reader_read_char(&c, text) || (c != '.' && c != ','))
        return ". or comma";
    *(char *)target = c;
    return NULL;
}

#define AT(field) offsetof(struct reader_config, field)

static const char *const hashes[] = {"xxh64", "python", NULL};
static const char *const norms[] = {"documents", "quantile", "none", NULL};

static const struct option rows[] = {
    {"format", OPTION_COPY, AT(format), .help = "the format of the samples: the name of a reader"},
    {"hash", OPTION_CHOICE, AT(hash), .words = hashes, .standard = "xxh64",
     .help = "how a categorical value becomes an id"},
    {"hash_size", OPTION_LONG, AT(hash_size), .low = 0, .high = INT64_MAX,
     .given = AT(has_hash_size), .help = "ids are taken modulo this; 0: all 64 bits"},
    {"normalise", OPTION_CHOICE, AT(normalise), .words = norms, .standard = "documents",
     .given = AT(has_normalise), .help = "criteo, csv, libsvm: how numbers are scaled"},
    {"stats", OPTION_COPY, AT(stats), .value = "FILE",
     .help = "criteo, csv, libsvm: statistics that skiff prepare or skiff init wrote"},
    {"positive", OPTION_COPY, AT(positive), .help = "csv, libsvm, libffm: the label that is 1"},
    {"negative", OPTION_COPY, AT(negative), .help = "csv, libsvm, libffm: the label that is 0"},
    {"label", OPTION_NOT, AT(no_label), .help = "criteo: lines begin with a label"},
    {"parse_ins_id", OPTION_BOOL, AT(parse_ins_id), .help = "multislot: lines begin with an id"},
    {"parse_content", OPTION_BOOL, AT(parse_content), .help = "multislot: a text follows"},
    {"parse_logkey", OPTION_BOOL, AT(parse_logkey), .help = "multislot: a log key follows"},
    {"slots", OPTION_COPY, AT(slots), .help = "slot_text, sign_slot: names in the file"},
    {"columns", OPTION_COPY, AT(columns), .help = "csv: slots and their columns"},
    {"missing", OPTION_COPY, AT(missing), .help = "csv: texts that stand for a missing value"},
    {"comment", OPTION_OTHER, AT(comment), .read = reader_read_char,
     .help = "csv: lines that begin with it are skipped"},
    {"separator", OPTION_OTHER, AT(separator), .read = reader_read_char, .standard = ",",
     .help = "csv: the separator of columns"},
    {"header", OPTION_BOOL, AT(header), .standard = "true",
     .help = "csv: the first line names columns"},
    {"width", OPTION_LONG, AT(width), .standard = "0",
     .help = "csv without a header line: columns of a row with its label; 0: taken from the first "
             "line"},
    {"decimal", OPTION_OTHER, AT(decimal), .read = reader_read_decimal, .standard = ".",
     .help = "csv: . or comma: how numbers are written"},
    {"multi", OPTION_OTHER, AT(multi), .read = reader_read_char,
     .help = "csv: the separator of values in one cell"},
    {"id", OPTION_COPY, AT(id), .value = "COLUMN",
     .help = "csv: the column of the rows' ids, by name, or by number from 1"},
    {"index_base", OPTION_LONG, AT(index_base), .standard = "1", .help = "libsvm: the first index"},
    {"field_base", OPTION_LONG, AT(field_base), .standard = "0", .help = "libffm: the first field"},
    {0}};
const struct options reader_options = {.what = "reader setting", .rows = rows};

void reader_config_init(struct reader_config *c)
{
    *c = (struct reader_config){0};
    options_init(&reader_options, c);
}

void reader_config_deinit(struct reader_config *c)
{
    options_deinit(&reader_options, c);
    *c = (struct reader_config){0};
}

void reader_config_copy(struct reader_config *to, const struct reader_config *from)
{
    *to = *from;
    options_copy(&reader_options, to);
}

enum skiff_status reader_config_set(struct reader_config *c, const char *key, const char *value,
                                    struct skiff_error *err)
{
    return options_set(&reader_options, c, key, value, err);
}

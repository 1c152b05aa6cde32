/* Reader: one text or binary form of samples. reader_list.h has one line per reader, read_<name>.c
 * the code, and data_read_test.c the rules that all of them must pass.
 *
 * A reader belongs to one thread; many readers may be made of one config. It opens no file: scan.h
 * provides source and batch. */
#ifndef DATA_READER_H
#define DATA_READER_H

#include "base/options.h"
#include "data/batch.h"
#include "data/hash.h"
#include "data/names.h"
#include "data/source.h"

enum normalise {
    NORMALISE_DOCUMENTS, /* (x - min) / diff with the numbers of the Paddle documents */
    NORMALISE_QUANTILE,  /* (x - min) / (q95 - min), learnt from the data by prepare */
    NORMALISE_NONE,
};

/* All settings of a format. Owned strings; reader_config_set lists the keys. */
struct reader_config {
    char *format; /* name of a reader; NULL: multislot */
    /* ids of categorical values */
    enum hash_kind hash;
    uint64_t hash_size;
    bool has_hash_size;
    /* criteo, csv, libsvm */
    enum normalise normalise;
    bool has_normalise;
    char *stats;                  /* file that prepare or init wrote */
    const struct columns *learnt; /* csv: what is in it, already read, borrowed; or NULL. No key */
    /* csv, libsvm, libffm: labels that are 1 and 0 (label.h); NULL: labels are numbers */
    char *positive, *negative;
    /* criteo */
    bool no_label; /* test files: 39 columns */
    /* For predictions: files may lack the label, and its value is ignored; the label's slot is 0.
     * No key. */
    bool skip_label;
    /* multislot */
    bool parse_ins_id, parse_content, parse_logkey;
    bool keep_ins_id; /* the schema's last slot, dense int64, gets the XXH64 of ins_id; no key */
    /* slot_text, sign_slot: the names in the file, in the order of the schema; NULL: see names.h */
    char *slots;
    /* csv */
    char *columns; /* slot of each column, or the columns of each slot: see read_csv.c */
    char *missing; /* texts that stand for a missing value, one a line */
    char comment;  /* lines that begin with it hold no sample; 0: none */
    char separator;
    bool header;
    int64_t width; /* columns of a whole row, without a header line; 0: as the first line has */
    char decimal;  /* a comma: numbers are written 3,5 */
    char multi;    /* between several values of one cell; 0: a cell is one value */
    char *id;      /* column of the rows' ids (batch_row_id): its name, or its number from 1 */
    /* libsvm with a dense slot, libffm: number of the first index, field */
    int64_t index_base, field_base;
};

void reader_config_init(struct reader_config *c);
void reader_config_deinit(struct reader_config *c);
void reader_config_copy(struct reader_config *to, const struct reader_config *from);
/* The keys, as offsets in struct reader_config. */
extern const struct options reader_options;
/* Sets one of them from text. NOT_FOUND lists the known keys; INVALID says which values are
 * allowed. */
enum skiff_status reader_config_set(struct reader_config *c, const char *key, const char *value,
                                    struct skiff_error *err);

/* One character, or a word for one (tab, comma, ...), for OPTION_OTHER. */
const char *reader_read_char(void *target, const char *text);

/* A cell of a row that is not a line of text (reader_class.row). */
struct reader_cell {
    const char *text; /* needs no padding; NULL: it is a number, */
    size_t n;
    double number; /* or, NAN, a missing value */
};

struct reader {
    const struct reader_class *class;
    const struct schema *schema; /* borrowed */
};

struct reader_class {
    const char *name, *summary;
    /* InMemoryDataset drops zero ids and |v| < 1e-6 of ragged slots: true for Paddle's own forms */
    bool drops_zeros;
    bool scales; /* has the settings normalise and stats; elsewhere they are refused */
    bool labels; /* has the settings positive and negative */
    /* Checks that the format can fill the schema. May read small files (stats). Nothing is left
     * behind on failure. */
    enum skiff_status (*create)(const struct reader_config *config, const struct schema *schema,
                                struct reader **out, struct skiff_error *err);
    void (*destroy)(struct reader *r);
    /* A file begins (header line, magic); may be NULL. Blocks as the source does. A failure fails
     * the file. */
    enum skiff_status (*begin)(struct reader *r, struct source *s, struct skiff_error *err);
    /* Line formats: appends one row to the batch (which has room for it), or returns END when the
     * line holds no sample (a comment). FORMAT and RANGE are bad lines, so are NOT_FOUND (it has no
     * label) and INVALID (a slot's name is misspelt): the batch is as before, and the text names
     * slot, what was expected and what was found; file and line are added by the caller. Never
     * blocks. */
    enum skiff_status (*line)(struct reader *r, const char *text, size_t n, struct batch *b,
                              struct skiff_error *err);
    /* Other formats, in place of line: appends rows until the batch has max_rows, or END at the end
     * of the file. Blocks as the source does. A failure fails the file; whole rows stay. */
    enum skiff_status (*read)(struct reader *r, struct source *s, struct batch *b, int64_t max_rows,
                              struct skiff_error *err);
    /* Names in the files that are no slot's; NULL: the form has no names. */
    const struct strange_names *(*strange)(const struct reader *r);
    /* The i-th column of the table that goes to a slot, by its name: to the slot, and in a dense
     * one to that place. A column may come several times. NULL: there are no more. NULL as a slot:
     * columns have no names but those of their slots. */
    const char *(*column)(const struct reader *r, int i, int *slot, int *at);
    /* Tables: appends a row of cells in the order of the columns, otherwise as line; NULL: rows are
     * lines only. */
    enum skiff_status (*row)(struct reader *r, const struct reader_cell *cells, int n,
                             struct batch *b, struct skiff_error *err);
    /* Tables: the number of columns. *header: the header line that begin has read, or NULL: the
     * file has none, and columns go by position. Behind begin. */
    int (*columns)(const struct reader *r, const char **header);
};

/* NULL when there is none of that name. */
const struct reader_class *reader_find(const char *name);
/* All of them, NULL at the end. */
const struct reader_class *const *reader_all(void);
enum skiff_status reader_create(const struct reader_config *config, const struct schema *schema,
                                struct reader **out, struct skiff_error *err);
void reader_destroy(struct reader *r);

/* For readers: reports a value that does not fit its slot. at: of a dense slot which value it is;
 * -1: not known. Returns FORMAT. */
enum skiff_status reader_bad(const struct schema *schema, int slot, int64_t at,
                             const char *expected, const char *found, size_t n,
                             struct skiff_error *err);
/* The row has no label. Returns NOT_FOUND. */
enum skiff_status reader_no_label(const struct schema *schema, int slot, const char *name,
                                  struct skiff_error *err);
enum skiff_status reader_no_memory(const struct schema *schema, int slot, struct skiff_error *err);
/* The same with a hint appended. */
enum skiff_status reader_bad_advice(const struct schema *schema, int slot, int64_t at,
                                    const char *expected, const char *found, size_t n,
                                    const char *advice, struct skiff_error *err);
/* "label, C1, C2, ...": the names of all slots, as many as fit. Returns out. */
const char *reader_slot_names(const struct schema *schema, char out[static 300]);
/* A row's only value of a dense or ragged column, either type. False: no memory. */
static inline bool reader_put_i64(struct batch *b, int slot, int64_t v)
{
    struct column *c = &b->columns[slot];
    if (c->ragged)
        return column_add_i64(c, v);
    *batch_dense_i64(b, slot) = v;
    return true;
}

#endif

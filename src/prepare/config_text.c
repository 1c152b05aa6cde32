/* Writes config.yaml, with a comment for each setting. The text is built by hand and not by a YAML
 * library, because its comments and the order of its keys matter to the reader; texts from the
 * table are quoted. The first line marks the file as written by skiff init. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prepare/prepare.h"
#include "data/csv.h"

#define DECAY_ROWS 50000                   /* from so many on, one epoch teaches most */
#define NOTES 36                           /* where comments begin */
#define MEMORY_VALUES ((int64_t)300 << 20) /* rows times slots that are kept in memory */
#define TABLE_MAX ((int64_t)4 << 20)       /* rows of a table for ids that are not learned */

/* A text between double quotes, as YAML has it. */
static void yaml_text(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < ' ' || c == 0x7f)
            buf_printf(out, "\\x%02x", c);
        else
            buf_char(out, (char)c);
    }
    buf_char(out, '"');
}

/* Ends the line with a comment, which all begin at the same column. */
static void end_line(struct buf *out, const char *note)
{
    size_t begin = out->len;
    while (begin && out->data[begin - 1] != '\n')
        begin--;
    do
        buf_char(out, ' ');
    while (out->len - begin < NOTES);
    buf_printf(out, "# %s\n", note);
}

/* ---- the reader ---- */

static void print_separator(struct buf *out, char c)
{
    static const char chars[] = "\t, |;";
    static const char *const names[] = {"tab", "comma", "space", "pipe", "semicolon"};
    const char *at = strchr(chars, c);
    char own[2] = {c, '\0'};
    yaml_text(out, at ? names[at - chars] : own);
}

/* One entry of input_columns. */
static void print_slot(struct buf *out, const char *slot, const struct buf *names)
{
    struct buf text = BUF_INIT;
    buf_printf(&text, "%s = %s", slot, names->data);
    buf_str(out, "    - ");
    yaml_text(out, text.data);
    buf_char(out, '\n');
    buf_deinit(&text);
}

static void add_name(struct buf *names, const char *name)
{
    if (names->len)
        buf_str(names, ", ");
    csv_quote(names, name, strlen(name), ',');
}

/* The name of a column, or of what is made from it (data/columns.h). */
static void add_made(struct buf *names, const char *name, const char *format)
{
    struct buf made = BUF_INIT;
    buf_printf(&made, format, name);
    add_name(names, made.data);
    buf_deinit(&made);
}

/* slot 0: none */
static void print_made(struct buf *out, int slot, const char *name, const char *format)
{
    struct buf names = BUF_INIT;
    char text[16];
    if (!slot)
        return;
    snprintf(text, sizeof text, "C%d", slot);
    add_made(&names, name, format);
    print_slot(out, text, &names);
    buf_deinit(&names);
}

static void print_columns(const struct prepare_plan *p, struct buf *out)
{
    struct buf names = BUF_INIT;
    const struct look *l = p->look;
    buf_str(out, "  input_columns:");
    end_line(out, l->form.header ? "slot of the network = column of the file"
                                 : "slot of the network = column of the file (1 is the first)");
    add_name(&names, l->columns[p->label].name);
    print_slot(out, "label", &names);
    buf_reset(&names);
    for (int i = 0; i < l->ncolumns; i++)
        if (p->columns[i].dense >= 0)
            add_made(&names, l->columns[i].name, p->columns[i].learn.days ? "days(%s)" : "%s");
    if (p->ndense)
        print_slot(out, "dense_input", &names);
    for (int i = 0; i < l->ncolumns; i++) {
        const struct prepare_column *c = &p->columns[i];
        print_made(out, c->hour, l->columns[i].name, "%s");
        print_made(out, c->weekday, l->columns[i].name, "weekday(%s)");
        print_made(out, c->slot, l->columns[i].name, c->learn.days ? "days(%s)" : "%s");
    }
    buf_deinit(&names);
}

static void print_label(const struct prepare_plan *p, struct buf *out)
{
    buf_str(out, "  input_positive: ");
    yaml_text(out, p->positive);
    end_line(out, "this value of the label is 1");
    if (!p->negative)
        return;
    buf_str(out, "  input_negative: ");
    yaml_text(out, p->negative);
    end_line(out, "this value is 0; any other is an error");
}

static void print_missing(const struct look *l, struct buf *out)
{
    bool any = false;
    for (int i = 0; i < LOOK_MARKS; i++)
        if (l->marks[i]) {
            buf_str(out, any ? ", " : "  input_missing: [");
            yaml_text(out, look_marks[i]);
            any = true;
        }
    if (!any)
        return;
    buf_char(out, ']');
    end_line(out, "besides empty cells");
}

static void print_stats(struct buf *out)
{
    buf_str(out, "  input_stats: \"columns.stats\"");
    end_line(out, "statistics of the training rows");
    buf_str(out, "  input_normalise: quantile");
    end_line(out, "numbers are scaled to 0 .. 1");
}

static void print_csv(const struct prepare_plan *p, struct buf *out)
{
    const struct look_form *f = &p->look->form;
    buf_str(out, "  input_format: csv\n  input_separator: ");
    print_separator(out, f->separator);
    buf_printf(out, "\n  input_header: %s\n", f->header ? "True" : "False");
    if (!f->header) {
        buf_printf(out, "  input_width: %d", p->look->ncolumns);
        end_line(out, "columns; rows to predict may lack the label's");
    }
    if (f->decimal_comma) {
        buf_str(out, "  input_decimal: comma");
        end_line(out, "numbers are written 3,5");
    }
    if (f->comment) {
        buf_printf(out, "  input_comment: \"%c\"", f->comment);
        end_line(out, "lines that begin so are skipped");
    }
    print_missing(p->look, out);
    if (p->id >= 0) {
        buf_str(out, "  input_id: ");
        yaml_text(out, p->look->columns[p->id].name);
        end_line(out, "skiff predict prints it after the prediction");
    }
    if (p->weight >= 0) {
        buf_str(out, "  weight_column: ");
        yaml_text(out, p->look->columns[p->weight].name);
        end_line(out, "of each row, in the loss and in metrics");
    }
    print_stats(out);
    print_columns(p, out);
}

static int64_t svm_table(const struct prepare_plan *p)
{
    int64_t rows = p->look->most_index + 1;
    return rows > TABLE_MAX ? TABLE_MAX : rows;
}

static void print_svm(const struct prepare_plan *p, struct buf *out)
{
    const struct look *l = p->look;
    buf_printf(out, "  input_format: %s\n", look_format_name(l->form.format));
    if (l->form.format == LOOK_LIBFFM) {
        buf_printf(out, "  input_field_base: %" PRId64, l->least_field);
        end_line(out, "the first field is C1");
    }
    if (p->learns) {
        buf_printf(out, "  input_index_base: %" PRId64 "\n", p->first_index);
        print_stats(out);
    } else if (l->most_index >= TABLE_MAX) {
        buf_printf(out, "  input_hash_size: %" PRId64, svm_table(p));
        end_line(out, "indices are taken modulo this");
    }
}

/* ---- sizes that fit the data ---- */

struct prepare_sizes {
    int batch, epochs, threads, dim;
    bool in_memory, valid, calibrate;
    int patience;
    double rate, l2;
    int64_t decay_steps; /* batches; 0: the rate stays */
    const char *layers;
};

/* Rows of the table of ids. */
static int64_t table_of(const struct prepare_plan *p, const struct split_report *r)
{
    return p->learns ? columns_ids(&r->columns) : svm_table(p);
}

/* How many times the rows are gone through. With rows to validate on, at most so many: the best one
 * is kept. Without them: where most ids are rare, networks overfit them after the first or
 * second time, and become worse; with few rows it takes longer. */
static int epochs_of(int64_t rows, int64_t ids, bool valid)
{
    if (valid)
        return rows < 20000 ? 30 : rows < 200000 ? 15 : rows < 2000000 ? 8 : 4;
    bool rare = ids > rows / 20;
    if (rows < 2000)
        return 20;
    if (rows < 20000)
        return rare ? 4 : 10;
    if (rows < 200000)
        return rare ? 2 : 5;
    return rare || rows >= 2000000 ? 1 : 3;
}

/* Rows of the rarer label. */
static int64_t rarer_of(const struct split_side *part)
{
    int64_t others = part->rows - part->positive;
    return part->positive < others ? part->positive : others;
}

/* Where ids are many compared with the rows of the rarer label, networks overfit them after an
 * epoch: the rate falls to a tenth within it, elsewhere within three. With few rows the best epoch
 * comes late, and a constant rate was as good (bench/README.md). */
static int64_t decay_of(const struct prepare_plan *p, const struct split_report *r, int batch)
{
    int64_t rows = r->train.rows;
    int64_t steps = rows / batch / (table_of(p, r) > rarer_of(&r->train) / 5 ? 10 : 3);
    return rows < DECAY_ROWS ? 0 : steps > 1 ? steps : 1;
}

static struct prepare_sizes sizes_of(const struct prepare_plan *p, const struct split_report *r)
{
    int64_t rows = r->train.rows;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t values = rows * (p->nslots + p->ndense / 2 + 1);
    if (p->look->form.format != LOOK_CSV)
        values = 2 * p->look->tokens;
    struct prepare_sizes s = {.batch = rows < 2000     ? 32
                                       : rows < 20000  ? 64
                                       : rows < 200000 ? 128
                                                       : 512,
                              .epochs = epochs_of(rows, table_of(p, r), r->valid.rows > 0),
                              .valid = r->valid.rows > 0,
                              .patience = rows < 20000    ? 3
                                          : rows < 200000 ? 2
                                                          : 1,
                              .threads = rows < 500000 || cores < 1 ? 1
                                         : cores > 8                ? 8
                                                                    : (int)cores,
                              .dim = rows < 20000 ? 4 : 8,
                              .in_memory = values < MEMORY_VALUES,
                              .rate = rows < DECAY_ROWS ? 0.001 : 0.002,
                              .l2 = 0.0001,
                              .layers = rows < 20000 ? "[64, 32]" : "[128, 64]"};
    s.calibrate = rarer_of(&r->valid) >= PREPARE_FEW;
    s.decay_steps = decay_of(p, r, s.batch);
    return s;
}

/* ---- the file ---- */

static void print_epochs(const struct prepare_sizes *s, struct buf *out)
{
    buf_printf(out, "  epochs: %d", s->epochs);
    if (!s->valid) {
        buf_char(out, '\n');
        return;
    }
    end_line(out, "at most");
    buf_str(out, "  valid_metric: log_loss");
    end_line(out, "auc alone does not see whether probabilities are right");
    buf_printf(out, "  early_stop: %d", s->patience);
    end_line(out, "ends after so many epochs without a better one on valid");
    buf_str(out, "  keep_epochs: 1");
    end_line(out, "on disk: the newest one, and the best one");
    buf_str(out, "  infer_epoch: best");
    end_line(out, "of the evaluations on valid; predict takes it, too");
    if (!s->calibrate) /* without the key, predict applies what skiff calibrate saves */
        return;
    buf_str(out, "  calibrate: platt");
    end_line(out, "corrects the best model's probabilities on valid");
}

static void print_runner(const struct prepare_plan *p, const struct prepare_options *f,
                         const struct prepare_sizes *s, struct buf *out)
{
    buf_printf(out, "runner:\n  model: %s\n  train_data_dir: \"train\"\n%s%s", f->model,
               s->valid ? "  valid_data_dir: \"valid\"\n" : "",
               f->no_test ? "" : "  test_data_dir: \"test\"\n");
    if (p->look->form.format == LOOK_CSV)
        print_csv(p, out);
    else
        print_svm(p, out);
    print_label(p, out);
    buf_printf(out, "  reader_type: %s\n", s->in_memory ? "InmemoryDataset" : "QueueDataset");
    if (s->in_memory) {
        buf_str(out, "  shuffle: True");
        end_line(out, "before every epoch");
    }
    buf_printf(out, "  train_batch_size: %d\n  infer_batch_size: 1024\n", s->batch);
    print_epochs(s, out);
    buf_printf(out, "  thread_num: %d", s->threads);
    end_line(out, "1: results are reproducible");
    buf_str(out, "  split_file_list: True");
    end_line(out, "in a job: each worker reads its share of the files");
    buf_printf(out,
               "  seed: %" PRId64 "\n  print_interval: 1000\n  model_save_path: \"model\"\n"
               "  infer_load_path: \"model\"\n",
               f->seed);
}

static bool has_layers(const char *model)
{
    static const char *const with[] = {"rank/dnn", "rank/wide_deep", "rank/deepfm", "rank/dcn"};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (strcmp(model, with[i]) == 0)
            return true;
    return false;
}

static void print_hyper(const struct prepare_plan *p, const struct prepare_options *f,
                        const struct prepare_sizes *s, const struct split_report *r,
                        struct buf *out)
{
    buf_printf(out, "\nhyper_parameters:\n  optimizer:\n    class: Adam\n    learning_rate: %g\n",
               s->rate);
    if (s->decay_steps) {
        buf_printf(out, "    decay_rate: 0.8\n    decay_steps: %" PRId64, s->decay_steps);
        end_line(out, "the rate falls by decay_rate after so many batches");
    }
    buf_printf(out, "    l2_decay: %g", s->l2);
    end_line(out, "against overfitting, of rare values above all");
    buf_printf(out, "  sparse_inputs_slots: %d", p->nslots + 1);
    end_line(out, "the label and the slots C1, C2, ...");
    buf_printf(out, "  sparse_feature_number: %" PRId64, table_of(p, r));
    end_line(out, "ids of all slots together");
    buf_printf(out, "  sparse_feature_dim: %d\n  dense_input_dim: %d", s->dim, p->ndense);
    end_line(out, "numbers of dense_input");
    if (p->multi_value) {
        buf_str(out, "  multi_value: True");
        end_line(out, "any number of ids in a slot");
    }
    if (has_layers(f->model))
        buf_printf(out, "  fc_sizes: %s\n", s->layers);
}

void prepare_config_text(const struct prepare_plan *p, const struct prepare_options *flags,
                         const struct split_report *r, const struct file_list *files,
                         struct buf *out)
{
    struct prepare_sizes s = sizes_of(p, r);
    const char *slash = strrchr(files->paths[0], '/');
    buf_str(out, PREPARE_MARK " for ");
    yaml_text(out, slash ? slash + 1 : files->paths[0]);
    buf_printf(out, ": %" PRId64 " rows to train, %" PRId64 " to validate, %" PRId64 " to test.\n",
               r->train.rows, r->valid.rows, r->test.rows);
    buf_str(out, "# You may change every key; docs/reference/configuration.md and "
                 "docs/guide/data.md describe them.\n# train: skiff train config.yaml   "
                 "evaluate: skiff infer config.yaml\n"
                 "# predict: skiff predict config.yaml --input NEW --output predictions.txt\n");
    print_runner(p, flags, &s, out);
    print_hyper(p, flags, &s, r, out);
}

/* chunk_eval: how many chunks (runs of tags that mean one thing) were found.
 *
 * A label is chunk type * number of tags + tag; num_chunk_types * tags means "no chunk". The scheme
 * says which tags there are: IOB begin, inside; IOE inside, end; IOBES begin, inside, end, single;
 * plain one tag. Precision, recall and F1 of the chunks of Inference against those of Label;
 * excluded_chunk_types do not count. Sequences: lods of both, or rows with SeqLength. */
#include "ops/seq_common.h"

enum { INFERENCE, LABEL, SEQ_LENGTH };
enum { PRECISION, RECALL, F1, FOUND, WANTED, CORRECT };
enum { AT_TYPES, AT_SCHEME, AT_EXCLUDED };

struct scheme {
    const char *name;
    int tags, begin, inside, end, single; /* -1: has no such tag */
};
static const struct scheme schemes[] = {
    {"IOB", 2, 0, 1, -1, -1},
    {"IOE", 2, -1, 0, 1, -1},
    {"IOBES", 4, 0, 1, 2, 3},
    {"plain", 1, -1, -1, -1, -1},
};

static const struct scheme *scheme_of(const char *name)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (name && strcmp(name, schemes[i].name) == 0)
            return &schemes[i];
    return NULL;
}

static enum skiff_status chunk_infer(struct infer *c, struct skiff_error *err)
{
    struct shape one = SHAPE(1);
    TRY(infer_want(c, INFERENCE, DTYPE_INT64, err));
    TRY(infer_want(c, LABEL, DTYPE_INT64, err));
    if (!scheme_of(c->attr[AT_SCHEME].s))
        return infer_fail(c, INFERENCE, 0, err,
                          "chunk_scheme is \"%s\", must be IOB, IOE, IOBES or plain",
                          c->attr[AT_SCHEME].s ? c->attr[AT_SCHEME].s : "");
    if (c->attr[AT_TYPES].i < 1)
        return infer_fail(c, INFERENCE, 0, err, "num_chunk_types is %d", c->attr[AT_TYPES].i);
    for (int slot = PRECISION; slot <= CORRECT; slot++)
        TRY(infer_out(c, slot, 0, slot < FOUND ? DTYPE_FP32 : DTYPE_INT64, &one, err));
    return SKIFF_OK;
}

/* Goes over the chunks of one sequence. */
struct chunk_walk {
    const struct scheme *scheme;
    int64_t types;
    const int64_t *label;
    int64_t length, at;
    int64_t begin, end, type; /* the chunk, after walk_next gave true */
};

static bool chunk_ends(const struct chunk_walk *w, int64_t before, int64_t now)
{
    const struct scheme *s = w->scheme;
    int64_t type = before / s->tags, tag = before % s->tags, next = now % s->tags;
    if (type == w->types)
        return false;
    if (now / s->tags != type)
        return true;
    if (tag == s->begin || tag == s->inside)
        return next == s->begin || next == s->single;
    return tag == s->end || tag == s->single;
}

static bool chunk_begins(const struct chunk_walk *w, int64_t before, int64_t now)
{
    const struct scheme *s = w->scheme;
    int64_t type = now / s->tags, tag = now % s->tags, last = before % s->tags;
    if (type == w->types)
        return false;
    if (before / s->tags != type)
        return true;
    if (tag == s->begin || tag == s->single)
        return true;
    return (tag == s->inside || tag == s->end) && (last == s->end || last == s->single);
}

static bool walk_next(struct chunk_walk *w)
{
    int64_t none = w->types * w->scheme->tags;
    for (; w->at < w->length; w->at++) {
        int64_t before = w->at ? w->label[w->at - 1] : none;
        if (!chunk_begins(w, before, w->label[w->at]))
            continue;
        w->begin = w->end = w->at++;
        w->type = w->label[w->begin] / w->scheme->tags;
        while (w->at < w->length && !chunk_ends(w, w->label[w->at - 1], w->label[w->at]))
            w->end = w->at++;
        return true;
    }
    return false;
}

struct counts {
    int64_t found, wanted, correct;
};

static bool excluded(const struct kernel *k, int64_t type)
{
    const struct attr_value *list = &k->attr[AT_EXCLUDED];
    for (int i = 0; i < list->n; i++)
        if (list->ints[i] == type)
            return true;
    return false;
}

/* Chunks of both come in order; those that end first are passed over. */
static void sequence_count(const struct kernel *k, struct chunk_walk a, struct chunk_walk b,
                           struct counts *n)
{
    bool has_a = walk_next(&a), has_b = walk_next(&b);
    while (has_a || has_b) {
        bool both = has_a && has_b;
        if (both && a.begin == b.begin && a.end == b.end && a.type == b.type)
            n->correct += !excluded(k, a.type);
        bool pass_a = has_a && (!has_b || a.end <= b.end);
        bool pass_b = has_b && (!has_a || b.end <= a.end);
        if (pass_a) {
            n->found += !excluded(k, a.type);
            has_a = walk_next(&a);
        }
        if (pass_b) {
            n->wanted += !excluded(k, b.type);
            has_b = walk_next(&b);
        }
    }
}

static enum skiff_status labels_check(const struct kernel *k, int slot, int64_t most,
                                      struct skiff_error *err)
{
    const struct tensor *t = kernel_in(k, slot);
    for (int64_t i = 0; i < tensor_numel(t); i++)
        if (tensor_i64(t)[i] < 0 || tensor_i64(t)[i] > most)
            return kernel_bad_index(k, slot, i, tensor_i64(t)[i], most + 1,
                                    "num_chunk_types x tags, and one for none", err);
    if (tensor_numel(t) != tensor_numel(kernel_in(k, LABEL)))
        return kernel_fail(k, SKIFF_SHAPE, err, "Inference (%s) and Label (%s) are of two sizes",
                           kernel_in_name(k, INFERENCE, 0), kernel_in_name(k, LABEL, 0));
    return SKIFF_OK;
}

/* Sequence i lies at begin[i] .. begin[i] + length[i]. */
static enum skiff_status sequences_count(struct kernel *k, const struct scheme *s, struct counts *n,
                                         struct skiff_error *err)
{
    const struct tensor *found = kernel_in(k, INFERENCE), *label = kernel_in(k, LABEL);
    const struct lod_level *seq = lod_last(label->lod);
    int64_t rows, width = 0;
    if (!seq && (!kernel_has(k, SEQ_LENGTH) || found->shape.ndim < 2))
        return kernel_fail(k, SKIFF_SHAPE, err, "Label (%s) has no sequences, and no SeqLength",
                           kernel_in_name(k, LABEL, 0));
    if (seq) {
        TRY(kernel_lod(k, LABEL, 0, &seq, err));
        rows = seq->n - 1;
        if (seq->off[rows] != tensor_numel(label))
            return kernel_fail(k, SKIFF_SHAPE, err, "Label (%s) must be [rows, 1]",
                               kernel_in_name(k, LABEL, 0));
    } else {
        TRY(kernel_check_dtype(k, SEQ_LENGTH, dtype_is_index, "an integer", err));
        rows = tensor_numel(kernel_in(k, SEQ_LENGTH));
        width = found->shape.dims[1];
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t begin = seq ? seq->off[i] : i * width;
        int64_t length = seq ? seq->off[i + 1] - begin : tensor_int_at(kernel_in(k, SEQ_LENGTH), i);
        if (length < 0 || (!seq && length > width) || begin + length > tensor_numel(found))
            return kernel_bad_index(k, SEQ_LENGTH, i, length, width + 1, "width, plus one", err);
        struct chunk_walk a = {s, k->attr[AT_TYPES].i, tensor_i64(found) + begin, length, 0, 0, 0,
                               0};
        struct chunk_walk b = a;
        b.label = tensor_i64(label) + begin;
        sequence_count(k, a, b, n);
    }
    return SKIFF_OK;
}

static void float_put(struct kernel *k, int slot, float v)
{
    if (kernel_wants(k, slot))
        tensor_f32(kernel_out(k, slot))[0] = v;
}
static void count_put(struct kernel *k, int slot, int64_t v)
{
    if (kernel_wants(k, slot))
        tensor_i64(kernel_out(k, slot))[0] = v;
}

static enum skiff_status chunk_run(struct kernel *k, struct skiff_error *err)
{
    const struct scheme *s = scheme_of(k->attr[AT_SCHEME].s);
    struct counts n = {0};
    TRY(labels_check(k, INFERENCE, (int64_t)k->attr[AT_TYPES].i * s->tags, err));
    TRY(labels_check(k, LABEL, (int64_t)k->attr[AT_TYPES].i * s->tags, err));
    TRY(sequences_count(k, s, &n, err));
    float precision = n.found ? (float)n.correct / (float)n.found : 0;
    float recall = n.wanted ? (float)n.correct / (float)n.wanted : 0;
    float_put(k, PRECISION, precision);
    float_put(k, RECALL, recall);
    float_put(k, F1, n.correct ? 2 * precision * recall / (precision + recall) : 0);
    count_put(k, FOUND, n.found);
    count_put(k, WANTED, n.wanted);
    count_put(k, CORRECT, n.correct);
    return SKIFF_OK;
}

static const struct op_slot chunk_ins[] = {
    {"Inference", 0}, {"Label", 0}, {"SeqLength", SLOT_OPTIONAL}, {0}};
static const struct op_slot chunk_outs[] = {{"Precision", 0},
                                            {"Recall", 0},
                                            {"F1-Score", 0},
                                            {"NumInferChunks", 0},
                                            {"NumLabelChunks", 0},
                                            {"NumCorrectChunks", 0},
                                            {0}};
static const struct op_attr_spec chunk_attrs[] = {A_REQ("num_chunk_types", ATTR_INT),
                                                  A_STR("chunk_scheme", "IOB"),
                                                  A_INTS("excluded_chunk_types"),
                                                  {0}};

const struct op_kind ops_chunk_eval[] = {{.type = "chunk_eval",
                                          .flags = OP_NO_GRAD_NEEDED,
                                          .ins = chunk_ins,
                                          .outs = chunk_outs,
                                          .attrs = chunk_attrs,
                                          .infer = chunk_infer,
                                          .run = chunk_run},
                                         {0}};

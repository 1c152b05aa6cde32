/* The text that Paddle prints while it trains. */
#include <inttypes.h>
#include <time.h>

#include "executor/trainer_parts.h"

static const char *c_type(enum dtype t)
{
    switch (t) {
    case DTYPE_FP32:
        return "float";
    case DTYPE_FP64:
        return "double";
    case DTYPE_INT64:
        return "int64_t";
    case DTYPE_INT32:
        return "int";
    case DTYPE_INT16:
        return "int16_t";
    case DTYPE_INT8:
        return "int8_t";
    case DTYPE_UINT8:
        return "uint8_t";
    default:
        return dtype_name(t);
    }
}

static void print_element(struct buf *out, const struct tensor *t, int64_t i)
{
    switch (t->dtype) {
    case DTYPE_FP32:
        buf_printf(out, "%g", (double)tensor_f32(t)[i]);
        break;
    case DTYPE_FP64:
        buf_printf(out, "%g", tensor_f64(t)[i]);
        break;
    case DTYPE_INT64:
        buf_printf(out, "%" PRId64, tensor_i64(t)[i]);
        break;
    case DTYPE_INT32:
        buf_printf(out, "%" PRId32, tensor_i32(t)[i]);
        break;
    case DTYPE_BOOL:
    case DTYPE_UINT8:
        buf_printf(out, "%d", ((const uint8_t *)t->data)[i]);
        break;
    default:
        buf_str(out, "?");
    }
}

static void print_lod(struct buf *out, const struct lod *lod)
{
    buf_str(out, "lod: {");
    for (int l = 0; lod && l < lod->nlevels; l++) {
        buf_char(out, '{');
        for (int64_t i = 0; i < lod->level[l].n; i++)
            buf_printf(out, "%s%" PRId64, i ? ", " : "", lod->level[l].off[i]);
        buf_str(out, "}");
    }
    buf_str(out, "}\n");
}

static void print_elements(struct buf *out, const struct tensor *t)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        if (i)
            buf_char(out, ' ');
        print_element(out, t, i);
    }
}

void print_fetched(struct buf *out, const char *info, const char *name,
                   const struct skiff_tensor *v)
{
    const struct tensor *t = &v->tensor;
    buf_printf(out, "%s\t%s\t\t", info, name);
    print_lod(out, t->lod);
    buf_str(out, "\tdim: ");
    for (int i = 0; i < t->shape.ndim; i++)
        buf_printf(out, "%s%" PRId64, i ? ", " : "", t->shape.dims[i]);
    buf_printf(out, "\n\tlayout: NCHW\n\tdtype: %s\n\tdata: [", c_type(t->dtype));
    print_elements(out, t);
    buf_str(out, "]\n\t\n");
}

void print_time(struct buf *out, int64_t batch)
{
    time_t now = time(NULL);
    char when[32];
    struct tm tm;
    localtime_r(&now, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    buf_printf(out, "time: [%s], batch: [%" PRId64 "]", when, batch);
}

void print_fetched_2x(struct buf *out, const char *info, const struct skiff_tensor *v)
{
    buf_printf(out, ", %s[%" PRId64 "]:[", info, tensor_numel(&v->tensor));
    print_elements(out, &v->tensor);
    buf_char(out, ']');
}

void print_profile(struct buf *out, const struct profile *p, int64_t batches, int64_t rows,
                   double read_seconds, double seconds)
{
    double n = batches > 0 ? (double)batches : 1.0;
    for (int i = 0; i < p->count; i++)
        buf_printf(out, "op_name:[%d][%s], op_mean_time:[%fs]\n", i, p->steps[i].type,
                   p->steps[i].seconds / n);
    buf_printf(out, "mean read time: %fs\n", read_seconds / n);
    buf_printf(out, "IO percent: %f\n", seconds > 0 ? 100.0 * read_seconds / seconds : 0.0);
    buf_printf(out, "%6.2f instances/s\n", seconds > 0 ? (double)rows / seconds : 0.0);
}

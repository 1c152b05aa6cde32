/* Calibration: do samples with a prediction of about p get clicked in p of all cases? */
#include "report/run_report.h"

static double middle(int bucket, int buckets)
{
    double p = (bucket + 0.5) / (buckets - 1);
    return p < 1 ? p : 1;
}

static void bin_close(struct run_bins *out, struct run_bin *bin, int last, int buckets)
{
    double n = bin->count;
    bin->high = last + 1 < buckets ? (double)(last + 1) / (buckets - 1) : 1;
    bin->predicted /= n;
    bin->seen /= n;
    out->at[out->n++] = *bin;
    *bin = (struct run_bin){.low = bin->high};
}

void run_bins_fill(struct run_bins *out, const double *clicked, const double *not_clicked,
                   int buckets)
{
    double total = 0, done = 0;
    struct run_bin bin = {0};
    *out = (struct run_bins){.n = 0};
    for (int b = 0; b < buckets; b++)
        total += clicked[b] + not_clicked[b];
    for (int b = 0; b < buckets; b++) {
        double n = clicked[b] + not_clicked[b];
        if (!(n > 0))
            continue;
        if (!(bin.count > 0))
            bin.low = (double)b / (buckets - 1);
        bin.count += n;
        bin.predicted += n * middle(b, buckets);
        bin.seen += clicked[b];
        done += n;
        /* full when all bins so far hold their share of all samples */
        if (done >= total * (out->n + 1) / RUN_MAX_BINS - 0.5 || done >= total)
            bin_close(out, &bin, b, buckets);
        if (out->n == RUN_MAX_BINS)
            break;
    }
}

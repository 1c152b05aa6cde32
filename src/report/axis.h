/* An axis: a range, round ticks in it, and their labels. */
#ifndef REPORT_AXIS_H
#define REPORT_AXIS_H

#define AXIS_MAX_TICKS 12
#define AXIS_LARGEST 1e100 /* what is beyond it, either way, is not drawn */

enum axis_kind {
    AXIS_NUMBER, /* 0.25 */
    AXIS_WHOLE,  /* 3: ticks at whole numbers only */
    AXIS_COUNT,  /* 200 k, 1.5 M */
    AXIS_TIME,   /* seconds in, labels in seconds, minutes or hours */
    AXIS_LOG     /* 0.001, 0.01: of numbers above 0, by their logarithms */
};

struct axis {
    enum axis_kind kind;
    double low, high; /* low < high */
    double step;
    double ticks[AXIS_MAX_TICKS];
    int nticks;
    double unit; /* labels are divided by it */
    int digits;
    const char *word; /* behind every label: "k"; or "" */
};

/* Finite numbers, in any order. About `want` ticks, at multiples of 1, 2, 2.5 or 5 times a power of
 * ten (of time: of 1, 2, 5, 10, 15, 20 or 30 minutes, and so on). AXIS_LOG: low is above 0; at 1,
 * 2 and 5 times powers of ten, or at these alone when there are many. */
void axis_init(struct axis *a, enum axis_kind kind, double low, double high, int want);
const char *axis_label(const struct axis *a, double value, char out[static 32]);
/* 0 at low, 1 at high. */
double axis_at(const struct axis *a, double value);

#endif

#include "report/axis.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* The next of 1, 2, 2.5, 5, 10 times a power of ten that is not below. */
static double round_up(double v)
{
    static const double good[] = {1, 2, 2.5, 5, 10};
    double power = pow(10, floor(log10(v)));
    for (int i = 0; i < 5; i++)
        if (good[i] * power >= v * (1 - 1e-9))
            return good[i] * power;
    return 10 * power;
}

/* The same for parts of an hour or a minute. */
static double round_up_sixty(double v)
{
    static const double good[] = {1, 2, 5, 10, 15, 20, 30, 60};
    for (int i = 0; i < 8; i++)
        if (good[i] >= v * (1 - 1e-9))
            return good[i];
    return round_up(v);
}

static void choose_unit(struct axis *a)
{
    static const char *const counts[] = {"", "\u00a0k", "\u00a0M", "\u00a0G", "\u00a0T"};
    double size = fmax(fabs(a->low), fabs(a->high));
    a->unit = 1;
    a->word = "";
    if (a->kind == AXIS_COUNT)
        for (int i = 0; i < 4 && size >= 1000 * a->unit; i++) {
            a->unit *= 1000;
            a->word = counts[i + 1];
        }
    if (a->kind == AXIS_TIME) {
        a->unit = size >= 3 * 3600 ? 3600 : size >= 180 ? 60 : 1;
        a->word = a->unit == 3600 ? "\u00a0h" : a->unit == 60 ? "\u00a0min" : "\u00a0s";
    }
}

static void choose_digits(struct axis *a)
{
    double step = a->step / a->unit;
    for (a->digits = 0; a->digits < 9; a->digits++) {
        double shifted = step * pow(10, a->digits);
        if (shifted >= 0.999 && fabs(shifted - round(shifted)) < 1e-6 * shifted)
            break;
    }
}

/* Ticks at `of` of 1, 2 and 5 times each power of ten. */
static int log_ticks(const struct axis *a, int of, double out[static AXIS_MAX_TICKS])
{
    static const double good[] = {1, 2, 5};
    int n = 0;
    for (int e = (int)floor(log10(a->low)); e <= (int)ceil(log10(a->high)); e++)
        for (int i = 0; i < of; i++) {
            double tick = good[i] * pow(10, e);
            if (tick < a->low * (1 - 1e-9) || tick > a->high * (1 + 1e-9))
                continue;
            if (n == AXIS_MAX_TICKS)
                return n + 1;
            out[n++] = tick;
        }
    return n;
}

static void log_init(struct axis *a, int want)
{
    a->unit = 1;
    a->word = "";
    a->nticks = log_ticks(a, 3, a->ticks);
    if (a->nticks > 2 * want || a->nticks > AXIS_MAX_TICKS)
        a->nticks = log_ticks(a, 1, a->ticks);
    a->nticks = a->nticks < AXIS_MAX_TICKS ? a->nticks : AXIS_MAX_TICKS;
}

void axis_init(struct axis *a, enum axis_kind kind, double low, double high, int want)
{
    if (kind == AXIS_LOG) {
        *a = (struct axis){.kind = kind, .low = low, .high = fmax(high, 1.1 * low)};
        log_init(a, want);
        return;
    }
    *a = (struct axis){.kind = kind, .low = fmin(low, high), .high = fmax(low, high)};
    double least = 1e-9 * fmax(fabs(a->low), fabs(a->high)) + 1e-12;
    if (a->high - a->low < least) { /* one value: in the middle */
        double around = kind == AXIS_WHOLE ? 0.5 : fmax(0.05 * fabs(a->low), 1e-9);
        a->low -= around;
        a->high += around;
    }
    choose_unit(a);
    double raw = (a->high - a->low) / (want > 0 ? want : 1);
    bool sixty = kind == AXIS_TIME && a->unit > 1 && raw / a->unit < 1;
    a->step = sixty ? round_up_sixty(raw / a->unit * 60) / 60 * a->unit
                    : round_up(raw / a->unit) * a->unit;
    if (kind == AXIS_WHOLE)
        a->step = a->step <= 1 ? 1 : a->step < 3 && a->step > 2 ? 5 : a->step;
    double first = ceil(a->low / a->step - 1e-9);
    for (int i = 0; i < AXIS_MAX_TICKS; i++) {
        double tick = (first + i) * a->step;
        if (tick > a->high + 1e-9 * a->step)
            break;
        a->ticks[a->nticks++] = fabs(tick) < 1e-9 * a->step ? 0 : tick;
    }
    choose_digits(a);
}

const char *axis_label(const struct axis *a, double value, char out[static 32])
{
    double size = fabs(value / a->unit);
    if (value == 0)
        snprintf(out, 32, "0");
    else if (a->kind == AXIS_LOG)
        snprintf(out, 32, "%.6g", value);
    else if (size >= 1e6 || (size < 1e-4 && a->digits >= 5))
        snprintf(out, 32, "%.3g%s", value / a->unit, a->word);
    else
        snprintf(out, 32, "%.*f%s", a->digits, value / a->unit, a->word);
    return out;
}

double axis_at(const struct axis *a, double value)
{
    if (a->kind == AXIS_LOG)
        return log(value / a->low) / log(a->high / a->low);
    return (value - a->low) / (a->high - a->low);
}

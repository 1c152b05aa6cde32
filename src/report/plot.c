/* Plots as HTML and SVG (plot.h). The drawing has 1000 by 1000 units, whatever its shape on the
 * screen is. Dots are strokes of no length with round ends: circles would be stretched.
 *
 * Colours are classes that the page's style defines, so that light and dark need no second drawing.
 * A range may leave out points: the first ones of a learning curve, the few that are far from all
 * others. A note under the figure says so, and what is outside is cut to short numbers: the size of
 * a page is bounded by its points. The first series is drawn last, on top. */
#include "report/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/text.h"

#define UNITS 1000.0
#define LEAST 1e-9 /* of a logarithmic axis */

struct plot_series *plot_new_series(struct plot *p, const char *name, int colour,
                                    enum plot_style style)
{
    struct plot_series *s = &p->series[p->nseries];
    if (p->nseries <
        PLOT_MAX_SERIES - 1) /* the last one takes what is too much, and is not drawn */
        p->nseries++;
    s->name = name;
    s->colour = colour;
    s->style = style;
    return s;
}

static bool drawable(double v)
{
    return isfinite(v) && fabs(v) <= AXIS_LARGEST;
}

void plot_add(struct plot_series *s, struct plot_point point)
{
    if (!drawable(point.x) || !drawable(point.x2))
        return;
    if (!drawable(point.y))
        point.y = NAN;
    if (!drawable(point.y2) || !drawable(point.y3))
        point.y2 = point.y3 = NAN;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->at = mem_grow_or_die(s->at, (size_t)s->cap * sizeof(*s->at));
    }
    s->at[s->n++] = point;
}

void plot_deinit(struct plot *p)
{
    for (int i = 0; i < PLOT_MAX_SERIES; i++)
        free(p->series[i].at);
}

bool plot_has_data(const struct plot *p)
{
    for (int i = 0; i < p->nseries; i++)
        for (int k = 0; k < p->series[i].n; k++)
            if (!isnan(p->series[i].at[k].y))
                return true;
    return false;
}

/* ---- ranges ---- */

struct range {
    double low, high;
};

static void widen(struct range *r, double v)
{
    if (isnan(v))
        return;
    r->low = fmin(r->low, v);
    r->high = fmax(r->high, v);
}

static struct range x_range(const struct plot *p)
{
    struct range r = {INFINITY, -INFINITY};
    for (int i = 0; i < p->nseries; i++)
        for (int k = 0; k < p->series[i].n; k++) {
            widen(&r, p->series[i].at[k].x);
            if (p->series[i].style == PLOT_LEVELS || p->series[i].style == PLOT_COLUMNS)
                widen(&r, p->series[i].at[k].x2);
        }
    return r;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The first losses of a run may be many times the later ones; a range that holds nearly all points
 * shows more than one that holds all. What is outside leaves the frame. */
static void leave_out_far(struct range *r, double *values, int n)
{
    if (n < 20)
        return;
    qsort(values, (size_t)n, sizeof(*values), by_size);
    int cut = n / 40 + 1;
    double low = values[cut], high = values[n - 1 - cut], spread = high - low;
    if (spread > 0 && r->high - high > 1.5 * spread)
        r->high = high + 0.25 * spread;
    if (spread > 0 && low - r->low > 1.5 * spread)
        r->low = low - 0.25 * spread;
}

static int count_points(const struct plot *p)
{
    int n = 0;
    for (int i = 0; i < p->nseries; i++)
        n += p->series[i].n;
    return n;
}

/* Lines are many points, of which few may be left out; of all others every one counts. Only points
 * from x `from` on. */
static struct range y_range_from(const struct plot *p, double from)
{
    struct range r = {INFINITY, -INFINITY};
    double *lines = mem_alloc_or_die(((size_t)count_points(p) + 1) * sizeof(*lines));
    int n = 0;
    for (int i = 0; i < p->nseries; i++)
        for (int k = 0; k < p->series[i].n && p->series[i].style == PLOT_LINE; k++)
            if (!isnan(p->series[i].at[k].y) && p->series[i].at[k].x >= from) {
                lines[n++] = p->series[i].at[k].y;
                widen(&r, p->series[i].at[k].y);
            }
    leave_out_far(&r, lines, n);
    free(lines);
    for (int i = 0; i < p->nseries; i++) {
        const struct plot_series *s = &p->series[i];
        for (int k = 0; k < s->n && s->style != PLOT_LINE && s->style != PLOT_COLUMNS; k++) {
            if (s->at[k].x < from)
                continue;
            widen(&r, s->at[k].y);
            widen(&r, s->style == PLOT_DOTS ? s->at[k].y2 : NAN);
            widen(&r, s->style == PLOT_DOTS ? s->at[k].y3 : NAN);
        }
    }
    return r;
}

/* A curve falls fast at first and slowly later: the later part shall be seen. */
static struct range y_range(const struct plot *p)
{
    struct range all = y_range_from(p, -INFINITY), x = x_range(p);
    if (!p->late)
        return all;
    struct range late = y_range_from(p, x.low + (x.high - x.low) / 3);
    bool much = late.high > late.low && all.high - all.low > 2 * (late.high - late.low);
    return much ? late : all;
}

static bool has_dashes(const struct plot *p)
{
    for (int i = 0; i < p->nseries; i++)
        if ((p->series[i].style == PLOT_DASHES || p->series[i].style == PLOT_CURVE) &&
            p->series[i].n)
            return true;
    return false;
}

/* Where a logarithmic axis begins; smaller predictions lie below the frame. */
static double least_above_zero(const struct plot *p)
{
    double least = INFINITY;
    for (int i = 0; i < p->nseries; i++)
        for (int k = 0; k < p->series[i].n; k++) {
            const struct plot_point *at = &p->series[i].at[k];
            least = at->x > 0 ? fmin(least, at->x) : least;
            least = at->y > 0 ? fmin(least, at->y) : least;
        }
    return isfinite(least) ? fmax(least / 1.3, LEAST) : 0.001;
}

static void choose_axes(const struct plot *p, struct axis *x, struct axis *y)
{
    struct range xr = x_range(p), yr = y_range(p);
    if (!isfinite(yr.low)) /* columns alone */
        yr = (struct range){0, 1};
    if (!isnan(p->reference) && drawable(p->reference))
        widen(&yr, p->reference);
    double space = 0.06 * (yr.high - yr.low);
    yr.high += space;
    yr.low = p->from_zero && yr.low >= 0 ? 0 : yr.low - space;
    if (has_dashes(p)) { /* dots at the ends are seen whole */
        double side = 0.02 * (xr.high - xr.low);
        xr.low -= p->x_kind == AXIS_WHOLE ? side : 0;
        xr.high += side;
    }
    if (p->log) {
        xr.low = yr.low = least_above_zero(p);
        xr.high = yr.high = fmin(1, 1.3 * fmax(x_range(p).high, yr.high));
        axis_init(x, AXIS_LOG, xr.low, xr.high, 4);
        axis_init(y, AXIS_LOG, yr.low, yr.high, 4);
        return;
    }
    if (p->equal) {
        xr.high = yr.high = fmax(xr.high, yr.high);
        xr.low = yr.low = 0;
    }
    axis_init(x, p->x_kind, p->x_kind == AXIS_TIME || p->x_kind == AXIS_COUNT ? 0 : xr.low, xr.high,
              4);
    axis_init(y, p->y_kind, yr.low, yr.high, p->equal ? 4 : 6);
}

/* ---- drawing ---- */

struct canvas {
    struct buf *b;
    struct axis x, y;
};

/* What is far outside is outside all the same, and short to write. */
static double within(double v)
{
    return v < -2 * UNITS ? -2 * UNITS : v > 3 * UNITS ? 3 * UNITS : v;
}

/* What is not above 0 has no logarithm: it is far below. */
static double share(const struct axis *a, double v)
{
    return a->kind == AXIS_LOG && v <= 0 ? -2 : axis_at(a, v);
}

static double px(const struct canvas *c, double x)
{
    return within(UNITS * share(&c->x, x));
}

static double py(const struct canvas *c, double y)
{
    return within(UNITS * (1 - share(&c->y, y)));
}

static void begin_path(struct canvas *c, const char *class, int colour)
{
    buf_printf(c->b, "<path class=\"%s c%d\" d=\"", class, colour % 8);
}

static void end_path(struct canvas *c)
{
    buf_str(c->b, "\"/>");
}

static void draw_line(struct canvas *c, const struct plot_series *s)
{
    bool open = false;
    begin_path(c,
               s->style == PLOT_DASHES || s->style == PLOT_DASHED ? "line dashed"
               : s->colour >= 8                                   ? "line again"
                                                                  : "line",
               s->colour);
    for (int i = 0; i < s->n; i++) {
        bool gap = isnan(s->at[i].y);
        if (!gap)
            buf_printf(c->b, "%c%.1f %.1f", open ? 'L' : 'M', px(c, s->at[i].x), py(c, s->at[i].y));
        open = !gap;
    }
    end_path(c);
}

static void draw_levels(struct canvas *c, const struct plot_series *s)
{
    begin_path(c, "level", s->colour);
    for (int i = 0; i < s->n; i++)
        if (!isnan(s->at[i].y))
            buf_printf(c->b, "M%.1f %.1fH%.1f", px(c, s->at[i].x), py(c, s->at[i].y),
                       px(c, s->at[i].x2));
    end_path(c);
}

static void draw_dots(struct canvas *c, const struct plot_series *s)
{
    begin_path(c, "whisker", s->colour);
    for (int i = 0; i < s->n && s->style == PLOT_DOTS; i++)
        if (!isnan(s->at[i].y2))
            buf_printf(c->b, "M%.1f %.1fV%.1f", px(c, s->at[i].x), py(c, s->at[i].y2),
                       py(c, s->at[i].y3));
    end_path(c);
    begin_path(c, "dot", s->colour);
    for (int i = 0; i < s->n; i++)
        if (!isnan(s->at[i].y))
            buf_printf(c->b, "M%.1f %.1fh0", px(c, s->at[i].x), py(c, s->at[i].y));
    end_path(c);
}

static void draw_columns(struct canvas *c, const struct plot_series *s)
{
    double most = 0;
    for (int i = 0; i < s->n; i++)
        if (s->at[i].y > most)
            most = s->at[i].y;
    begin_path(c, "column", s->colour);
    for (int i = 0; i < s->n && most > 0; i++)
        if (s->at[i].y > 0)
            buf_printf(c->b, "M%.1f %.0fV%.1fH%.1fV%.0f", px(c, s->at[i].x), UNITS,
                       UNITS * (1 - s->at[i].y / most / 4), px(c, s->at[i].x2), UNITS);
    end_path(c);
}

static void draw_series(struct canvas *c, const struct plot_series *s)
{
    if (s->style == PLOT_COLUMNS)
        draw_columns(c, s);
    else if (s->style == PLOT_LEVELS)
        draw_levels(c, s);
    else if (s->style == PLOT_DOTS)
        draw_dots(c, s);
    else
        draw_line(c, s);
    if (s->style == PLOT_DASHES || s->style == PLOT_CURVE || (s->n == 1 && s->style <= PLOT_CURVE))
        draw_dots(c, s);
}

static void draw_frame(struct canvas *c, const struct plot *p)
{
    buf_str(c->b, "<path class=\"grid\" d=\"");
    for (int i = 0; i < c->y.nticks; i++)
        buf_printf(c->b, "M0 %.1fH%.0f", py(c, c->y.ticks[i]), UNITS);
    buf_str(c->b, "\"/><path class=\"mark\" d=\"");
    for (int i = 0; i < p->nmarks; i++)
        if (drawable(p->marks[i]))
            buf_printf(c->b, "M%.1f 0V%.0f", px(c, p->marks[i]), UNITS);
    buf_str(c->b, "\"/><path class=\"reference\" d=\"");
    if (p->equal)
        buf_printf(c->b, "M0 %.0fL%.0f 0", UNITS, UNITS);
    else if (!isnan(p->reference))
        buf_printf(c->b, "M0 %.1fH%.0f", py(c, p->reference), UNITS);
    buf_str(c->b, "\"/>");
}

static void add_stars(struct canvas *c, const struct plot *p)
{
    for (int i = 0; i < p->nstars; i++) {
        const struct plot_star *s = &p->stars[i];
        if (drawable(s->x) && drawable(s->y))
            buf_printf(c->b, "<i class=\"star t%d\" style=\"left:%.1f%%;top:%.1f%%\">\u2605</i>",
                       s->colour % 8, px(c, s->x) / 10, py(c, s->y) / 10);
    }
}

/* Values of lines and dots that the frame leaves out. */
struct outside {
    int n;
    double low, high;
};

static struct outside find_outside(const struct canvas *c, const struct plot *p)
{
    struct outside o = {.low = INFINITY, .high = -INFINITY};
    for (int i = 0; i < p->nseries; i++)
        for (int k = 0; k < p->series[i].n && p->series[i].style != PLOT_COLUMNS; k++) {
            double y = p->series[i].at[k].y;
            if (isnan(y) || (y >= c->y.low && y <= c->y.high))
                continue;
            o.n++;
            o.low = fmin(o.low, y);
            o.high = fmax(o.high, y);
        }
    return o;
}

static void add_outside(struct canvas *c, const struct plot *p)
{
    struct outside o = find_outside(c, p);
    char from[32], to[32];
    if (!o.n)
        return;
    bool one = !strcmp(axis_label(&c->y, o.low, from), axis_label(&c->y, o.high, to));
    buf_printf(c->b, "<p class=\"outside\">not shown: %d %spoint%s %s%s%s%s</p>", o.n,
               p->late ? "early " : "", o.n == 1 ? "" : "s", one ? "at " : "from ", from,
               one ? "" : " to ", one ? "" : to);
}

static void add_labels(struct canvas *c)
{
    char text[32];
    for (int i = 0; i < c->y.nticks; i++)
        buf_printf(c->b, "<i class=\"y\" style=\"top:%.1f%%\">%s</i>",
                   100 * (1 - axis_at(&c->y, c->y.ticks[i])),
                   axis_label(&c->y, c->y.ticks[i], text));
    for (int i = 0; i < c->x.nticks; i++)
        buf_printf(c->b, "<i class=\"x\" style=\"left:%.1f%%\">%s</i>",
                   100 * axis_at(&c->x, c->x.ticks[i]), axis_label(&c->x, c->x.ticks[i], text));
}

static void add_legend(const struct plot *p, struct buf *b)
{
    static const char *const swatches[] = {"line",  "line dashed", "line dashed", "line",
                                           "level", "dot",         "column"};
    int named = 0;
    for (int i = 0; i < p->nseries; i++)
        named += p->series[i].name != NULL;
    if (named < 2)
        return;
    buf_str(b, "<p class=\"legend\">");
    for (int i = 0; i < p->nseries; i++) {
        const struct plot_series *s = &p->series[i];
        if (!s->name)
            continue;
        buf_printf(b, "<span><svg viewBox=\"0 0 18 10\"><path class=\"%s%s c%d\" d=\"%s\"/></svg>",
                   swatches[s->style], s->style == PLOT_LINE && s->colour >= 8 ? " again" : "",
                   s->colour % 8,
                   s->style == PLOT_DOTS      ? "M9 5h0"
                   : s->style == PLOT_COLUMNS ? "M3 10V2H15V10"
                                              : "M0 5H18");
        html_text(b, s->name);
        buf_str(b, "</span>");
    }
    buf_str(b, "</p>");
}

void plot_html(const struct plot *p, struct buf *out)
{
    struct canvas c = {.b = out};
    buf_str(out, "<figure><figcaption><b>");
    html_text(out, p->title);
    buf_str(out, "</b>");
    if (p->about) {
        buf_str(out, " <span>");
        html_text(out, p->about);
        buf_str(out, "</span>");
    }
    buf_str(out, "</figcaption>");
    if (!plot_has_data(p)) {
        buf_str(out, "<p class=\"none\">no data</p></figure>\n");
        return;
    }
    add_legend(p, out);
    choose_axes(p, &c.x, &c.y);
    buf_printf(out,
               "<div class=\"box%s\"%s data-x=\"%.9g %.9g\" data-y=\"%.9g %.9g\"><svg "
               "viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"",
               p->equal ? " square" : "", p->log ? " data-log=\"1\"" : "", c.x.low, c.x.high,
               c.y.low, c.y.high);
    html_text(out, p->title);
    if (p->summary) {
        buf_str(out, ": ");
        html_text(out, p->summary);
    }
    buf_str(out, "\">");
    draw_frame(&c, p);
    for (int i = p->nseries - 1; i >= 0; i--)
        draw_series(&c, &p->series[i]);
    buf_str(out, "</svg>");
    add_stars(&c, p);
    add_labels(&c);
    buf_str(out, "</div><p class=\"xname\">");
    html_text(out, p->x_name);
    buf_str(out, "</p>");
    add_outside(&c, p);
    buf_str(out, "</figure>\n");
}

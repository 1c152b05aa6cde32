/* Plots: series of points to a figure of HTML with an SVG in it.
 *
 * The SVG is stretched to whatever room there is; its strokes keep their width, and labels are
 * HTML next to it, so that type has one size on every screen. Colours are classes (c0, c1, ...)
 * that the page's style sheet gives for light and dark. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include <stdbool.h>

#include "base/buf.h"
#include "report/axis.h"

enum plot_style {
    PLOT_LINE,
    PLOT_DASHES,  /* a dashed line with dots */
    PLOT_DASHED,  /* without */
    PLOT_CURVE,   /* a line with dots */
    PLOT_LEVELS,  /* x to x2 at the height y, thin */
    PLOT_DOTS,    /* and a bar from y2 to y3 through each, unless they are NAN */
    PLOT_COLUMNS, /* x to x2, from the bottom up to y as a share of a quarter of the height */
};

struct plot_point {
    double x, y, x2, y2, y3;
};

struct plot_series {
    const char *name; /* for the legend; NULL: not there */
    int colour;
    enum plot_style style;
    struct plot_point *at;
    int n, cap;
};

#define PLOT_MAX_SERIES 64

/* What stands out: the best epoch. */
struct plot_star {
    double x, y;
    int colour;
};

struct plot {
    const char *title, *about; /* about: a sentence under the title, or NULL */
    const char *summary;       /* for screen readers, behind the title */
    const char *x_name;
    enum axis_kind x_kind, y_kind;
    bool from_zero;   /* the y axis begins at 0 */
    bool equal;       /* both axes have the same range, and a line shows where they are equal */
    bool log;         /* of `equal`: both axes are AXIS_LOG; only values above 0 are drawn */
    bool late;        /* the y axis fits the last two thirds of x, and a note says what it cuts */
    double reference; /* a line at this y; NAN: none */
    const double *marks; /* lines at these x */
    int nmarks;
    const struct plot_star *stars;
    int nstars;
    struct plot_series series[PLOT_MAX_SERIES];
    int nseries;
};

struct plot_series *plot_new_series(struct plot *p, const char *name, int colour,
                                    enum plot_style style);
/* y NAN: a gap. */
void plot_add(struct plot_series *s, struct plot_point point);
/* Is there anything to be seen? */
bool plot_has_data(const struct plot *p);
void plot_html(const struct plot *p, struct buf *out);
void plot_deinit(struct plot *p);

#endif

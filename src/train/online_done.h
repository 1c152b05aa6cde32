/* Donefiles: what online training has saved, in the three files and the forms of PaddleRec's
 * trainer, next to the models:
 *
 *   donefile.txt        day TAB key TAB folder TAB pass TAB 0     checkpoints; pass -1: the model a
 *                                                                 day begins with (<day>/0/)
 *   base_donefile.txt   {"id": .., "key": .., "input": ".../<day>/base/000", "monitor_data": ..}
 *   patch_donefile.txt  the same of <day>/delta-<pass>/000
 *
 * A line is added behind the model, and the file is replaced as a whole: it lists only complete
 * models. A last line that is incomplete is dropped with a warning. */
#ifndef TRAIN_ONLINE_DONE_H
#define TRAIN_ONLINE_DONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define DONE_DAY_BEGINS (-1) /* as a pass: the model that a day begins with */

enum done_kind { DONE_MODEL, DONE_BASE, DONE_PATCH };

struct done_line {
    int day, pass; /* base: pass -1 */
    int64_t key;   /* time of the base model that it belongs to */
    char *path;    /* owned; the folder, as it is written; base, patch: without /000 */
};

struct done_list {
    struct done_line *at;
    int n;
    struct buf text;   /* complete lines, as they are in the file */
    bool dropped;      /* the file has a last line that is incomplete */
    char warning[400]; /* what is to be said of that; "": nothing */
};

/* What is in the folder's file of that kind; none there: an empty list. FORMAT: a line other
 * than the last is not of the form. done_list_deinit in any case. */
enum skiff_status done_list_read(struct done_list *l, const char *folder, enum done_kind kind,
                                 struct skiff_error *err);
/* Takes such a line out of the file. */
enum skiff_status done_list_repair(struct done_list *l, const char *folder, enum done_kind kind,
                                   struct skiff_error *err);
void done_list_deinit(struct done_list *l);
/* The newest model of online training in that folder; false: none. */
bool done_newest(const char *folder, struct buf *path, int *day);
const struct done_line *done_list_last(const struct done_list *l); /* NULL: empty */
bool done_list_has(const struct done_list *l, int day, int pass);

/* Adds a line and replaces the file. id: of base and patch; monitor: their metric text. */
struct done_add {
    int day, pass;
    int64_t key, id;
    const char *monitor; /* NULL: "" */
};
enum skiff_status done_list_add(struct done_list *l, const char *folder, enum done_kind kind,
                                const struct done_add *what, struct skiff_error *err);

/* Removes the three files and the folders that they list; gives the number of these. */
int done_remove(const char *folder);

/* <folder>/<day>/<pass>, .../0, .../base or .../delta-<pass> */
void done_path(const char *folder, enum done_kind kind, int day, int pass, struct buf *out);

#endif

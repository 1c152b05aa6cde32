/* The process's groups by number: the meaning of ring_id in programs and in calls. Ring 0 is the
 * world. Ops look up their group here; code that opens a group adds it and removes it again.
 *
 * Threads: a lock guards the list. A group itself is used by one thread (collective.h). */
#ifndef COLLECTIVE_RINGS_H
#define COLLECTIVE_RINGS_H

#include "collective/collective.h"

#define RINGS_MOST 256

/* Takes c over; NULL: a ring to which this rank does not belong, whose number is taken all the
 * same. INVALID: a number that is taken, or beyond RINGS_MOST. */
enum skiff_status rings_put(int id, struct collective *c, struct skiff_error *err);
int rings_free_id(void);              /* the lowest free number; RINGS_MOST: none */
struct collective *rings_get(int id); /* NULL: none, or not a member */
bool rings_has(int id);
/* The group, or an error that says what is missing and what to do; `who` is the op or the call. */
enum skiff_status rings_need(int id, const char *who, struct collective **out,
                             struct skiff_error *err);
void rings_remove(int id); /* destroys the group; a no-op when there is none */
void rings_clear(void);    /* all of them, the world last */

#endif

/* Tables of features: units whose rows have rules of their own (table/accessor.h), and what is done
 * with them as a whole (net/ps.h, PS_TABLE). Only files of server/ include this. */
#ifndef SERVER_FEATURES_H
#define SERVER_FEATURES_H

#include "server/server_parts.h"
#include "table/table_config.h"

struct rpc_request;
struct table_save; /* features_save.c */
struct table_load; /* features_load.c */

#define FEATURE_COUNTS 6

struct features {
    struct table_config config;
    int first_shard, nshards;     /* of the table's, that are on this server */
    float *rows;                  /* scratch: pushed rows, aligned */
    int64_t told[FEATURE_COUNTS]; /* what the registry has of it */
    struct table_save *save;      /* written, not committed; the clerk's */
    struct table_load *load;      /* read, not committed; the clerk's */
};

/* The shard's lock is held: the registry hears what the table has now. */
void features_tell(struct server *s, struct unit *u);
/* A table by the unit's settings; stage: beside it, for rows that are being loaded. */
enum skiff_status features_table(struct server *s, struct unit *u, bool stage, struct table **out,
                                 struct skiff_error *err);
bool features_on_disk(const struct unit *u); /* rows beyond the memory limit are on disk */

/* ---- features_call.c: commands, one after the other, on a thread of their own ---- */

/* A piece of work under the shard's lock is so many places of a table: well under a millisecond. */
#define CALL_PIECE 4096

/* Lets those in who wait for the shard's lock, which is not held. STATE: the server ends. */
enum skiff_status call_pause(struct server *s, struct skiff_error *err);
enum skiff_status call_going_on(struct server *s, struct skiff_error *err); /* without a pause */
const atomic_bool *call_stop(const struct server *s); /* the same; NULL: it does not run */
/* Who is in the middle of a load here, NULL: nobody. When it has gone, intake_review is called. */
struct rpc_owner {
    uint32_t worker;
    uint64_t life;
};
void call_note_loading(struct server *s, const struct rpc_owner *owner);
/* Of any table that is keyed by id. */
void features_state(struct server *s, struct unit *u, struct ps_table_state *out);

/* ---- features_save.c ---- */
enum skiff_status features_save(struct server *s, struct unit *u, const struct ps_table *x,
                                struct ps_table_state *state, struct skiff_error *err);
enum skiff_status features_revert(struct server *s, struct unit *u, struct skiff_error *err);
enum skiff_status features_day(struct server *s, struct unit *u, struct skiff_error *err);
enum skiff_status features_commit(struct server *s, struct unit *u, const struct ps_table *x,
                                  struct ps_table_state *state, struct skiff_error *err);
bool features_is_saving(const struct unit *u, uint64_t token);
void features_abort(struct unit *u); /* nothing to abort is fine */

/* ---- features_load.c; while the server runs, on the clerk's thread ---- */
/* Reads the files. */
enum skiff_status features_load(struct server *s, struct unit *u, const struct ps_table *x,
                                struct ps_table_state *state, struct skiff_error *err);
bool features_is_loading(const struct unit *u, uint64_t token);
/* Takes over what was read. */
enum skiff_status features_take(struct server *s, struct unit *u, struct skiff_error *err);
void features_unload(struct unit *u); /* nothing read is fine */

/* ---- intake.c: all that one load brings, tables and dense parts; on the clerk's thread ---- */
/* q's sender begins it. */
enum skiff_status intake_begin(struct server *s, const struct rpc_request *q, uint64_t token,
                               struct skiff_error *err);
/* q is a PUT_PART with a token. */
enum skiff_status intake_keep(struct server *s, const struct rpc_request *q,
                              struct skiff_error *err);
bool intake_is(const struct server *s, uint64_t token);
enum skiff_status intake_need(struct server *s, uint64_t token, struct skiff_error *err);
enum skiff_status intake_take(struct server *s, struct skiff_error *err);
/* Server 0: was this one taken over? If it was not it never will be: whoever asks forgets it. */
bool intake_counts(struct server *s, uint64_t token);
/* Has its worker gone? Then it is taken over or dropped. */
enum skiff_status intake_review(struct server *s, struct skiff_error *err);
/* Before q, which is for all rows: another worker than the one that loads saves or shrinks only
 * when that one has gone, of which this server may not have heard yet. */
enum skiff_status intake_yield(struct server *s, const struct rpc_request *q,
                               struct skiff_error *err);
void intake_drop(struct server *s);

#endif

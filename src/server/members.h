/* Members of the job, as this server knows them, and the end of the job (members.c). Only files
 * of server/ include this. */
#ifndef SERVER_MEMBERS_H
#define SERVER_MEMBERS_H

#include "net/membership.h"

struct server;

struct server_member {
    enum member_state state;
    bool came;
    char name[HELLO_NAME], reason[256];
    uint64_t incarnation; /* of the process that joined last */
    int nlives;           /* processes that have joined with this number */
};

void members_create(struct server *s);
void members_destroy(struct server *s);
void members_host(struct server *s); /* server 0, before node_start */
enum skiff_status members_join(struct server *s, int64_t deadline, struct skiff_error *err);
enum member_state members_state(struct server *s, uint32_t trainer);  /* any thread */
struct server_member members_get(struct server *s, uint32_t trainer); /* any thread: a copy */
bool members_gone(struct server *s, uint32_t trainer,
                  uint64_t incarnation);                         /* any thread: this process */
void members_note_unsaved(struct server *s, const char *reason); /* any thread */
void members_announce_self(struct server *s); /* on_member of this server, which serves now */
void on_member(void *self, const struct member *after, enum member_state before);
/* Blocks until the job is over. */
enum skiff_status members_watch(struct server *s, struct skiff_error *err);
void members_leave(struct server *s, bool complete);

#endif

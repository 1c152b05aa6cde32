#include "net/hello.h"

#include <stdio.h>
#include <string.h>

#include "base/secret.h"

void hello_self_init(struct hello_self *self, const struct hello_side *side, const char *job,
                     bool open)
{
    *self = (struct hello_self){.side = *side, .open = open};
    snprintf(self->job_name, sizeof self->job_name, "%s", job);
    for (char *p = self->side.name; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?'; /* as the other side will read it */
    self->job = wire_hash((const uint8_t *)self->job_name, strlen(self->job_name));
}

void hello_start(struct hello *h)
{
    *h = (struct hello){0};
    secret_random(&h->tag, sizeof h->tag);
}

enum skiff_status hello_write(const struct hello_self *self, struct blob **out_body,
                              struct skiff_error *err)
{
    struct wire_writer w;
    writer_init(&w);
    writer_string(&w, self->side.name);
    writer_string(&w, self->job_name);
    return writer_finish(&w, out_body, err);
}

static enum skiff_status other_job(const struct hello_self *self, const char *name, const char *job,
                                   struct skiff_error *err)
{
    if (self->open)
        return error_set(err, SKIFF_INVALID,
                         "this is another job; start all processes of a job with the same SKIFF_JOB"
                         " and SKIFF_SECRET");
    return error_set(err, SKIFF_INVALID, "%s belongs to job '%s', %s to job '%s'", name, job,
                     self->side.name, self->job_name);
}

enum skiff_status hello_read(const struct hello_self *self, const struct wire_head *head,
                             const struct blob *body, struct hello *h, struct skiff_error *err)
{
    struct hello next = {head->sequence, {head->sender, head->incarnation, ""}};
    char job[HELLO_NAME];
    struct wire_reader r;
    reader_init_block(&r, body);
    reader_name(&r, next.peer.name, sizeof next.peer.name);
    reader_name(&r, job, sizeof job);
    TRY(reader_end(&r, "hello", err));
    if (head->job != self->job)
        return other_job(self, next.peer.name, job, err);
    *h = next;
    return SKIFF_OK;
}

enum skiff_status hello_welcome(const struct hello_self *self, struct blob **out_body,
                                struct skiff_error *err)
{
    struct wire_writer w;
    writer_init(&w);
    writer_string(&w, self->side.name);
    return writer_finish(&w, out_body, err);
}

enum skiff_status hello_accept(struct hello *h, const struct wire_head *head,
                               const struct blob *body, struct skiff_error *err)
{
    struct hello_side peer = {head->sender, head->incarnation, ""};
    struct wire_reader r;
    reader_init_block(&r, body);
    reader_name(&r, peer.name, sizeof peer.name);
    TRY(reader_end(&r, "welcome", err));
    h->peer = peer;
    return SKIFF_OK;
}

#include "fleet/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct number {
    const char *name;
    int *at;
    int low, high;
};

/* gflags of Paddle may be true and false, too. */
static enum skiff_status take_number(const struct number *n, const char *text,
                                     struct skiff_error *err)
{
    char *end;
    long v = strtol(text, &end, 10);
    if (!strcasecmp(text, "true") || !strcasecmp(text, "false")) {
        v = !strcasecmp(text, "true");
        end = "";
    }
    if (*end || v < n->low || v > n->high)
        return error_set(err, SKIFF_INVALID, "%s is '%s'; expected a whole number from %d to %d",
                         n->name, text, n->low, n->high);
    *n->at = (int)v;
    return SKIFF_OK;
}

static enum skiff_status take_text(const char *name, const char *text, char *out, size_t room,
                                   struct skiff_error *err)
{
    if (text && strlen(text) >= room)
        return error_set(err, SKIFF_INVALID, "%s is %zu bytes long; at most %zu", name,
                         strlen(text), room - 1);
    snprintf(out, room, "%s", text ? text : "");
    return SKIFF_OK;
}

#define COMMUNICATOR "FLAGS_communicator_"

enum skiff_status settings_read(struct settings *out, role_lookup get, void *self,
                                struct skiff_error *err)
{
    struct settings s = {.cpu_num = 1};
    const int max = 1 << 30;
    const struct number numbers[] = {
        {"FLAGS_rpc_deadline", &s.rpc_ms, 1, max},
        {"SKIFF_SILENCE_MS", &s.silence_ms, 100, max},
        {"SKIFF_START_MS", &s.start_ms, 1, max},
        {"SKIFF_SHARDS", &s.shards, 1, 64},
        {"CPU_NUM", &s.cpu_num, 1, 1024},
        {COMMUNICATOR "max_merge_var_num", &s.max_merge_var_num, 1, max},
        {COMMUNICATOR "send_queue_size", &s.send_queue_size, 1, max},
        {COMMUNICATOR "min_send_grad_num_before_recv", &s.min_send_grad_num_before_recv, 0, max},
        {COMMUNICATOR "thread_pool_size", &s.thread_pool_size, 1, 1024},
        {COMMUNICATOR "send_wait_times", &s.send_wait_times, 0, max},
        {COMMUNICATOR "independent_recv_thread", &s.independent_recv_thread, 0, 1},
        {COMMUNICATOR "is_sgd_optimizer", &s.is_sgd_optimizer, 0, 1},
    };
    const int ncommon = 5, n = (int)(sizeof(numbers) / sizeof(numbers[0]));
    if (!get)
        get = role_environment;
    for (int i = ncommon; i < n; i++)
        *numbers[i].at = -1;
    for (int i = 0; i < n; i++) {
        const char *text = get(self, numbers[i].name);
        if (text && *text)
            TRY(take_number(&numbers[i], text, err));
    }
    TRY(take_text("SKIFF_JOB", get(self, "SKIFF_JOB"), s.job, sizeof(s.job), err));
    TRY(take_text("SKIFF_SECRET", get(self, "SKIFF_SECRET"), s.secret, sizeof(s.secret), err));
    TRY(take_text("SKIFF_LISTEN", get(self, "SKIFF_LISTEN"), s.listen, sizeof(s.listen), err));
    TRY(take_text("SKIFF_FAULT", get(self, "SKIFF_FAULT"), s.fault, sizeof(s.fault), err));
    *out = s;
    return SKIFF_OK;
}

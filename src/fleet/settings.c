/* A job's settings (settings.h): from the environment, then overridden by a strategy, a flag or a
 * config.
 *
 * One option table holds names, ranges and help texts of the variables, so that a wrong value is
 * reported the same way for every variable, and the docs are generated from it. Transport and
 * encryption are joined into the one text that nodes take (join_links). What a value means for a
 * process is decided by its role. */
#include "fleet/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/transport.h"

/* gflags of Paddle are 0, 1, true or false; the int stays -1 when it is not set. */
static const char *read_switch(void *target, const char *text)
{
    bool on;
    if (!option_bool(text, &on))
        return "true or false";
    *(int *)target = on;
    return NULL;
}

static const char *read_encrypt(void *target, const char *text)
{
    static const char *const words[] = {"auto", "on", "off"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(text, words[i])) {
            *(int *)target = i;
            return NULL;
        }
    return "auto, on or off";
}

#define AT(field) offsetof(struct settings, field)
#define MOST (1 << 30)
#define SILENCE_MS 10000 /* as sessions and servers have it */
#define COMMUNICATOR "FLAGS_communicator_"

static const struct option rows[] = {
    {"SKIFF_JOB", OPTION_CAPACITY, AT(job), .high = SETTINGS_JOB, .help = "name of the job"},
    {"SKIFF_SECRET", OPTION_CAPACITY, AT(secret), .high = SECRET_TEXT, .help = "the job's secret"},
    {"SKIFF_SECRET_FILE", OPTION_TEXT, AT(secret_file),
     .help = "file with the job's secret, readable only by its owner"},
    {"SKIFF_INSECURE", OPTION_BOOL, AT(insecure),
     .help = "1: servers that other machines can reach need no secret"},
    {"SKIFF_ENCRYPT", OPTION_OTHER, AT(encrypt), .read = read_encrypt,
     .help = "on, off, auto: on between machines"},
    {"SKIFF_LISTEN", OPTION_CAPACITY, AT(listen), .high = ADDRESS_TEXT,
     .help = "address at which a server listens, if not its own"},
    {"SKIFF_TRANSPORT", OPTION_CAPACITY, AT(transport), .high = SETTINGS_TRANSPORT,
     .help = "how processes connect: tcp or ipc; settings may follow the name"},
    {"FLAGS_rpc_deadline", OPTION_INT, AT(rpc_ms), .low = 1, .high = MOST,
     .help = "milliseconds until a request has failed"},
    {"SKIFF_SILENCE_MS", OPTION_INT, AT(silence_ms), .low = 100, .high = MOST,
     .help = "milliseconds of silence after which a process counts as dead"},
    {"SKIFF_START_MS", OPTION_INT, AT(start_ms), .low = 1, .high = SETTINGS_START_MOST,
     .help = "milliseconds that processes wait for each other at the start"},
    {"SKIFF_WAIT_MS", OPTION_INT, AT(wait_ms), .low = 1, .high = MOST,
     .help = "milliseconds that ranks wait in a call for a rank that is alive"},
    {"SKIFF_SHARDS", OPTION_INT, AT(shards), .low = 1, .high = 64, .help = "threads of a server"},
    {"SKIFF_SERVER_MEMORY", OPTION_SIZE, AT(server_memory),
     .help = "bytes that the sparse tables of one server share"},
    {"CPU_NUM", OPTION_INT, AT(cpu_num), .low = 1, .high = 1024, .standard = "1",
     .help = "threads of a trainer"},
    {COMMUNICATOR "max_merge_var_num", OPTION_INT, AT(max_merge_var_num), .low = 1, .high = MOST,
     .help = "number of gradients that are added up before they are sent"},
    {COMMUNICATOR "send_queue_size", OPTION_INT, AT(send_queue_size), .low = 1, .high = MOST,
     .help = "number of gradients that may wait"},
    {COMMUNICATOR "min_send_grad_num_before_recv", OPTION_INT, AT(min_send_grad_num_before_recv),
     .low = 0, .high = MOST,
     .help = "number of gradients that are sent before parameters are requested"},
    {COMMUNICATOR "thread_pool_size", OPTION_INT, AT(thread_pool_size), .low = 1, .high = 1024,
     .help = "accepted, no effect: requests need no threads"},
    {COMMUNICATOR "send_wait_times", OPTION_INT, AT(send_wait_times), .low = 0, .high = MOST,
     .help = "number of waits for another gradient"},
    {COMMUNICATOR "independent_recv_thread", OPTION_OTHER, AT(independent_recv_thread),
     .read = read_switch, .help = "parameters are received while gradients are sent"},
    {COMMUNICATOR "is_sgd_optimizer", OPTION_OTHER, AT(is_sgd_optimizer), .read = read_switch,
     .help = "gradients of different batches may be added up"},
    {0}};
const struct options settings_options = {.rows = rows};

static enum skiff_status check_transport(const char *subject, const char *text,
                                         struct skiff_error *err)
{
    const struct transport_kind *kind;
    struct transport_options options;
    enum skiff_status status = transport_choose(text, &kind, &options, err);
    return status < 0 ? error_prefix(err, status, "%s", subject) : SKIFF_OK;
}

static void join_links(struct settings *s)
{
    static const char *const words[] = {"auto", "on", "off"};
    if (s->encrypt < 0)
        snprintf(s->links, sizeof(s->links), "%s", s->transport);
    else
        snprintf(s->links, sizeof(s->links), "%s encrypt=%s",
                 s->transport[0] ? s->transport : "tcp", words[s->encrypt]);
}

enum skiff_status settings_set_transport(struct settings *s, const char *text,
                                         struct skiff_error *err)
{
    if (!text)
        return SKIFF_OK;
    TRY(check_transport("transport", text, err));
    TRY(options_set(&settings_options, s, "SKIFF_TRANSPORT", text, err));
    join_links(s);
    return SKIFF_OK;
}

static enum skiff_status take_secret_file(struct settings *s, const char *path,
                                          struct skiff_error *err)
{
    TRY(secret_file_read(path, s->secret, err));
    secret_guard();
    return SKIFF_OK;
}

enum skiff_status settings_set_security(struct settings *s, const struct settings_security *given,
                                        struct skiff_error *err)
{
    const char *expected = given->encrypt ? read_encrypt(&s->encrypt, given->encrypt) : NULL;
    if (expected)
        return error_set(err, SKIFF_INVALID, "encrypt is '%s'; expected %s", given->encrypt,
                         expected);
    if (given->secret_file)
        TRY(take_secret_file(s, given->secret_file, err));
    s->insecure = s->insecure || given->insecure;
    join_links(s);
    return SKIFF_OK;
}

enum skiff_status settings_read(struct settings *out, role_lookup get, void *self,
                                struct skiff_error *err)
{
    struct settings s = {.encrypt = -1,
                         .max_merge_var_num = -1,
                         .send_queue_size = -1,
                         .min_send_grad_num_before_recv = -1,
                         .thread_pool_size = -1,
                         .send_wait_times = -1,
                         .independent_recv_thread = -1,
                         .is_sgd_optimizer = -1};
    options_init(&settings_options, &s);
    if (!get)
        get = role_environment;
    for (const struct option *row = rows; row->name; row++) {
        const char *text = get(self, row->name);
        if (text && *text)
            TRY(option_put(row, &s, row->name, text, err));
    }
    TRY(check_transport("SKIFF_TRANSPORT", s.transport, err));
    if (s.secret[0])
        secret_guard();
    else if (s.secret_file)
        TRY(take_secret_file(&s, s.secret_file, err));
    join_links(&s);
    *out = s;
    return SKIFF_OK;
}

enum skiff_status settings_silence(int *out_ms, struct skiff_error *err)
{
    struct settings s = {0};
    const struct option *row = rows;
    const char *text = getenv("SKIFF_SILENCE_MS");
    *out_ms = SILENCE_MS;
    while (strcmp(row->name, "SKIFF_SILENCE_MS") != 0)
        row++;
    if (!text || !*text)
        return SKIFF_OK;
    TRY(option_put(row, &s, row->name, text, err));
    *out_ms = s.silence_ms;
    return SKIFF_OK;
}

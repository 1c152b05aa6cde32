/* Settings of a job that are the same for all roles and come from the environment;
 * docs/guide/distributed.md lists the variables. */
#ifndef FLEET_SETTINGS_H
#define FLEET_SETTINGS_H

#include "base/options.h"
#include "fleet/role.h"
#include "fleet/secret_file.h"
#include "net/address.h"

#define SETTINGS_JOB 128
#define SETTINGS_TRANSPORT 256
#define SETTINGS_START_MOST (1 << 30) /* of SKIFF_START_MS */

struct settings {
    char job[SETTINGS_JOB], secret[SECRET_TEXT]; /* secret: also that of SKIFF_SECRET_FILE */
    const char *secret_file;                     /* of the environment */
    bool insecure;                               /* no secret is needed, wherever servers are */
    int encrypt;                                 /* enum handshake_encrypt; -1: not set */
    char links[SETTINGS_TRANSPORT + 32];         /* transport and encrypt, as nodes take them */
    char listen[ADDRESS_TEXT];                   /* "": as in the list of servers */
    char transport[SETTINGS_TRANSPORT]; /* SKIFF_TRANSPORT: as transport_choose takes it; "" */
    int rpc_ms, silence_ms, start_ms, wait_ms, shards; /* 0: defaults */
    size_t server_memory;                              /* of sparse tables; 0: no limit */
    int cpu_num;                                       /* CPU_NUM; 1 */
    /* FLAGS_communicator_*; -1: not set */
    int max_merge_var_num, send_queue_size, min_send_grad_num_before_recv, thread_pool_size,
        send_wait_times, independent_recv_thread, is_sgd_optimizer;
};

extern const struct options settings_options; /* names of the variables, and what they are for */
/* Overrides the transport: with the value of a strategy, a flag or a config. NULL: keeps it. */
enum skiff_status settings_set_transport(struct settings *s, const char *text,
                                         struct skiff_error *err);
/* Overrides the security settings; NULL, false: keeps them. */
struct settings_security {
    const char *encrypt; /* auto, on, off */
    const char *secret_file;
    bool insecure;
};
enum skiff_status settings_set_security(struct settings *s, const struct settings_security *given,
                                        struct skiff_error *err);
enum skiff_status settings_read(struct settings *out, role_lookup get, void *self,
                                struct skiff_error *err); /* get NULL: the environment */
/* SKIFF_SILENCE_MS of the environment alone; its default when it is not set or wrong. */
enum skiff_status settings_silence(int *out_ms, struct skiff_error *err);

#endif

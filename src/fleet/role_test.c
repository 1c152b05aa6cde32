/* Roles: every set of variables, every wrong or missing value with its own message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/role.h"

/* "A=1;B=2": the environment of a case. */
static const char *lookup(void *self, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = self; p && *p;) {
        const char *end = strchr(p, ';');
        size_t len = end ? (size_t)(end - p) : strlen(p);
        if (len > n && !strncmp(p, name, n) && p[n] == '=') {
            /* the caller may hold several: a small ring of them */
            static char ring[16][512];
            static int at;
            char *slot = ring[at++ % 16];
            snprintf(slot, sizeof(ring[0]), "%.*s", (int)(len - n - 1), p + n + 1);
            return slot;
        }
        p = end ? end + 1 : NULL;
    }
    return NULL;
}

#define LIST2 "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:6170,10.0.0.2:6170;"
#define TRAINER "TRAINING_ROLE=TRAINER;PADDLE_TRAINERS_NUM=2;"
#define SERVER "TRAINING_ROLE=PSERVER;PADDLE_TRAINERS_NUM=2;"
#define MANUAL "PADDLE_PSERVER_IPS=10.0.0.1,10.0.0.2;PADDLE_TRAINERS=3;"

struct good {
    enum skiff_role_env set;
    const char *env;
    enum skiff_role_kind kind;
    int id, workers, servers;
    const char *endpoints;
};

static void right_ones(void **state)
{
    static const struct good cases[] = {
        {SKIFF_ROLE_ENV_AUTO, "", SKIFF_WORKER, 0, 1, 0, ""},
        {SKIFF_ROLE_ENV_AUTO, "PADDLE_TRAINER_ID=3", SKIFF_WORKER, 0, 1, 0, ""},
        {SKIFF_ROLE_ENV_AUTO, LIST2 TRAINER "PADDLE_TRAINER_ID=1", SKIFF_WORKER, 1, 2, 2,
         "10.0.0.1:6170,10.0.0.2:6170"},
        {SKIFF_ROLE_ENV_CLOUD, LIST2 SERVER "POD_IP=10.0.0.2;PADDLE_PORT=6170", SKIFF_SERVER, 1, 2,
         2, "10.0.0.1:6170,10.0.0.2:6170"},
        {SKIFF_ROLE_ENV_CLOUD, LIST2 SERVER "PADDLE_PSERVER_ID=1", SKIFF_SERVER, 1, 2, 2,
         "10.0.0.1:6170,10.0.0.2:6170"},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 "TRAINING_ROLE=TRAINER;PADDLE_TRAINER_ID=2;PADDLE_TRAINER_ENDPOINTS=a:1,b:1,c:1",
         SKIFF_WORKER, 2, 3, 2, "10.0.0.1:6170,10.0.0.2:6170"},
        /* IPv6, names, blanks, capitals */
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=[::1]:6170, PS-1.cluster:6171;" SERVER
         "POD_IP=::1;PADDLE_PORT=6170",
         SKIFF_SERVER, 0, 2, 2, "[::1]:6170,ps-1.cluster:6171"},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=[::1]:6170,PS-1.cluster:6171;" SERVER
         "POD_IP=ps-1.Cluster;PADDLE_PORT=6171",
         SKIFF_SERVER, 1, 2, 2, "[::1]:6170,ps-1.cluster:6171"},
        /* a name in the list, an address as own */
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=10.9.9.9:6170,localhost:6171;" SERVER
         "POD_IP=127.0.0.1;PADDLE_PORT=6171",
         SKIFF_SERVER, 1, 2, 2, "10.9.9.9:6170,localhost:6171"},
        {SKIFF_ROLE_ENV_AUTO, MANUAL "PADDLE_TRAINING_ROLE=TRAINER", SKIFF_WORKER, 0, 3, 2,
         "10.0.0.1:6174,10.0.0.2:6174"},
        {SKIFF_ROLE_ENV_MANUAL, MANUAL "PADDLE_TRAINING_ROLE=TRAINER;PADDLE_TRAINER_ID=2",
         SKIFF_WORKER, 2, 3, 2, "10.0.0.1:6174,10.0.0.2:6174"},
        {SKIFF_ROLE_ENV_MANUAL,
         MANUAL "PADDLE_TRAINING_ROLE=PSERVER;PADDLE_CURRENT_IP=10.0.0.2;PADDLE_PSERVER_PORT=7000",
         SKIFF_SERVER, 1, 3, 2, "10.0.0.1:7000,10.0.0.2:7000"},
        {SKIFF_ROLE_ENV_MANUAL,
         "PADDLE_PSERVER_IPS=fe80::1,::1;PADDLE_TRAINERS=1;PADDLE_TRAINING_ROLE=PSERVER;"
         "PADDLE_CURRENT_IP=::1",
         SKIFF_SERVER, 1, 1, 2, "[fe80::1]:6174,[::1]:6174"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct good *c = &cases[i];
        struct role r;
        struct skiff_error err = {0};
        if (role_from_env(&r, c->set, lookup, (void *)c->env, &err) < 0)
            fail_msg("%s: %s", c->env, err.message);
        assert_int_equal(r.kind, c->kind);
        assert_int_equal(r.id, c->id);
        assert_int_equal(r.workers, c->workers);
        assert_int_equal(r.nservers, c->servers);
        assert_string_equal(r.servers_text, c->endpoints);
        role_deinit(&r);
    }
}

struct bad {
    enum skiff_role_env set;
    const char *env;
    const char *says[4]; /* all of these */
};

static void wrong_ones(void **state)
{
    static const struct bad cases[] = {
        {SKIFF_ROLE_ENV_CLOUD, "", {"PADDLE_PSERVERS_IP_PORT_LIST is not set", "host:port"}},
        {SKIFF_ROLE_ENV_AUTO, TRAINER, {"PADDLE_PSERVERS_IP_PORT_LIST is not set"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2, {"TRAINING_ROLE is not set", "TRAINER or PSERVER"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 "TRAINING_ROLE=trainer",
         {"TRAINING_ROLE is 'trainer'", "capital letters"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2 "TRAINING_ROLE=HETER_TRAINER", {"HETER_TRAINER"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 "TRAINING_ROLE=TRAINER;PADDLE_TRAINER_ID=0",
         {"PADDLE_TRAINERS_NUM is not set"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 "TRAINING_ROLE=TRAINER;PADDLE_TRAINERS_NUM=two",
         {"PADDLE_TRAINERS_NUM is 'two'", "the number of trainers", "whole number"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 "TRAINING_ROLE=TRAINER;PADDLE_TRAINERS_NUM=99999999999",
         {"PADDLE_TRAINERS_NUM is '99999999999'"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 "TRAINING_ROLE=TRAINER;PADDLE_TRAINERS_NUM=0",
         {"PADDLE_TRAINERS_NUM is 0", "at least 1"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2 TRAINER, {"PADDLE_TRAINER_ID is not set"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 TRAINER "PADDLE_TRAINER_ID=x",
         {"PADDLE_TRAINER_ID is 'x'", "whole number"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 TRAINER "PADDLE_TRAINER_ID=7",
         {"PADDLE_TRAINER_ID is 7", "2 trainers", "from 0 to 1"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2 TRAINER "PADDLE_TRAINER_ID=-1", {"PADDLE_TRAINER_ID is -1"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2 SERVER, {"POD_IP is not set"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2 SERVER "POD_IP=10.0.0.1", {"PADDLE_PORT is not set"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 SERVER "POD_IP=10.0.0.1;PADDLE_PORT=http",
         {"POD_IP and PADDLE_PORT", "'http'"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 SERVER "POD_IP=10.0.0.9;PADDLE_PORT=6170",
         {"this server is 10.0.0.9:6170", "not in PADDLE_PSERVERS_IP_PORT_LIST",
          "10.0.0.1:6170,10.0.0.2:6170"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 SERVER "POD_IP=10.0.0.1:6170;PADDLE_PORT=6170",
         {"POD_IP is '10.0.0.1:6170'", "without a port", "PADDLE_PORT"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:6170 10.0.0.2:6170;" TRAINER,
         {"by commas"}},
        {SKIFF_ROLE_ENV_AUTO, LIST2 SERVER "PADDLE_PSERVER_ID=2", {"PADDLE_PSERVER_ID is 2"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1;" TRAINER,
         {"PADDLE_PSERVERS_IP_PORT_LIST", "'10.0.0.1' has no port"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:99999;" TRAINER,
         {"PADDLE_PSERVERS_IP_PORT_LIST", "'99999'"}},
        {SKIFF_ROLE_ENV_AUTO, "PADDLE_PSERVERS_IP_PORT_LIST=10.0.0.1:0;" TRAINER, {"port 0"}},
        {SKIFF_ROLE_ENV_AUTO, "PADDLE_PSERVERS_IP_PORT_LIST=*:6170;" TRAINER, {"no machine"}},
        {SKIFF_ROLE_ENV_AUTO, "PADDLE_PSERVERS_IP_PORT_LIST=::1:6170;" TRAINER, {"brackets"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=a:1,b:1,A:1;" TRAINER,
         {"a:1 stands there twice", "0 and 2"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_PSERVERS_IP_PORT_LIST=a:1,,b:1;" TRAINER,
         {"nothing between two commas"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 TRAINER "PADDLE_TRAINER_ID=0;PADDLE_TRAINER_ENDPOINTS=a:1,b:1,c:1",
         {"lists 3 trainers", "PADDLE_TRAINERS_NUM says 2"}},
        {SKIFF_ROLE_ENV_AUTO,
         LIST2 TRAINER "PADDLE_HETER_TRAINER_IP_PORT_LIST=a:1",
         {"PADDLE_HETER_TRAINER_IP_PORT_LIST"}},
        {SKIFF_ROLE_ENV_MANUAL, "", {"PADDLE_TRAINING_ROLE is not set"}},
        {SKIFF_ROLE_ENV_AUTO, "PADDLE_TRAINING_ROLE=X", {"PADDLE_TRAINING_ROLE is 'X'"}},
        {SKIFF_ROLE_ENV_AUTO, "PADDLE_TRAINING_ROLE=TRAINER", {"PADDLE_PSERVER_IPS is not set"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_TRAINING_ROLE=TRAINER;PADDLE_PSERVER_IPS=a,b",
         {"PADDLE_TRAINERS is not set"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_TRAINING_ROLE=TRAINER;PADDLE_PSERVER_IPS=a:6174,b",
         {"'a:6174'", "without a port"}},
        {SKIFF_ROLE_ENV_AUTO,
         "PADDLE_TRAINING_ROLE=TRAINER;PADDLE_PSERVER_IPS=a,a;PADDLE_TRAINERS=1",
         {"a:6174 stands there twice"}},
        {SKIFF_ROLE_ENV_AUTO,
         MANUAL "PADDLE_TRAINING_ROLE=TRAINER;PADDLE_TRAINER_ID=3",
         {"PADDLE_TRAINER_ID is 3", "3 trainers", "PADDLE_TRAINERS"}},
        {SKIFF_ROLE_ENV_AUTO,
         MANUAL "PADDLE_TRAINING_ROLE=PSERVER",
         {"PADDLE_CURRENT_IP is not set"}},
        {SKIFF_ROLE_ENV_AUTO,
         MANUAL "PADDLE_TRAINING_ROLE=PSERVER;PADDLE_CURRENT_IP=10.0.0.9",
         {"this server is 10.0.0.9:6174", "not in PADDLE_PSERVER_IPS"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct bad *c = &cases[i];
        struct role r = {.id = 77};
        struct skiff_error err = {0};
        if (role_from_env(&r, c->set, lookup, (void *)c->env, &err) >= 0)
            fail_msg("%s was taken", c->env);
        assert_int_equal(r.id, 77);
        for (int k = 0; k < 4 && c->says[k]; k++)
            if (!strstr(err.message, c->says[k]))
                fail_msg("%s\n says: %s\n but not: %s", c->env, err.message, c->says[k]);
    }
}

static void given_by_user(void **state)
{
    const char *two[] = {"a:1", "b:1"}, *same[] = {"a:1", "a:1"}, *bare[] = {"a"};
    const struct {
        struct skiff_role role;
        const char *says; /* NULL: right */
    } cases[] = {
        {{SKIFF_WORKER, 1, 2, two, 2, NULL, 0, {0}}, NULL},
        {{SKIFF_SERVER, 1, 1, two, 2, NULL, 0, {0}}, NULL},
        {{SKIFF_WORKER, 1, 0, two, 2, two, 2, {0}}, NULL},
        {{SKIFF_WORKER, 0, 0, two, 2, NULL, 0, {0}}, "worker_num is 0"},
        {{SKIFF_WORKER, 0, -1, two, 2, NULL, 0, {0}}, "worker_num is -1"},
        {{SKIFF_WORKER, 2, 2, two, 2, NULL, 0, {0}}, "current_id is 2, but the job has 2 trainers"},
        {{SKIFF_SERVER, 2, 2, two, 2, NULL, 0, {0}}, "current_id is 2, but the job has 2 servers"},
        {{SKIFF_SERVER, -1, 2, two, 2, NULL, 0, {0}}, "current_id is -1"},
        {{0, 0, 2, two, 2, NULL, 0, {0}}, "role is 0"},
        {{SKIFF_WORKER, 0, 2, NULL, 0, NULL, 0, {0}}, "server_endpoints is empty"},
        {{SKIFF_WORKER, 0, 2, same, 2, NULL, 0, {0}}, "twice"},
        {{SKIFF_WORKER, 0, 2, bare, 1, NULL, 0, {0}}, "has no port"},
        {{SKIFF_WORKER, 1, 2, two, 2, NULL, 0, {0, 0, 0, 1}}, "struct skiff_role: a reserved"},
        {{SKIFF_WORKER, 0, 3, two, 2, two, 2, {0}}, "worker_num is 3, but worker_endpoints has 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct role r = {0};
        struct skiff_error err = {0};
        enum skiff_status status = role_from_user(&r, &cases[i].role, &err);
        if (!cases[i].says)
            assert_int_equal(status, SKIFF_OK);
        else if (status >= 0 || !strstr(err.message, cases[i].says))
            fail_msg("%s, not %s", err.message, cases[i].says);
        role_deinit(&r);
    }
}

/* ---- ranks that srun and mpirun start ---- */

#define STEP(n, rank, node, local)                                                  \
    "SLURM_JOB_ID=40;SLURM_STEP_ID=1;SLURM_STEP_NUM_TASKS=" n ";SLURM_PROCID=" rank \
    ";SLURM_NODEID=" node ";SLURM_LOCALID=" local ";"

static void ranks_of_launchers(void **state)
{
    static const struct {
        const char *env;
        int id, workers;
        const char *launcher, *endpoints;
    } cases[] = {
        {"", 0, 1, NULL, NULL},
        /* a batch script is one process */
        {"SLURM_JOB_ID=40;SLURM_NTASKS=4;SLURM_PROCID=0;SLURM_JOB_NODELIST=n[1-2]", 0, 1, NULL,
         NULL},
        {STEP("1", "0", "0", "0") "SLURM_STEP_NODELIST=n1;SLURM_STEP_TASKS_PER_NODE=1", 0, 1, NULL,
         NULL},
        {STEP("3", "2", "1", "0") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=2,1;"
                                  "SLURM_DISTRIBUTION=block",
         2, 3, "srun", "n1:10576,n1:10577,n2:10576"},
        {STEP("3", "2", "0", "1") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=2,1;"
                                  "SLURM_DISTRIBUTION=cyclic:block",
         2, 3, "srun", "n1:10576,n2:10576,n1:10577"},
        {STEP("5", "4", "2", "1") "SLURM_STEP_NODELIST=a[08-10];SLURM_STEP_TASKS_PER_NODE=1,2(x2);"
                                  "SLURM_DISTRIBUTION=cyclic;PADDLE_START_PORT=7000",
         4, 5, "srun", "a08:7000,a09:7000,a10:7000,a09:7001,a10:7001"},
        /* one node: other machines need not reach it */
        {STEP("2", "1", "0", "1") "SLURM_STEP_NODELIST=n7;SLURM_STEP_TASKS_PER_NODE=2;"
                                  "SLURM_DISTRIBUTION=plane",
         1, 2, "srun", "127.0.0.1:10576,127.0.0.1:10577"},
        {STEP("2", "1", "1", "0") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=1(x2);"
                                  "SLURM_DISTRIBUTION=block;PMI_SIZE=2;PMI_RANK=1",
         1, 2, "srun", "n1:10576,n2:10576"},
        /* Paddle's variables come first */
        {STEP("2", "1", "1", "0") "PADDLE_TRAINERS_NUM=1", 0, 1, NULL, NULL},
        {STEP("2", "1", "1", "0") "PADDLE_TRAINER_ENDPOINTS=a:1,b:1,c:1;PADDLE_TRAINER_ID=2", 2, 3,
         NULL, "a:1,b:1,c:1"},
        /* mpirun, whose daemons srun has started */
        {STEP("2", "1", "1", "0") "OMPI_COMM_WORLD_SIZE=2;OMPI_COMM_WORLD_RANK=0;"
                                  "OMPI_COMM_WORLD_LOCAL_SIZE=2;PADDLE_START_PORT=7000",
         0, 2, "mpirun", "127.0.0.1:7000,127.0.0.1:7001"},
        {"OMPI_COMM_WORLD_SIZE=4;OMPI_COMM_WORLD_RANK=3;OMPI_COMM_WORLD_LOCAL_SIZE=2", 3, 4,
         "mpirun", NULL},
        {"OMPI_COMM_WORLD_SIZE=1;OMPI_COMM_WORLD_RANK=0;OMPI_COMM_WORLD_LOCAL_SIZE=1", 0, 1, NULL,
         NULL},
        {"PMI_SIZE=1;PMI_RANK=0", 0, 1, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct role r = {0};
        struct skiff_error err = {0};
        if (role_from_ranks(&r, lookup, (void *)cases[i].env, &err) < 0)
            fail_msg("%s: %s", cases[i].env, err.message);
        char *ends = role_list_join(r.worker_endpoints, r.nworker_endpoints);
        assert_int_equal(r.id, cases[i].id);
        assert_int_equal(r.workers, cases[i].workers);
        assert_string_equal(r.launcher ? r.launcher : "",
                            cases[i].launcher ? cases[i].launcher : "");
        assert_string_equal(ends, cases[i].endpoints ? cases[i].endpoints : "");
        free(ends);
        role_deinit(&r);
    }
}

static void wrong_ranks_of_launchers(void **state)
{
    static const struct {
        const char *env, *says;
    } cases[] = {
        {STEP("2", "2", "0", "0"), "SLURM_PROCID is '2'; expected a number from 0 to 1"},
        {STEP("x", "0", "0", "0"), "SLURM_STEP_NUM_TASKS is 'x'"},
        {STEP("2", "0", "0", "0"), "SLURM_STEP_NODELIST is not set"},
        {STEP("2", "0", "0", "0") "SLURM_STEP_NODELIST=n1", "SLURM_STEP_TASKS_PER_NODE is not set"},
        {STEP("2", "0", "0", "0") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=2",
         "SLURM_STEP_NODELIST (n[1-2]) has 2 nodes, SLURM_STEP_TASKS_PER_NODE (2) 1 with 2 tasks"},
        {STEP("3", "0", "0", "0") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=1(x2)",
         "2 with 2 tasks, and SLURM_STEP_NUM_TASKS is 3"},
        {STEP("2", "0", "0", "0") "SLURM_STEP_NODELIST=n[1-;SLURM_STEP_TASKS_PER_NODE=2",
         "SLURM_STEP_NODELIST is 'n[1-': a bracket is not closed"},
        {STEP("4", "1", "0", "1") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=2(x2);"
                                  "SLURM_DISTRIBUTION=plane",
         "SLURM_DISTRIBUTION is 'plane': which rank is on which node"},
        {STEP("2", "0", "1", "0") "SLURM_STEP_NODELIST=n[1-2];SLURM_STEP_TASKS_PER_NODE=1(x2)",
         "Slurm has put rank 0 on node 1 as task 0, where"},
        {STEP("2", "0", "0", "0") "SLURM_HET_SIZE=2", "SLURM_HET_SIZE is set"},
        {STEP("2", "0", "0", "0") "SLURM_STEP_NODELIST=n1;SLURM_STEP_TASKS_PER_NODE=2;"
                                  "PADDLE_START_PORT=65535",
         "PADDLE_START_PORT is '65535'; expected a number from 1 to 65534"},
        {"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK is ''"},
        {"OMPI_COMM_WORLD_SIZE=2;OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_RANK is '5'"},
        {"PMI_SIZE=2;PMI_RANK=1", "PMI_SIZE is 2: an MPI other than Open MPI"},
        {STEP("2", "0", "0", "0") "PMI_SIZE=4;PMI_RANK=1", "PMI_SIZE is 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct role r = {0};
        struct skiff_error err = {0};
        if (role_from_ranks(&r, lookup, (void *)cases[i].env, &err) >= 0 ||
            !strstr(err.message, cases[i].says))
            fail_msg("%s: %s, not %s", cases[i].env, err.message, cases[i].says);
    }
}

/* Every file to exactly one worker, contiguous, the first ones one more. */
static void files_are_split(void **state)
{
    (void)state;
    int first, count;
    role_split(5, 2, 0, &first, &count);
    assert_int_equal(first * 10 + count, 3);
    role_split(5, 2, 1, &first, &count);
    assert_int_equal(first * 10 + count, 32);
    for (int n = 0; n < 12; n++)
        for (int w = 1; w < 8; w++) {
            int at = 0;
            for (int k = 0; k < w; k++) {
                role_split(n, w, k, &first, &count);
                assert_int_equal(first, at);
                assert_int_equal(count, n / w + (k < n % w));
                at += count;
            }
            assert_int_equal(at, n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_ones),
        cmocka_unit_test(wrong_ones),
        cmocka_unit_test(given_by_user),
        cmocka_unit_test(ranks_of_launchers),
        cmocka_unit_test(wrong_ranks_of_launchers),
        cmocka_unit_test(files_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

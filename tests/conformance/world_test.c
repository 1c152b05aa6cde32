/* The world of a collective job: the rank's identity, errors for wrong environments, rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <skiff/collective.h>

#include "collective/rings.h"
#include "tests/conformance/collective_fixture_test.h"

static void set_environment(const struct job *j, int rank)
{
    char text[RANKS * 32] = "", number[16];
    for (int i = 0; i < j->size; i++) {
        strcat(text, i ? "," : "");
        strcat(text, j->endpoints[i]);
    }
    setenv("PADDLE_TRAINER_ENDPOINTS", text, 1);
    snprintf(number, sizeof number, "%d", j->size);
    setenv("PADDLE_TRAINERS_NUM", number, 1);
    snprintf(number, sizeof number, "%d", rank);
    setenv("PADDLE_TRAINER_ID", number, 1);
    setenv("PADDLE_CURRENT_ENDPOINT", j->endpoints[rank], 1);
}

static float sum_of_ranks(int ring, int rank)
{
    float x = (float)rank + 1;
    CHECK_OK(collective_all_reduce(rings_get(ring), &x, 1, DTYPE_FP32, COLLECTIVE_SUM, &err));
    return x;
}

static void rank_of_three(struct job *j, int rank)
{
    static const int last_and_first[] = {2, 0}, second[] = {1};
    int ring = -1, other = -1;
    struct collective *c;
    set_environment(j, rank);
    CHECK(skiff_world_rank() == rank && skiff_world_size() == 3);
    CHECK(!skiff_world_is_open() && !strcmp(skiff_world_engine(), ""));
    CHECK_FAILS(rings_need(0, "op c_allreduce_sum", &c, &err), "op c_allreduce_sum",
                "not connected", "init_parallel_env");
    CHECK_OK(skiff_world_open(NULL, &err));
    CHECK_OK(skiff_world_open(NULL, &err)); /* no-op */
    CHECK(skiff_world_rank() == rank && skiff_world_size() == 3);
    CHECK(!strcmp(skiff_world_engine(), "net"));
    CHECK(sum_of_ranks(0, rank) == 6);

    CHECK_OK(skiff_world_group(last_and_first, 2, &ring, &err));
    CHECK_OK(skiff_world_group(second, 1, &other, &err));
    CHECK(ring == 1 && other == 2);
    CHECK(skiff_ring_rank(ring) == (rank == 2 ? 0 : rank == 0 ? 1 : -1));
    CHECK(skiff_ring_rank(other) == (rank == 1 ? 0 : -1));
    if (rank != 1)
        CHECK(sum_of_ranks(ring, rank) == 4);
    else
        CHECK_FAILS(rings_need(ring, "all_reduce", &c, &err), "not a member of ring 1");
    CHECK_FAILS(rings_need(7, "all_reduce", &c, &err), "no ring 7", "new_group");
    skiff_ring_destroy(ring);
    skiff_ring_destroy(0); /* stays */
    CHECK(!rings_has(ring) && rings_has(0) && rings_free_id() == 1);
    CHECK(sum_of_ranks(0, rank) == 6);
    skiff_world_close();
    CHECK(!skiff_world_is_open());
}

static void three_ranks_by_the_environment(void **state)
{
    (void)state;
    struct job j;
    job_init(&j, 3);
    for (int i = 0; i < 3; i++)
        job_start_rank(&j, i, rank_of_three);
    for (int i = 0; i < 3; i++)
        CHECK(job_wait(&j, i) == 0);
}

static void nobody_named(void **state)
{
    (void)state;
    int ring;
    CHECK(skiff_world_rank() == 0 && skiff_world_size() == 1);
    CHECK_OK(skiff_world_open(NULL, &err));
    CHECK(!strcmp(skiff_world_engine(), "alone"));
    CHECK(sum_of_ranks(0, 4) == 5);
    CHECK_FAILS(skiff_world_group((int[]){1}, 1, &ring, &err), "rank 1 is not in the world");
    CHECK_FAILS(skiff_world_group((int[]){0, 0}, 2, &ring, &err), "a ring of 2 ranks");
    skiff_world_close();
}

static void wrong_environment(const char *num, const char *id, const char *list, const char *own,
                              const char *first, const char *second)
{
    setenv("PADDLE_TRAINERS_NUM", num, 1);
    setenv("PADDLE_TRAINER_ID", id, 1);
    setenv("PADDLE_TRAINER_ENDPOINTS", list, 1);
    setenv("PADDLE_CURRENT_ENDPOINT", own, 1);
    CHECK_FAILS(skiff_world_open(NULL, &err), first, second);
    CHECK(!skiff_world_is_open());
    unsetenv("PADDLE_TRAINERS_NUM");
    unsetenv("PADDLE_TRAINER_ID");
    unsetenv("PADDLE_TRAINER_ENDPOINTS");
    unsetenv("PADDLE_CURRENT_ENDPOINT");
}

static void wrong_environments(void **state)
{
    (void)state;
    wrong_environment("2", "0", "", "", "PADDLE_TRAINER_ENDPOINTS is not set",
                      "skiff launch --collective");
    wrong_environment("2", "2", "a:1,b:1", "", "PADDLE_TRAINER_ID is 2", "from 0 to 1");
    wrong_environment("2", "", "a:1,b:1", "", "PADDLE_TRAINER_ID is not set", "skiff launch");
    wrong_environment("3", "0", "a:1,b:1", "", "lists 2 trainers", "PADDLE_TRAINERS_NUM says 3");
    wrong_environment("2", "0", "a:1,b:1", "b:1", "PADDLE_CURRENT_ENDPOINT is b:1", "has a:1");
    wrong_environment("x", "0", "a:1,b:1", "", "PADDLE_TRAINERS_NUM is 'x'", "a whole number");
    setenv("SKIFF_COLLECTIVE", "smoke", 1);
    CHECK_FAILS(skiff_world_open(NULL, &err), "SKIFF_COLLECTIVE is 'smoke'", "net or mpi");
    unsetenv("SKIFF_COLLECTIVE");
    CHECK_FAILS(skiff_world_open(
                    &(struct skiff_world_options){
                        .endpoints = (const char *const[]){"a:1"}, .size = 1, .rank = 1},
                    &err),
                "rank 1 in a world of 1");
    CHECK_FAILS(skiff_world_open(&(struct skiff_world_options){.engine = "smoke"}, &err),
                "the engine is 'smoke'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_ranks_by_the_environment),
        cmocka_unit_test(nobody_named),
        cmocka_unit_test(wrong_environments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

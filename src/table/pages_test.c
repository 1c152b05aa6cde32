#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "table/pages.h"

static void places_are_used_again(void **state)
{
    struct pages p;
    uint32_t slot, again;
    size_t before = mem_in_use();
    pages_init(&p, 24, false, "places");
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
        assert_int_equal(slot, i);
        memset(pages_at(&p, slot), (int)i, 24);
    }
    assert_int_equal(mem_in_use() - before, 24576); /* 24000 bytes, to the next 4 KB */
    assert_int_equal(pages_bytes(&p), 24576 + sizeof(char *));
    pages_give_back(&p, 3);
    pages_give_back(&p, 900);
    assert_int_equal(p.nfree, 2);
    pages_take(&p, &slot, NULL);
    pages_take(&p, &again, NULL);
    assert_true(slot == 900 && again == 3);
    pages_take(&p, &slot, NULL);
    assert_int_equal(slot, 1000);
    pages_deinit(&p);
    assert_int_equal(mem_in_use(), before);
}

struct preparer {
    struct pages *pages;
    atomic_bool stop;
};

static void *prepare(void *arg)
{
    struct preparer *x = arg;
    for (; !atomic_load(&x->stop); usleep(100))
        pages_prepare(x->pages);
    return NULL;
}

/* Beyond the size from which memory is prepared, across the ends of pages: nothing is lost. */
static void another_thread_prepares(void **state)
{
    enum { PAGES = 28, N = PAGES << PAGE_BITS, STRIDE = 24 };
    struct pages p;
    struct preparer x = {&p, false};
    pthread_t thread;
    uint32_t slot;
    size_t before = mem_in_use();
    pages_init(&p, STRIDE, true, "places");
    pthread_create(&thread, NULL, prepare, &x);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
        memcpy(pages_at(&p, slot), &i, sizeof i);
        if (i == N - N / (2 * PAGES)) /* in the last page: gives the preparer time to see it */
            while (!atomic_load(&p.spare))
                usleep(100);
    }
    atomic_store(&x.stop, true);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < N; i += 5) {
        uint32_t there;
        memcpy(&there, pages_at(&p, i), sizeof there);
        assert_int_equal(there, i);
    }
    assert_int_equal(p.npages, PAGES);
    assert_true(pages_bytes(&p) >= (size_t)N * STRIDE &&
                pages_bytes(&p) <= (size_t)N * STRIDE + (2 << 20) + 512);
    pages_deinit(&p);
    assert_int_equal(mem_in_use(), before);
}

/* The next page is mapped before the owner needs it; for few slots little memory is prepared. */
static void the_next_page_is_mapped_prefetch(void **state)
{
    enum { STRIDE = 64, UNIT = (2 << 20) / STRIDE };
    struct pages p;
    uint32_t slot;
    unsigned char resident[(2 << 20) / 4096];
    pages_init(&p, STRIDE, true, "places");
    for (uint32_t i = 0; i < PAGE_SLOTS - 2 * UNIT; i++)
        pages_take(&p, &slot, NULL);
    pages_prepare(&p);
    assert_null(atomic_load(&p.spare));
    assert_false(pages_prepare(&p)); /* nothing new */
    for (uint32_t i = 0; i < UNIT; i++)
        pages_take(&p, &slot, NULL);
    assert_true(pages_prepare(&p));
    char *spare = atomic_load(&p.spare);
    assert_non_null(spare);
    assert_int_equal(mincore(spare + (2 << 20), 2 << 20, resident), 0);
    for (size_t i = 0; i < sizeof resident; i++)
        assert_int_equal(resident[i] & 1, 0);
    for (uint32_t i = 0; i < UNIT + 1; i++)
        pages_take(&p, &slot, NULL);
    assert_ptr_equal(pages_at(&p, slot), spare);
    pages_deinit(&p);
}

/* Slots at the end are returned to the system; those before them keep their contents. */
static void the_last_places_are_given_up(void **state)
{
    enum { STRIDE = 24, N = 700000 };
    struct pages p;
    uint32_t slot, zero = 0;
    size_t before = mem_in_use();
    pages_init(&p, STRIDE, false, "places");
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
        memset(pages_at(&p, slot), 0xff, STRIDE);
        memcpy(pages_at(&p, slot), &i, sizeof i);
    }
    size_t all = pages_bytes(&p);
    uint32_t top = N / 3 + 1;
    for (uint32_t i = top; i < N; i += 2) /* free or not, they are dropped */
        pages_give_back(&p, i);
    pages_give_back(&p, 7);
    pages_cut(&p, top);
    assert_int_equal(p.nfree, 1);
    assert_true(pages_bytes(&p) < all / 3 + (3 << 20));
    assert_true(mem_in_use() - before < all / 3 + (3 << 20));
    assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
    assert_int_equal(slot, 7);
    for (uint32_t i = 8; i < top; i++)
        assert_memory_equal(pages_at(&p, i), &i, sizeof i);
    for (uint32_t i = top; i < N; i++) {
        assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
        assert_int_equal(slot, i);
        if (i >= top + (2 << 20) / STRIDE) /* after the rest of the last 2 MB */
            assert_memory_equal(pages_at(&p, i), &zero, sizeof zero);
    }
    assert_int_equal(pages_bytes(&p), all);
    pages_deinit(&p);
    assert_int_equal(mem_in_use(), before);
}

/* Prepared memory follows the used memory, also when there are more pages since a cut. */
static void after_a_cut_the_right_page_is_prepared(void **state)
{
    enum { PAGES = 30, LEFT = 24, STRIDE = 24 };
    struct pages p;
    uint32_t slot;
    pages_init(&p, STRIDE, true, "places");
    for (uint32_t i = 0; i < (uint32_t)PAGES << PAGE_BITS; i++)
        assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
    pages_cut(&p, (uint32_t)LEFT << PAGE_BITS);
    assert_int_equal(atomic_load(&p.prefetch), 0);
    for (uint32_t i = 0; !atomic_load(&p.prefetch) && i < PAGE_SLOTS; i++)
        assert_int_equal(pages_take(&p, &slot, NULL), SKIFF_OK);
    size_t within = (2 << 20), bytes = (size_t)STRIDE << PAGE_BITS;
    assert_int_equal(atomic_load(&p.prefetch),
                     ((uintptr_t)p.page[LEFT] + within) | (bytes - within) / (2 << 20));
    pages_deinit(&p);
}

static void full_pages_say_so(void **state)
{
    struct pages p;
    struct skiff_error err;
    uint32_t slot;
    pages_init(&p, 8, false, "places");
    p.top = PAGES_NONE;
    assert_int_equal(pages_take(&p, &slot, &err), SKIFF_NOMEM);
    assert_string_equal(err.message, "places: it cannot hold more than 4294967295");
    p.top = 0;
    mem_set_limit(mem_in_use() + 4095);
    assert_int_equal(pages_take(&p, &slot, &err), SKIFF_NOMEM);
    mem_set_limit(SIZE_MAX);
    assert_non_null(strstr(err.message, "places: needs 4096 bytes"));
    assert_int_equal(pages_take(&p, &slot, &err), SKIFF_OK);
    pages_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(another_thread_prepares),
        cmocka_unit_test(the_next_page_is_mapped_prefetch),
        cmocka_unit_test(the_last_places_are_given_up),
        cmocka_unit_test(after_a_cut_the_right_page_is_prepared),
        cmocka_unit_test(full_pages_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

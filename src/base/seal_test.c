/* Tags of records that are only seen: ours are OpenSSL's, for every length and cut of a record, and
 * every change of a bit is noticed. The seals of links are tested in net/handshake_test.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/seal.h"

enum { LONGEST = 2100 };

static const uint8_t key[SEAL_KEY] = "a key of a test, thirty-two long";

static struct seal *make(bool opens, bool hides)
{
    struct seal *s;
    assert_int_equal(seal_create(SEAL_AES, key, opens, hides, &s, NULL), SKIFF_OK);
    return s;
}

static void see(struct seal *s, const uint8_t *bytes, size_t n, size_t piece)
{
    seal_begin(s);
    for (size_t at = 0; at < n; at += piece)
        seal_see(s, bytes + at, n - at < piece ? n - at : piece);
}

/* A seal that may hide is OpenSSL's. */
static void tags_are_openssls(void **state)
{
    static uint8_t bytes[LONGEST];
    static const size_t pieces[] = {1, 7, 16, 100, 513, LONGEST};
    struct seal *ours = make(false, false), *theirs = make(false, true);
    for (size_t i = 0; i < LONGEST; i++)
        bytes[i] = (uint8_t)(i * i * 31 + i / 7);
    for (size_t n = 0; n < LONGEST; n += n < 600 ? 1 : 37) {
        uint8_t a[SEAL_TAG], b[SEAL_TAG];
        see(theirs, bytes, n, LONGEST);
        seal_end(theirs, b);
        see(ours, bytes, n, pieces[n % 6]);
        seal_end(ours, a);
        assert_memory_equal(a, b, SEAL_TAG);
    }
    seal_destroy(ours);
    seal_destroy(theirs);
}

static void changes_are_noticed(void **state)
{
    static uint8_t bytes[1030];
    struct seal *maker = make(false, false), *opener = make(true, false);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit += 97) {
        uint8_t tag[SEAL_TAG];
        see(maker, bytes, sizeof bytes, 1000);
        seal_end(maker, tag);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        see(opener, bytes, sizeof bytes, 300);
        assert_false(seal_check(opener, tag));
        see(maker, bytes, sizeof bytes, 1000);
        seal_end(maker, tag);
        see(opener, bytes, sizeof bytes, 300);
        assert_true(seal_check(opener, tag));
        tag[bit % SEAL_TAG] ^= 1;
        see(maker, bytes, 0, 1);
        see(opener, bytes, 0, 1);
        assert_false(seal_check(opener, tag));
    }
    seal_destroy(maker);
    seal_destroy(opener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_are_openssls),
        cmocka_unit_test(changes_are_noticed),
    };
    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}

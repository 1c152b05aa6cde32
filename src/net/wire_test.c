#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/address.h"
#include "base/secret.h"
#include "net/wire.h"

/* ---- frames ---- */

static struct wire_head sample(void)
{
    return (struct wire_head){.type = WIRE_REQUEST,
                              .flags = WIRE_READ,
                              .job = 0x1122334455667788,
                              .sender = {NET_WORKER, 70000},
                              .method = 0xdeadbeef,
                              .incarnation = UINT64_MAX,
                              .sequence = 5,
                              .ack = 4,
                              .key = 99,
                              .length = 3,
                              .total = 3,
                              .parts = 1};
}

static void heads_come_back(void **state)
{
    struct wire_head h = sample(), back;
    uint8_t bytes[WIRE_HEAD];
    uint16_t version;
    wire_head_encode(&h, wire_hash((const uint8_t *)"abc", 3), bytes);
    assert_memory_equal(bytes, "SKFW\4\0\x08\2\x88\x77\x66\x55\x44\x33\x22\x11\x70\x11\1\1", 20);
    assert_int_equal(wire_head_decode(bytes, WIRE_HEAD, &back, &version, NULL), SKIFF_OK);
    assert_int_equal(version, WIRE_VERSION);
    assert_int_equal(back.type, h.type);
    assert_int_equal(back.flags, h.flags);
    assert_true(back.job == h.job && back.incarnation == h.incarnation && back.key == h.key);
    assert_true(back.sequence == 5 && back.ack == 4 && back.length == 3 && back.total == 3);
    assert_true(net_id_equal(back.sender, h.sender) && back.method == h.method);
    assert_true(wire_checksum_ok(bytes, wire_hash((const uint8_t *)"abc", 3)));
    assert_false(wire_checksum_ok(bytes, wire_hash((const uint8_t *)"abd", 3)));
    assert_false(wire_checksum_ok(bytes, wire_hash((const uint8_t *)"ab", 2)));
}

/* Any flipped bit is detected, by the decoder or by the checksum. */
static void flipped_bits_are_noticed(void **state)
{
    struct wire_head h = sample(), back;
    uint8_t bytes[WIRE_HEAD];
    uint16_t version;
    wire_head_encode(&h, wire_hash((const uint8_t *)"abc", 3), bytes);
    for (int bit = 0; bit < WIRE_HEAD * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(wire_head_decode(bytes, WIRE_HEAD, &back, &version, NULL) == SKIFF_OK &&
                     wire_checksum_ok(bytes, wire_hash((const uint8_t *)"abc", 3)));
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t n = 0; n < WIRE_HEAD; n++)
        assert_true(wire_head_decode(bytes, n, &back, &version, NULL) < 0);
}

static void expect_refused(struct wire_head h, const char *text)
{
    uint8_t bytes[WIRE_HEAD];
    struct wire_head back;
    struct skiff_error err;
    uint16_t version;
    wire_head_encode(&h, 0, bytes);
    assert_int_equal(wire_head_decode(bytes, WIRE_HEAD, &back, &version, &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, text));
}

static void heads_that_make_no_sense(void **state)
{
    struct wire_head h = sample();
    h.type = 77;
    expect_refused(h, "unknown type 77");
    h = sample();
    h.flags = 8;
    expect_refused(h, "flags 8");
    h = sample();
    h.parts = 0;
    expect_refused(h, "part 0 of 0");
    h = sample();
    h.part = 2;
    h.parts = 2;
    expect_refused(h, "part 2 of 2");
    h = sample();
    h.parts = WIRE_PARTS_MAX + 1;
    expect_refused(h, "part 0 of 1048577");
    h = sample();
    h.total = 4;
    expect_refused(h, "3 of 4 bytes in part 0 of 1");
    h = sample();
    h.length = 0;
    h.parts = 2;
    expect_refused(h, "0 of 3 bytes");
    h = sample();
    h.sender.role = 9;
    expect_refused(h, "role 9");
}

static void another_version_is_recognised(void **state)
{
    struct wire_head h = sample(), back;
    uint8_t bytes[WIRE_HEAD];
    uint16_t version;
    struct skiff_error err;
    wire_head_encode(&h, 0, bytes);
    bytes[4] = 7;
    assert_int_equal(wire_head_decode(bytes, 40, &back, &version, &err), SKIFF_UNSUPPORTED);
    assert_int_equal(version, 7);
    assert_string_equal(err.message, "frame of version 7; this is version 4");
}

/* ---- values ---- */

static void values_come_back(void **state)
{
    static const uint64_t numbers[] = {0,         1, 127, 128, 300, UINT32_MAX, UINT64_MAX >> 1,
                                       UINT64_MAX};
    static const int64_t ids[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static const float floats[] = {0.5f, -1e30f, 3};
    struct skiff_error e, back;
    error_set(&e, SKIFF_SHAPE, "fc_0.w_0: %d", 7);
    e.sys_errno = 11;
    struct wire_writer w;
    writer_init(&w);
    writer_u8(&w, 200);
    writer_u32(&w, 0xfedcba98);
    writer_u64(&w, 0xfedcba9876543210);
    for (size_t i = 0; i < 8; i++)
        writer_varint(&w, numbers[i]);
    for (size_t i = 0; i < 5; i++)
        writer_signed(&w, ids[i]);
    writer_string(&w, "");
    writer_string(&w, "embedding");
    writer_floats(&w, floats, 3);
    writer_ids(&w, ids, 5);
    writer_error(&w, &e);
    writer_floats(&w, NULL, 0);
    struct blob *b;
    assert_int_equal(writer_finish(&w, &b, NULL), SKIFF_OK);

    struct wire_reader r;
    char text[16];
    size_t n;
    reader_init_block(&r, b);
    assert_int_equal(reader_u8(&r), 200);
    assert_int_equal(reader_u32(&r), 0xfedcba98);
    assert_true(reader_u64(&r) == 0xfedcba9876543210);
    for (size_t i = 0; i < 8; i++)
        assert_true(reader_varint(&r) == numbers[i]);
    for (size_t i = 0; i < 5; i++)
        assert_true(reader_signed(&r) == ids[i]);
    reader_string(&r, text, sizeof text);
    assert_string_equal(text, "");
    reader_string(&r, text, sizeof text);
    assert_string_equal(text, "embedding");
    const uint8_t *found = reader_floats(&r, &n);
    assert_int_equal(n, 3);
    assert_memory_equal(found, floats, sizeof floats);
    found = reader_ids(&r, &n);
    assert_int_equal(n, 5);
    assert_memory_equal(found, ids, sizeof ids);
    reader_error(&r, &back);
    assert_int_equal(back.code, SKIFF_SHAPE);
    assert_int_equal(back.sys_errno, 11);
    assert_string_equal(back.message, "fc_0.w_0: 7");
    assert_string_equal(back.origin, e.origin);
    assert_non_null(reader_floats(&r, &n));
    assert_int_equal(n, 0);
    assert_int_equal(reader_end(&r, "sample", NULL), SKIFF_OK);
    blob_unref(b);
}

static void expect_fault(const void *bytes, size_t n, void (*read)(struct wire_reader *),
                         const char *text)
{
    struct wire_reader r;
    struct skiff_error err;
    reader_init(&r, bytes, n);
    read(&r);
    assert_int_equal(reader_end(&r, "push", &err), SKIFF_FORMAT);
    assert_non_null(strstr(err.message, text));
}

static void read_short(struct wire_reader *r)
{
    char text[4];
    reader_string(r, text, sizeof text);
    assert_string_equal(text, "");
}

static void read_floats(struct wire_reader *r)
{
    size_t n;
    assert_null(reader_floats(r, &n));
    assert_int_equal(n, 0);
}

static void read_varint(struct wire_reader *r)
{
    assert_int_equal(reader_varint(r), 0);
    assert_int_equal(reader_u64(r), 0); /* after a fault everything is 0 */
}

static void read_ids(struct wire_reader *r)
{
    size_t n = 7;
    assert_null(reader_ids(r, &n));
    assert_int_equal(n, 0);
}

static void read_byte(struct wire_reader *r)
{
    reader_u8(r);
}

static void values_that_make_no_sense(void **state)
{
    expect_fault("\4abcd", 5, read_short, "push: a string is too long");
    expect_fault("\2a\0", 3, read_short, "zero byte");
    expect_fault("\5ab", 3, read_short, "a count is larger than the message (byte 1 of 3)");
    expect_fault("\xff\xff\xff\xff\xff\xff\xff\xff\x3f", 9, read_floats, "larger than the message");
    expect_fault("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, read_varint, "64 bits");
    expect_fault("\xff\xff", 2, read_varint, "ends in the middle");
    expect_fault("", 0, read_varint, "ends in the middle of a value (byte 0 of 0)");
    expect_fault("\2abcdefgh", 9, read_ids, "a count is larger than the message");
    expect_fault("ab", 2, read_byte, "1 bytes left over after byte 1");
}

static void names_are_made_printable(void **state)
{
    struct wire_reader r;
    char name[16];
    reader_init(&r, "\x09wor\nker\x1b\xff", 10);
    reader_name(&r, name, sizeof name);
    assert_string_equal(name, "wor?ker??");
    assert_int_equal(reader_end(&r, "name", NULL), SKIFF_OK);
}

/* An error code of a later version is still a failure. */
static void unknown_error_codes(void **state)
{
    struct wire_writer w;
    struct wire_reader r;
    struct blob *b;
    struct skiff_error e = {.code = (enum skiff_status) - 500, .message = "later"}, back;
    writer_init(&w);
    writer_error(&w, &e);
    assert_int_equal(writer_finish(&w, &b, NULL), SKIFF_OK);
    reader_init_block(&r, b);
    reader_error(&r, &back);
    assert_int_equal(back.code, SKIFF_INTERNAL);
    assert_string_equal(back.message, "later");
    blob_unref(b);
}

static void writer_without_memory(void **state)
{
    struct wire_writer w;
    struct blob *b = NULL;
    struct skiff_error err;
    writer_init(&w);
    writer_u8(&w, 1);
    writer_reserve(&w, SIZE_MAX / 2);
    writer_u64(&w, 1);
    assert_int_equal(writer_finish(&w, &b, &err), SKIFF_NOMEM);
    assert_null(b);
}

/* ---- secrets: RFC 4231, test cases 1, 2, 3 and 6 ---- */

static void expect_mac(const void *key, size_t key_len, const void *data, size_t len,
                       const char *hex)
{
    uint8_t mac[SECRET_BYTES], want[SECRET_BYTES];
    for (int i = 0; i < SECRET_BYTES; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
        want[i] = (uint8_t)strtol(two, NULL, 16);
    }
    secret_mac(key, key_len, data, len, mac);
    assert_memory_equal(mac, want, SECRET_BYTES);
    assert_true(secret_equal(mac, want));
    mac[31] ^= 1;
    assert_false(secret_equal(mac, want));
}

static void macs_as_published(void **state)
{
    char key[131], data[50];
    memset(key, 0x0b, 20);
    expect_mac(key, 20, "Hi There", 8,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    expect_mac("Jefe", 4, "what do ya want for nothing?", 28,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(data, 0xdd, sizeof data);
    expect_mac(key, 20, data, 50,
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    expect_mac(key, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void keys_depend_on_everything(void **state)
{
    uint8_t a[SECRET_BYTES], b[SECRET_BYTES];
    secret_derive("secret", "hello", "job", a);
    secret_derive("secret", "hello", "job", b);
    assert_true(secret_equal(a, b));
    secret_derive("secret", "hello", "job2", b);
    assert_false(secret_equal(a, b));
    secret_derive("secret", "hell", "ojob", b);
    assert_false(secret_equal(a, b));
    secret_derive("Secret", "hello", "job", b);
    assert_false(secret_equal(a, b));
}

/* ---- addresses ---- */

static void expect_address(const char *text, enum address_family family, const char *host, int port,
                           const char *printed)
{
    struct address a;
    char out[ADDRESS_TEXT];
    assert_int_equal(address_parse(text, &a, NULL), SKIFF_OK);
    assert_int_equal(a.family, family);
    assert_string_equal(a.host, host);
    assert_int_equal(a.port, port);
    address_print(&a, out);
    assert_string_equal(out, printed);
}

static void addresses_are_read(void **state)
{
    expect_address("127.0.0.1:6170", ADDRESS_IPV4, "127.0.0.1", 6170, "127.0.0.1:6170");
    expect_address("[::1]:80", ADDRESS_IPV6, "::1", 80, "[::1]:80");
    expect_address("ps-0.some_cluster:65535", ADDRESS_NAME, "ps-0.some_cluster", 65535,
                   "ps-0.some_cluster:65535");
    expect_address(":6170", ADDRESS_ANY, "*", 6170, "*:6170");
    expect_address("*:0", ADDRESS_ANY, "*", 0, "*:0");
}

static void expect_no_address(const char *text, const char *why)
{
    struct address a;
    struct skiff_error err;
    assert_int_equal(address_parse(text, &a, &err), SKIFF_INVALID);
    assert_non_null(strstr(err.message, why));
    assert_non_null(strstr(err.message, text));
}

static void addresses_that_are_none(void **state)
{
    expect_no_address("", "has no port");
    expect_no_address("host", "has no port");
    expect_no_address("[::1]", "has no port");
    expect_no_address("host:", "not ''");
    expect_no_address("host:65536", "not '65536'");
    expect_no_address("host:80x", "not '80x'");
    expect_no_address("::1:6170", "brackets");
    expect_no_address("[host]:6170", "brackets");
    expect_no_address("http://host:6170", "without http://");
    expect_no_address("10.0.0.1:6170;10.0.0.2:6170", "by commas");
    expect_no_address("10.0.0.1:6170:6170", "more than one port");
    expect_no_address("a b:6170", "neither a name nor an address");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_come_back),
        cmocka_unit_test(flipped_bits_are_noticed),
        cmocka_unit_test(heads_that_make_no_sense),
        cmocka_unit_test(another_version_is_recognised),
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(values_that_make_no_sense),
        cmocka_unit_test(names_are_made_printable),
        cmocka_unit_test(unknown_error_codes),
        cmocka_unit_test(writer_without_memory),
        cmocka_unit_test(macs_as_published),
        cmocka_unit_test(keys_depend_on_everything),
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(addresses_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

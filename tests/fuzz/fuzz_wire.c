/* What comes over the wire. The first byte of an input says what the rest is:
 *   0 a frame: whatever is accepted must encode to the same bytes
 *   1 values: 16 bytes say what to read, then the body; readers stay inside it and stay failed
 *   2 parts of messages: the budget is kept, and whole messages have the length they said
 *   3 the bodies of a hello: HELLO, CHALLENGE or PROOF
 *   4 a list of members */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "net/assembly.h"
#include "net/hello.h"
#include "net/membership_parts.h"

static void require(int promise)
{
    if (!promise)
        abort();
}

static void fuzz_frame(const uint8_t *data, size_t n)
{
    struct wire_head h;
    uint16_t version;
    uint8_t again[WIRE_HEAD];
    size_t head = n < WIRE_HEAD ? n : WIRE_HEAD;
    if (wire_head_decode(data, head, &h, &version, NULL) < 0)
        return;
    require(h.part < h.parts && h.parts <= WIRE_PARTS_MAX && h.length <= h.total);
    uint64_t hash = wire_hash(data + head, n - head);
    wire_head_encode(&h, hash, again);
    require(memcmp(again, data, WIRE_HEAD - 8) == 0);
    require(wire_checksum_ok(again, hash));
}

static void read_one(struct wire_reader *r, uint8_t what)
{
    char text[40];
    size_t count;
    struct skiff_error e;
    switch (what % 9) {
    case 0:
        reader_u8(r);
        break;
    case 1:
        reader_u32(r);
        break;
    case 2:
        reader_u64(r);
        break;
    case 3:
        reader_varint(r);
        break;
    case 4:
        reader_signed(r);
        break;
    case 5:
        reader_string(r, text, sizeof text);
        require(strlen(text) < sizeof text);
        break;
    case 6: {
        const uint8_t *p = reader_floats(r, &count);
        volatile uint8_t last = p && count ? p[4 * count - 1] : 0;
        (void)last;
        break;
    }
    case 7: {
        const uint8_t *p = reader_ids(r, &count);
        volatile uint8_t last = p && count ? p[8 * count - 1] : 0;
        (void)last;
        break;
    }
    case 8:
        reader_error(r, &e);
        require(strlen(e.message) < sizeof e.message);
        break;
    }
}

static void fuzz_values(const uint8_t *data, size_t n)
{
    struct wire_reader r;
    if (n < 16)
        return;
    reader_init(&r, data + 16, n - 16);
    for (size_t i = 0; i < 16; i++) {
        const char *fault = r.fault;
        read_one(&r, data[i]);
        require(r.pos <= r.len && (!fault || fault == r.fault));
    }
}

static void fuzz_parts(const uint8_t *data, size_t n)
{
    struct assembly_budget budget = {.message_max = 1 << 16, .limit = 1 << 18, .idle = 10};
    struct assembly_set set;
    assembly_init(&set, &budget);
    for (int64_t now = 0; n >= WIRE_HEAD; now++) {
        struct wire_head h;
        struct blob *message = NULL;
        uint16_t version;
        if (wire_head_decode(data, WIRE_HEAD, &h, &version, NULL) < 0 || h.parts < 2 ||
            h.length > n - WIRE_HEAD)
            break;
        assembly_add(&set, &h, data + WIRE_HEAD, now, &message, NULL);
        require(budget.used <= budget.limit && set.count <= ASSEMBLIES_MAX);
        require(!message || (message->len == h.total && h.total <= budget.message_max));
        blob_unref(message);
        data += WIRE_HEAD + h.length;
        n -= WIRE_HEAD + h.length;
        assembly_expire(&set, now);
    }
    assembly_deinit(&set);
    require(budget.used == 0 && set.count == 0);
}

static void fuzz_hello(const uint8_t *data, size_t n)
{
    struct hello_self self;
    struct hello_side side = {.id = {NET_SERVER, 0}, .name = "server 0"};
    struct hello h = {0};
    struct wire_head head = {.sender = {NET_WORKER, 1}};
    struct blob *body;
    if (n < 1 || blob_copy(data + 1, n - 1, "fuzz", &body, NULL) < 0)
        return;
    hello_self_init(&self, &side, "job", false);
    head.job = self.job;
    enum skiff_status status = data[0] % 2 ? hello_read(&self, &head, body, &h, NULL)
                                           : hello_accept(&h, &head, body, NULL);
    require(status < 0 || strlen(h.peer.name) < HELLO_NAME);
    blob_unref(body);
}

static void fuzz_members(const uint8_t *data, size_t n)
{
    struct wire_reader r;
    struct member member;
    reader_init(&r, data, n);
    while (r.pos < r.len && !r.fault) {
        member_read(&r, &member);
        require(member.state <= MEMBER_LEFT && member.id.role <= NET_SERVER);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const kinds[])(const uint8_t *, size_t) = {fuzz_frame, fuzz_values, fuzz_parts,
                                                             fuzz_hello, fuzz_members};
    if (n && data[0] < sizeof kinds / sizeof *kinds)
        kinds[data[0]](data + 1, n - 1);
    return 0;
}

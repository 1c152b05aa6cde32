/* What a stranger sends first: no bytes bring him in, and those who are of us are not confused by
 * them. The key is the same in every run, the shares are not: nothing that was recorded fits. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "net/greeting.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* A server hears FIRST and PROOF. */
static void as_server(const uint8_t base[SECRET_BYTES], const uint8_t *first, const uint8_t *proof)
{
    struct greeting g;
    struct greeting_wish wish = {.encrypt = GREETING_ON, .aes = true};
    uint8_t answer[GREETING_OPEN], welcome[GREETING_PROOF];
    if (greeting_answer(&g, base, &wish, first, answer, NULL) < 0)
        return;
    require(greeting_check(&g, proof, welcome, NULL) == SKIFF_INVALID);
    require(memcmp(welcome, greeting_refusal, GREETING_PROOF) == 0);
}

/* A client hears ANSWER and WELCOME. */
static void as_client(const uint8_t base[SECRET_BYTES], const uint8_t *answer,
                      const uint8_t *welcome)
{
    struct greeting g;
    struct greeting_wish wish = {.apart = true};
    uint8_t first[GREETING_OPEN], proof[GREETING_PROOF];
    greeting_first(&g, base, &wish, NULL, first);
    if (greeting_prove(&g, answer, proof, NULL) < 0)
        return;
    require(greeting_end(&g, welcome, NULL) == SKIFF_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t key[SECRET_BYTES] = {7};
    uint8_t base[SECRET_BYTES], bytes[GREETING_OPEN + GREETING_PROOF] = {0};
    memcpy(bytes, data, n < sizeof bytes ? n : sizeof bytes);
    greeting_begins(bytes, n < GREETING_OPEN ? n : GREETING_OPEN);
    pake_base(key, base);
    as_server(base, bytes, bytes + GREETING_OPEN);
    as_client(base, bytes, bytes + GREETING_OPEN);
    return 0;
}

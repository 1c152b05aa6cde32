/* The handshake with an unauthenticated peer: no bytes authenticate it, and the own side's state is
 * not confused by them. The key is the same in every run, the key shares are not: no recorded
 * handshake fits. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "net/handshake.h"

static void require(bool ok)
{
    if (!ok)
        abort();
}

/* A server hears FIRST and PROOF. */
static void as_server(const uint8_t base[SECRET_BYTES], const uint8_t *first, const uint8_t *proof)
{
    struct handshake g;
    struct handshake_wish wish = {.encrypt = HANDSHAKE_ON, .aes = true};
    uint8_t answer[HANDSHAKE_OPEN], welcome[HANDSHAKE_PROOF];
    if (handshake_answer(&g, base, &wish, first, answer, NULL) < 0)
        return;
    require(handshake_check(&g, proof, welcome, NULL) == SKIFF_INVALID);
    require(memcmp(welcome, handshake_refusal, HANDSHAKE_PROOF) == 0);
}

/* A client hears ANSWER and WELCOME. */
static void as_client(const uint8_t base[SECRET_BYTES], const uint8_t *answer,
                      const uint8_t *welcome)
{
    struct handshake g;
    struct handshake_wish wish = {.apart = true};
    uint8_t first[HANDSHAKE_OPEN], proof[HANDSHAKE_PROOF];
    handshake_first(&g, base, &wish, NULL, first);
    if (handshake_prove(&g, answer, proof, NULL) < 0)
        return;
    require(handshake_end(&g, welcome, NULL) == SKIFF_INVALID);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t key[SECRET_BYTES] = {7};
    uint8_t base[SECRET_BYTES], bytes[HANDSHAKE_OPEN + HANDSHAKE_PROOF] = {0};
    memcpy(bytes, data, n < sizeof bytes ? n : sizeof bytes);
    handshake_begins(bytes, n < HANDSHAKE_OPEN ? n : HANDSHAKE_OPEN);
    pake_base(key, base);
    as_server(base, bytes, bytes + HANDSHAKE_OPEN);
    as_client(base, bytes, bytes + HANDSHAKE_OPEN);
    return 0;
}

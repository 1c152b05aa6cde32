/* Exchange of samples between workers: the vtable is public (skiff/exchange.h), the message format
 * is here.
 *
 * A message of one exchange round: one byte (EXCHANGE_MORE, _LAST, _FAILED), then samples, each a
 * u32 number of bytes and a record. Rounds continue until every worker has sent LAST in two rounds,
 * the second one without samples. A worker that fails sends FAILED in its next round, and all
 * workers end with an error after that round: none is left waiting. */
#ifndef DATA_EXCHANGE_H
#define DATA_EXCHANGE_H

#include <skiff/exchange.h>

enum exchange_mark { EXCHANGE_MORE, EXCHANGE_LAST, EXCHANGE_FAILED };

#define EXCHANGE_ROUND_BYTES ((size_t)8 << 20) /* of samples that one worker sends in a round */

#endif

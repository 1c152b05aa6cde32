/* Samples go to other workers: the vtable is public (skiff/exchange.h), what travels stands here.
 *
 * A message of one round: one byte (EXCHANGE_MORE, _LAST, _FAILED), then samples, each a u32 number
 * of bytes and a record. Rounds go on until every worker has said LAST in two rounds, the second
 * one without samples. A worker that fails says FAILED in its next round, and all of them end with
 * an error after that round: nobody waits for it. */
#ifndef DATA_EXCHANGE_H
#define DATA_EXCHANGE_H

#include <skiff/exchange.h>

enum exchange_mark { EXCHANGE_MORE, EXCHANGE_LAST, EXCHANGE_FAILED };

#define EXCHANGE_ROUND_BYTES ((size_t)8 << 20) /* of samples that one worker sends in a round */

#endif

/* What is counted of a model while it trains or is judged (executor/tally.h). */
#ifndef CLI_TALLY_H
#define CLI_TALLY_H

#include "executor/tally.h"
#include "models/model.h"

void tally_init(struct tally *t, const struct skiff_model_net *net, int threads);

#endif

#include "table/sgd_rule.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct sgd_rule *const all[] = {
#define SGD_RULE(name) &sgd_rule_##name,
#include "table/sgd_rule_list.h"
#undef SGD_RULE
    NULL,
};

const struct sgd_rule *sgd_rule_at(int i)
{
    return all[i];
}

const struct sgd_rule *sgd_rule_find(const char *name)
{
    for (int i = 0; all[i]; i++)
        if (!strcmp(all[i]->name, name) || !strcmp(all[i]->paddle, name))
            return all[i];
    return NULL;
}

struct sgd_params sgd_rule_defaults(const struct sgd_rule *r)
{
    bool adam = r == &sgd_rule_adam || r == &sgd_rule_shared_adam;
    return (struct sgd_params){.rate = adam ? 0.001f : 0.05f,
                               .initial_range = 1e-4f,
                               .initial_g2sum = 3,
                               .low = -INFINITY,
                               .high = INFINITY,
                               .beta1 = 0.9f,
                               .beta2 = 0.999f,
                               .epsilon = 1e-8f};
}

#include "rules/rule.h"

#include <math.h>
#include <string.h>

static const struct rule *const rules[] = {
#define RULE(name) &rule_##name,
#include "rules/rule_list.h"
#undef RULE
};

int rule_count(void)
{
    return (int)(sizeof rules / sizeof *rules);
}

const struct rule *rule_at(int i)
{
    return rules[i];
}

const struct rule *rule_find(const char *name)
{
    for (int i = 0; i < rule_count(); i++)
        if (strcmp(rules[i]->name, name) == 0)
            return rules[i];
    return NULL;
}

uint32_t rule_window(double r)
{
    if (!(r < 1))
        return RULE_NO_REST;
    if (r < 1e-13)
        return 1;
    /* the tail after n terms is r^n / (1 - r) of the first */
    double n = ceil((log(1e-13) + log1p(-r)) / log(r));
    return n <= RULE_MAX_WINDOW ? (uint32_t)fmax(n, 1) : RULE_NO_REST;
}

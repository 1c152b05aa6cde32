/* Update rules: what one optimizer step does to a span of floats.
 *
 * A rule knows nothing of programs, tensors or rows: it is given a span of parameters `p`, as many
 * floats of each of its states, a gradient and the scalars of the step. Local optimizer ops and
 * server tables both stand on this.
 *
 * One step: `begin` once per parameter tensor (learning rate and scalar states in, the step's
 * scalars out, scalar states advanced), then `apply` on spans that have a gradient and, where the
 * rule has it, `idle` on those that have none.
 *
 * Deferred updates: a rule with `idle` moves elements whose gradient is zero. What k such steps do
 * in a row has a closed form, or at least soon comes to rest, so the rows of a sparse table may be
 * left behind and brought up to date when they are needed (deferred.h). `plan`, `weights` and
 * `flush` say how.
 *
 * Threads: rules hold no state; every call may run at any time on any thread. Nothing allocates,
 * nothing blocks, nothing fails. */
#ifndef RULES_RULE_H
#define RULES_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_MAX_STATES 3
#define RULE_MAX_SCALARS 2
#define RULE_MAX_TERMS 8

/* Loops over floats: compiled for several instruction sets, chosen when the program starts. (The
 * sanitizers do not get along with functions that are chosen that early; clang vectorizes unasked
 * and knows no attribute for it.) */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define RULE_LOOP                                               \
    __attribute__((target_clones("avx512f", "avx2", "default"), \
                   optimize("tree-vectorize", "vect-cost-model=dynamic")))
#else
#define RULE_LOOP
#endif

/* What stays the same over a run. Each rule reads the fields it names in its formula. */
struct rule_params {
    float beta1, beta2, epsilon;
    float mu;       /* momentum */
    float decay;    /* rho of rmsprop, adadelta, decayed_adagrad */
    float l1, l2;   /* ftrl, proximal_* */
    float lr_power; /* ftrl */
    float weight_decay;
    float coeff;                   /* lars, adamw */
    float lr_ratio;                /* adamw */
    float rescale;                 /* momentum, lars: gradient is multiplied by it */
    float clip, batch_size, sigma; /* dpsgd */
    int seed;                      /* dpsgd; 0: the system's */
    bool nesterov, centered;
    bool lazy;         /* adam: whoever calls the rule leaves rows without a gradient alone */
    bool decoupled;    /* adamw: decay is on */
    bool always_adapt; /* lamb: the ratio of norms also when weight_decay is 0 */
    bool second_gen;   /* adam, adamw, lamb, adadelta: as Paddle 2.x defines them */
    unsigned apart;    /* bit j: the new state j is another variable than the old one (adadelta) */
};

/* What changes from step to step. */
struct rule_step {
    float lr;           /* the learning rate itself */
    float rate;         /* what the rule multiplies by: lr with its corrections */
    float epsilon;      /* as used by elements with a gradient */
    float bias1, bias2; /* lamb (2.x): 1 - beta^t */
    float noise;        /* dpsgd */
};

/* A gap: `steps` steps (at least 1) in which a span had no gradient. */
struct rule_gap {
    uint32_t steps;
    const double *sums;           /* [terms]: sum over the gap's steps j of rate_j * weight[j] */
    float power[RULE_MAX_STATES]; /* base[i] to the power `steps` */
    /* rate of the gap's step j (1..steps): rates[(first + j) & mask] */
    const float *rates;
    uint32_t first, mask;
};

/* How a rule comes to rest. */
struct rule_plan {
    uint32_t window; /* after so many steps nothing moves any more that a float could show; at most
                        RULE_MAX_WINDOW, or RULE_NO_REST */
    int terms;       /* weighted sums of rates that flush wants; 0: none (it may read rates) */
    float base[RULE_MAX_STATES]; /* what an idle step multiplies each state by */
};
#define RULE_MAX_WINDOW (1u << 13)
#define RULE_NO_REST UINT32_MAX

enum rule_flag {
    RULE_WHOLE = 1, /* norms of the whole tensor: apply must be given all of it at once */
};

struct rule {
    const char *name;
    unsigned flags;
    int states;  /* floats per element beside the parameter */
    int scalars; /* floats per tensor (powers of beta) */

    /* `sparse`: the gradient has rows. scalar[] is read and advanced. */
    void (*begin)(const struct rule_params *h, float lr, bool sparse, float *scalar,
                  struct rule_step *out);
    /* g, p and the states do not overlap. */
    void (*apply)(const struct rule_params *h, const struct rule_step *s, size_t n, const float *g,
                  float *p, float *const *state);
    /* The same step with a gradient of zero. NULL: it changes nothing, or the rule takes only
     * dense gradients (RULE_WHOLE). */
    void (*idle)(const struct rule_params *h, const struct rule_step *s, size_t n, float *p,
                 float *const *state);

    /* Deferred updates; NULL where idle is NULL. plan returns false when it cannot be done with
     * these parameters: idle must then run every step. */
    bool (*plan)(const struct rule_params *h, struct rule_plan *out);
    /* w[j * terms + i] for j = 0..window (w[0..terms) is not used: steps count from 1). */
    void (*weights)(const struct rule_params *h, const struct rule_plan *plan, double *w);
    void (*flush)(const struct rule_params *h, const struct rule_plan *plan,
                  const struct rule_gap *gap, size_t n, float *p, float *const *state);
};

#define RULE(name) extern const struct rule rule_##name;
#include "rules/rule_list.h"
#undef RULE

const struct rule *rule_find(const char *name); /* NULL: no such rule */
int rule_count(void);
const struct rule *rule_at(int i);

/* Number of factors r (0 <= r < 1) after which a geometric series of them has no more to give than
 * 1e-13 of its first term; RULE_NO_REST when that is more than RULE_MAX_WINDOW, or r >= 1. */
uint32_t rule_window(double r);

#endif

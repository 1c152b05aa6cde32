/* Near: which known word did somebody mean who wrote another one? For messages.
 *
 *     struct near n = near_to("trian");
 *     for (...) near_try(&n, known[i]);
 *     n.best   "train", or NULL when nothing is near enough to be suggested */
#ifndef BASE_NEAR_H
#define BASE_NEAR_H

/* Letters that are inserted, left out, changed, or swapped with their neighbour, to make one of the
 * other. Only the first 96 letters count. */
int near_distance(const char *a, const char *b);

struct near {
    const char *word, *best; /* borrowed */
    int distance; /* of the best one; before there is one, 1 above the largest that is near */
};

struct near near_to(const char *word);
void near_try(struct near *n, const char *known);
/* How far away from a word of so many letters another one may be and still be the same misspelt. */
int near_limit(int letters);

#endif

#include "base/near.h"

#include <string.h>

#define WORD_MAX 96

int near_distance(const char *a, const char *b)
{
    int rows[3][WORD_MAX + 1];
    int n = (int)strnlen(a, WORD_MAX), m = (int)strnlen(b, WORD_MAX);
    for (int j = 0; j <= m; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *now = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        now[0] = i;
        for (int j = 1; j <= m; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

int near_limit(int letters)
{
    return letters < 3 ? 0 : letters < 6 ? 2 : letters / 3;
}

struct near near_to(const char *word)
{
    return (struct near){.word = word, .distance = near_limit((int)strlen(word)) + 1};
}

void near_try(struct near *n, const char *known)
{
    int d = near_distance(n->word, known);
    if (d >= n->distance)
        return;
    n->distance = d;
    n->best = known;
}

# Lines of word ids to samples of skip-gram in MultiSlot text: "1 word 1 near N drawn ...".
# -v words=SIZE of the vocabulary, window=5, negatives=5, seed=1. The window of every word is drawn from 1 .. window, as
# word2vec does, so that near words count more.
BEGIN {
    if (!window) window = 5
    if (!negatives) negatives = 5
    srand(seed ? seed : 1)
}
{
    for (i = 1; i <= NF; i++) {
        reach = 1 + int(rand() * window)
        for (j = i - reach; j <= i + reach; j++) {
            if (j < 1 || j > NF || j == i) continue
            line = "1 " $i " 1 " $j " " negatives
            for (k = 0; k < negatives; k++) line = line " " int(rand() * words)
            print line
        }
    }
}

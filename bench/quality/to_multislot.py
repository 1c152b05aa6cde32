"""Raw Criteo rows on stdin to MultiSlot text: dense_input, C1..C26, label, hashed as the documents do.
Needs Python 3.7 with PYTHONHASHSEED=0 (skiff: runner.input_hash: python)."""
import sys

LOW = [0, -3] + [0] * 11
SPAN = [20, 603, 100, 50, 64000, 500, 100, 50, 500, 10, 10, 10, 50]
for line in sys.stdin:
    f = line.rstrip("\n").split("\t")
    dense = [(float(f[i + 1]) - LOW[i]) / SPAN[i] if f[i + 1] else 0.0 for i in range(13)]
    ids = [hash(str(i) + f[i]) % 1000001 for i in range(14, 40)]
    words = ["13"] + [repr(x) for x in dense]
    for i in ids:
        words += ["1", str(i)]
    print(" ".join(words), 1, f[0])

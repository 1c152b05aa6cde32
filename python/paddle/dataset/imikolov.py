"""Penn treebank text: n-grams or sequences of word ids, from DATA_HOME/imikolov/simple-examples.tgz."""
import collections
import tarfile

from paddle.dataset import common

__all__ = ["train", "test", "build_dict"]

TRAIN = "./simple-examples/data/ptb.train.txt"
TEST = "./simple-examples/data/ptb.valid.txt"


class DataType(object):
    NGRAM = 1
    SEQ = 2


def _archive():
    return tarfile.open(common.local_file("imikolov", "simple-examples.tgz"))


def word_count(file, counts=None):
    counts = collections.defaultdict(int) if counts is None else counts
    for line in file:
        for word in line.strip().split():
            counts[word] += 1
        counts[b"<s>"] += 1
        counts[b"<e>"] += 1
    return counts


def build_dict(min_word_freq=50):
    with _archive() as archive:
        counts = word_count(archive.extractfile(TEST), word_count(archive.extractfile(TRAIN)))
    counts.pop(b"<unk>", None)
    kept = sorted(((w, n) for w, n in counts.items() if n > min_word_freq), key=lambda item: (-item[1], item[0]))
    index = {word: i for i, (word, _) in enumerate(kept)}
    index[b"<unk>"] = len(index)
    return index


def reader_creator(filename, word_idx, n, data_type):
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise ValueError("data_type must be DataType.NGRAM or DataType.SEQ")

    def reader():
        unknown = word_idx[b"<unk>"]
        with _archive() as archive:
            for line in archive.extractfile(filename):
                ids = [word_idx.get(word, unknown) for word in line.strip().split()]
                if data_type == DataType.NGRAM:
                    ids = [word_idx[b"<s>"]] + ids + [word_idx[b"<e>"]]
                    for i in range(n, len(ids) + 1):
                        yield tuple(ids[i - n:i])
                elif not n or len(ids) + 1 <= n:
                    yield [word_idx[b"<s>"]] + ids, ids + [word_idx[b"<e>"]]

    return reader


def train(word_idx, n, data_type=DataType.NGRAM):
    return reader_creator(TRAIN, word_idx, n, data_type)


def test(word_idx, n, data_type=DataType.NGRAM):
    return reader_creator(TEST, word_idx, n, data_type)

"""Film reviews: (word ids, 0 for positive or 1 for negative), from DATA_HOME/imdb/aclImdb_v1.tar.gz."""
import collections
import re
import string
import tarfile

from paddle.dataset import common

__all__ = ["build_dict", "train", "test", "word_dict"]


def tokenize(pattern):
    """Lists of words of the files of the archive whose names match."""
    with tarfile.open(common.local_file("imdb", "aclImdb_v1.tar.gz")) as archive:
        member = archive.next()
        while member is not None:
            if pattern.match(member.name):
                text = archive.extractfile(member).read().rstrip(b"\n\r")
                yield text.translate(None, string.punctuation.encode("latin-1")).lower().split()
            member = archive.next()


def build_dict(pattern, cutoff):
    """word -> id by frequency; words seen at most cutoff times are left out; the last id is <unk>."""
    counts = collections.Counter(word for words in tokenize(pattern) for word in words)
    kept = sorted(((w, n) for w, n in counts.items() if n > cutoff), key=lambda item: (-item[1], item[0]))
    index = {word: i for i, (word, _) in enumerate(kept)}
    index[b"<unk>"] = len(index)
    return index


def reader_creator(pos_pattern, neg_pattern, word_idx):
    unknown = word_idx[b"<unk>"]
    rows = [([word_idx.get(word, unknown) for word in words], label)
            for pattern, label in ((pos_pattern, 0), (neg_pattern, 1)) for words in tokenize(pattern)]

    def reader():
        for row in rows:
            yield row

    return reader


def train(word_idx):
    return reader_creator(re.compile(r"aclImdb/train/pos/.*\.txt$"),
                          re.compile(r"aclImdb/train/neg/.*\.txt$"), word_idx)


def test(word_idx):
    return reader_creator(re.compile(r"aclImdb/test/pos/.*\.txt$"),
                          re.compile(r"aclImdb/test/neg/.*\.txt$"), word_idx)


def word_dict():
    return build_dict(re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$"), 150)

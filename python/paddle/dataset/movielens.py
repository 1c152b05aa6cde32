"""Film ratings: user features, film features and [rating * 2 - 5], from DATA_HOME/movielens/ml-1m.zip."""
import random
import re
import zipfile

from paddle.dataset import common

__all__ = ["train", "test", "get_movie_title_dict", "max_movie_id", "max_user_id", "age_table", "movie_categories",
           "max_job_id", "user_info", "movie_info"]

age_table = [1, 18, 25, 35, 45, 50, 56]
_DATA = None


class MovieInfo(object):
    def __init__(self, index, categories, title):
        self.index, self.categories, self.title = int(index), categories, title

    def value(self):
        data = _load()
        return [self.index, [data.categories[c] for c in self.categories],
                [data.words[w.lower()] for w in self.title.split()]]


class UserInfo(object):
    def __init__(self, index, gender, age, job_id):
        self.index, self.is_male = int(index), gender == "M"
        self.age, self.job_id = age_table.index(int(age)), int(job_id)

    def value(self):
        return [self.index, 0 if self.is_male else 1, self.age, self.job_id]


class _Data(object):
    def __init__(self, path):
        title_of = re.compile(r"^(.*)\((\d+)\)$")
        self.path, self.movies, self.users = path, {}, {}
        words, categories = set(), set()
        with zipfile.ZipFile(path) as archive:
            for line in archive.open("ml-1m/movies.dat"):
                index, title, kinds = line.decode("latin-1").strip().split("::")
                kinds = kinds.split("|")
                title = title_of.match(title).group(1)
                categories.update(kinds)
                words.update(word.lower() for word in title.split())
                self.movies[int(index)] = MovieInfo(index, kinds, title)
            for line in archive.open("ml-1m/users.dat"):
                index, gender, age, job, _ = line.decode("latin-1").strip().split("::")
                self.users[int(index)] = UserInfo(index, gender, age, job)
        self.words = {word: i for i, word in enumerate(sorted(words))}
        self.categories = {kind: i for i, kind in enumerate(sorted(categories))}


def _load():
    global _DATA
    if _DATA is None:
        _DATA = _Data(common.local_file("movielens", "ml-1m.zip"))
    return _DATA


def _reader(is_test, rand_seed=0, test_ratio=0.1):
    data = _load()

    def reader():
        rand = random.Random(rand_seed)
        with zipfile.ZipFile(data.path) as archive:
            for line in archive.open("ml-1m/ratings.dat"):
                if (rand.random() < test_ratio) == is_test:
                    user, movie, rating, _ = line.decode("latin-1").strip().split("::")
                    yield (data.users[int(user)].value() + data.movies[int(movie)].value() +
                           [[float(rating) * 2 - 5.0]])

    return reader


def train():
    return _reader(False)


def test():
    return _reader(True)


def get_movie_title_dict():
    return _load().words


def movie_categories():
    return _load().categories


def max_movie_id():
    return max(_load().movies)


def max_user_id():
    return max(_load().users)


def max_job_id():
    return max(user.job_id for user in _load().users.values())


def movie_info():
    return _load().movies


def user_info():
    return _load().users

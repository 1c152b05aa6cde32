"""paddle.dataset: readers of small public data sets. uci_housing is bundled; the others read local files."""
from paddle import _names

__getattr__, __dir__ = _names.lazy(
    __name__, {}, ("common", "uci_housing", "mnist", "cifar", "imdb", "imikolov", "movielens"))

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from skiff._base import BaseEstimator, ClassifierMixin
from skiff._plot import Plot

class Classifier(ClassifierMixin, BaseEstimator):
    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray
    history_: List[Dict[str, Any]]
    n_iter_: int
    best_epoch_: int
    valid_score_: Dict[str, float]
    def __init__(
        self,
        model: str = "rank/deepfm",
        *,
        epochs: Optional[int] = None,
        batch_size: Optional[int] = None,
        learning_rate: Optional[float] = None,
        embedding_dim: Optional[int] = None,
        layers: Optional[Sequence[int]] = None,
        validation_fraction: Optional[float] = 0.1,
        patience: Optional[int] = None,
        random_state: Any = None,
        n_jobs: Optional[int] = None,
        class_weight: Union[Mapping[Any, float], str, None] = None,
        options: Optional[Mapping[str, Any]] = None,
        verbose: bool = False,
    ) -> None: ...
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Optional[Tuple[Any, ...]] = None) -> "Classifier": ...
    def importances(self, X: Any, y: Any, sample_weight: Any = None, *, repeats: int = 5) -> List[Dict[str, Any]]: ...
    @property
    def feature_importances_(self) -> np.ndarray: ...
    def predict_proba(self, X: Any) -> np.ndarray: ...
    def predict(self, X: Any) -> np.ndarray: ...
    def plot(self) -> Plot: ...
    def save(self, folder: Any) -> None: ...
    @classmethod
    def load(cls, folder: Any) -> "Classifier": ...

from os import PathLike
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from skiff._classifier import Classifier as Classifier
from skiff._native import Trainer as Trainer

__version__: str
Path = Union[str, "PathLike[str]"]
Options = Union[Mapping[str, Any], Sequence[str], None]

def init(
    data: Path,
    out: Path,
    *,
    label: Optional[str] = None,
    positive: Optional[str] = None,
    split: str = "auto",
    time: Optional[str] = None,
    weight: Optional[str] = None,
    model: Optional[str] = None,
    share: float = 0.1,
    seed: int = 1,
    overwrite: bool = False,
) -> Dict[str, int]: ...
def train(
    run: Path, options: Options = None, *, resume: bool = False, overwrite: bool = False, name: Optional[str] = None, quiet: bool = True
) -> Dict[str, Any]: ...
def infer(run: Path, options: Options = None, *, name: Optional[str] = None, quiet: bool = True) -> List[Dict[str, Any]]: ...
def predict(
    run: Path,
    data: Any,
    output: Optional[Path] = None,
    options: Options = None,
    *,
    model: Optional[str] = None,
    name: Optional[str] = None,
    quiet: bool = True,
) -> np.ndarray: ...
def load(folder: Path) -> Classifier: ...

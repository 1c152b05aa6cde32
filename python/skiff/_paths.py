"""skiff.init, train, infer, predict: what the commands of these names do, on paths, in this process."""
import os

from skiff import _native


def _config(path):
    path = os.fspath(path)
    return os.path.join(path, "config.yaml") if os.path.isdir(path) else path


def _options(options):
    if isinstance(options, dict):
        return ["%s=%s" % pair for pair in options.items()]
    return list(options or ())


def init(data, out, *, label=None, positive=None, split="auto", time=None, weight=None, model=None, share=0.1, seed=1, overwrite=False):
    """Makes the folder `out` of a table: config.yaml, columns.stats, train/, valid/, test/. Returns the rows of each part."""
    return _native.prepare(
        data,
        out,
        label=label,
        positive=positive,
        split=split,
        time=time,
        weight=weight,
        model=model,
        share=share,
        seed=seed,
        overwrite=overwrite,
    )


def train(run, options=None, *, resume=False, overwrite=False, name=None, quiet=True):
    """Trains with the config of a folder that `init` has made, or with a config. Returns what Trainer.run returns."""
    return _native.Trainer(_config(run), _options(options), resume=resume, overwrite=overwrite, name=name, quiet=quiet).run()


def infer(run, options=None, *, name=None, quiet=True):
    """Evaluates saved epochs on the test rows. Returns a dict for each: epoch, samples, auc, log_loss, copc, ..."""
    return _native.evaluate(_config(run), _options(options), name=name, quiet=quiet)


def predict(run, data, output=None, options=None, *, model=None, name=None, quiet=True):
    """Probabilities of the rows of `data`: a path, or a table (DataFrame, Arrow table, dict of columns). output: a file for the
    lines that `skiff predict` writes."""
    import numpy as np

    if not isinstance(data, (str, bytes, os.PathLike)):
        return _predict_table(run, data, output, options, model, name, quiet)
    opened = _native.Run(run, model=model, options=_options(options), name=name, quiet=quiet)
    text = opened.predict_files(data)
    if output is not None:
        with open(output, "wb") as out:
            out.write(text)
    return np.array([line.split(b"\t", 1)[0] for line in text.splitlines()], dtype=np.float64)


def _predict_table(run, data, output, options, model, name, quiet):
    import numpy as np

    from skiff._table import table_of

    if output is not None:
        raise ValueError("output is for rows of files; a table's probabilities are returned")
    table = table_of(data)
    if not table.names:
        raise ValueError("data has no column names: give a DataFrame or a dict of columns")
    header = ",".join('"%s"' % n.replace('"', '""') for n in table.names)
    opened = _native.Run(run, header, model, _options(options), name, quiet)
    return np.frombuffer(opened.predict_columns(table.pairs(table.names)), np.float64)

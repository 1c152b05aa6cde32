"""paddle.batch: a reader of samples becomes a reader of lists of samples."""

__all__ = ["batch"]


def batch(reader, batch_size, drop_last=False):
    """reader: a function that gives an iterator of samples. The last batch may be short unless drop_last."""
    batch_size = int(batch_size)
    if batch_size <= 0:
        raise ValueError("batch_size should be a positive integer, but got {}".format(batch_size))

    def batch_reader():
        rows = []
        for instance in reader():
            rows.append(instance)
            if len(rows) == batch_size:
                yield rows
                rows = []
        if rows and not drop_last:
            yield rows

    return batch_reader

"""Rows of the tutorial's table to numbers, for the programs beside this one, and as a pipe command of a dataset:

    cat visits.csv | skiff python visits_reader.py"""
import zlib

import paddle.fluid.incubate.data_generator as dg

SLOTS, ROWS = ("device", "page", "town"), 1000  # ids lie below ROWS


def parse(line):
    """(ids, numbers, label) of a row; None: the header line. The label may be missing: 0."""
    cells = line.rstrip("\n").split(",")
    if cells[0] == "visit":
        return None
    ids = [zlib.crc32((slot + "=" + cell).encode()) % ROWS for slot, cell in zip(SLOTS, cells[1:4])]
    numbers = [float(cells[4] or 40) / 100, float(cells[5]) / 40]
    return ids, numbers, int(cells[6:] == ["yes"])


class VisitsReader(dg.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def sample():
            row = parse(line)
            if row:
                ids, numbers, label = row
                yield [(slot, [one]) for slot, one in zip(SLOTS, ids)] + [("numbers", numbers), ("label", [label])]
        return sample


if __name__ == "__main__":
    VisitsReader().run_from_stdin()

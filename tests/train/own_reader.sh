# A folder as PaddleRec's models have it, with a reader of its own (source it): tools/utils/common.py, which the reader is
# given, and models/rank/dnn with config.yaml, reader.py and 4 files of 400 rows. A row is "CLICK WORD WORD"; ids are Python's
# hash() of the words, which decide the click: with other ids in every process nothing could be learnt.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
own_reader() { # FOLDER
    mkdir -p "$1/tools/utils" "$1/models/rank/dnn/data"
    echo 'SLOTS = 2' >"$1/tools/utils/common.py"
    cat >"$1/models/rank/dnn/reader.py" <<'PY'
import sys

import paddle.distributed.fleet as fleet


class Reader(fleet.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def reader():
            click, *words = line.split()
            ids = [[hash(word) % 5001] for word in words]
            yield zip(["click", "C1", "C2", "dense_input"], [[int(click)]] + ids[:common.SLOTS] + [[0.5]])

        return reader


if __name__ == "__main__":
    with open(sys.argv[1]) as config:
        assert config.readline() == "# a reader of its own\n"
    sys.path.append(sys.argv[2])
    import common
    Reader().run_from_stdin()
PY
    cat >"$1/models/rank/dnn/config.yaml" <<'YAML'
# a reader of its own
runner:
  train_data_dir: data
  test_data_dir: data
  reader_type: QueueDataset
  pipe_command: "python3 reader.py"
  train_batch_size: 20
  infer_batch_size: 20
  epochs: 2
  model_save_path: out
  infer_load_path: out
hyper_parameters:
  optimizer: {class: Adam, learning_rate: 0.01}
  sparse_inputs_slots: 3
  sparse_feature_number: 5001
  sparse_feature_dim: 4
  dense_input_dim: 1
  fc_sizes: [16]
YAML
    awk 'BEGIN { srand(7); for (i = 0; i < 1600; i++) { a = int(rand() * 20); b = int(rand() * 20)
        printf "%d word%d word%d\n", a % 2, a, b > ("'"$1"'/models/rank/dnn/data/part-" i % 4) } }'
}
own_reader_auc() { # LOG: the last epoch's AUC is above 0.9
    awk '/^Epoch: 1,/ { good = $NF > 0.9 } END { exit !good }' "$1"
}

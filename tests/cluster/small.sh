# A small CTR-DNN for scripts in this folder (source it): its config, rows of slots, values from a log.
export SKIFF_LOG_FORMAT=paddlerec # its lines are what is looked for
small_config() { # OPTIMIZER RUNNER-LINE...: the config's text
    printf 'runner:\n  model: rank/dnn\n  model_save_path: model\n'
    printf '  %s\n' "${@:2}"
    cat <<END
hyper_parameters:
  optimizer: {class: $1, learning_rate: 0.001}
  network: documents
  sparse_inputs_slots: 27
  sparse_feature_number: 5001
  sparse_feature_dim: 8
  dense_input_dim: 13
  fc_sizes: [32]
END
}
slot_files() { # N: 300 rows, as pipe commands print them, in slots/part-*
    mkdir slots
    awk 'BEGIN { srand(1); for (i = 0; i < 300; i++) { printf "13"; for (d = 0; d < 13; d++) printf " %g", rand()
        for (s = 0; s < 26; s++) printf " 1 %d", int(rand() * 5000); print " 1 " i % 2 } }' >rows
    split -l $((300 / $1)) -d rows slots/part- # -n l/N cuts by bytes, and the numbers of awk differ
}
epochs() { sed -n 's/^Epoch: \([0-9]\),.*/\1/p' "$1" | tr -d '\n'; } # LOG: the numbers of those that were trained

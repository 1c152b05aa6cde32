#!/usr/bin/env bash
# Eager mode against numbers of real Paddle 2.6.2, which were recorded on a CPU with AVX2: DSSM's depend on how a gradient
# that is zero rounds (README.md).
set -euo pipefail
export ONEDNN_MAX_CPU_ISA=AVX2 DNNL_MAX_CPU_ISA=AVX2
case ${BUILD:-build} in
*-address) # the sanitizer's library must be in Python from the start; Python itself leaks
    export LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0
    exec "$(dirname "$0")/acceptance.sh" --only dygraph_tensor_index --only dygraph_autograd --only dygraph_pylayer \
        --only dygraph_optim_sparse --only dygraph_jit --only dygraph_layer_rnn ;;
*-thread) exit 0 ;; # Python is not built for TSan
esac
for group in tensor autograd pylayer layer losses optim save_load jit io metrics hapi amp rng model train_loop; do
    set -- "$@" --only dygraph_$group
done
exec "$(dirname "$0")/acceptance.sh" "$@" --only rec_dygraph_local

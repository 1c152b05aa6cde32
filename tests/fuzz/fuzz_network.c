/* Networks in YAML: for any text a network is built, or refused with a message. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "config/config.h"
#include "config/yaml.h"
#include "task/net_text.h"

static const char settings[] = "hyper_parameters: {width: 3, sizes: [4, 2], word: relu}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena arena;
    struct config *config = NULL;
    const struct yaml_node *root = NULL;
    struct skiff_model_net out = {0};
    struct skiff_error err = {0};
    arena_init(&arena);
    if (config_parse(settings, strlen(settings), "config", &config, &err) < 0)
        abort();
    struct skiff_net *net = skiff_net_create();
    enum skiff_status status = yaml_read(data, n, "fuzz", &arena, &root, &err);
    if (status == SKIFF_OK && root)
        status = net_text_build(root, "fuzz", config, net, &out, &err);
    if (status < 0 && !err.message[0])
        abort();
    if (status == SKIFF_OK && root && !out.loss)
        abort();
    skiff_net_destroy(net);
    config_close(config);
    arena_deinit(&arena);
    return 0;
}

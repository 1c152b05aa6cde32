/* Which model a config means: a built-in one by name, a network in YAML (a file, or the section
 * `network` of the config), or a shared object; and the building of its network. A shared object
 * is code of the user's choice: it is loaded only from a path with a slash, and its interface
 * version is checked before anything of it is called. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "config/yaml.h"
#include "task/net_text.h"
#include "task/task.h"
#include "store/file.h"

/* ---- the model's view of hyper_parameters ---- */

struct model_view {
    struct skiff_model_config base;
    struct config *config;
};

static struct config *config_of(const struct skiff_model_config *c)
{
    return ((const struct model_view *)c)->config;
}

static int64_t view_integer(const struct skiff_model_config *c, const char *key, int64_t fallback)
{
    /* everything that models count is a size */
    return member_int(config_of(c), KEY_HYPER, key, fallback, 0, INT64_C(1) << 40);
}

static double view_real(const struct skiff_model_config *c, const char *key, double fallback)
{
    return member_real(config_of(c), KEY_HYPER, key, fallback);
}

static bool view_flag(const struct skiff_model_config *c, const char *key, bool fallback)
{
    return member_bool(config_of(c), KEY_HYPER, key, fallback);
}

static const char *view_text(const struct skiff_model_config *c, const char *key,
                             const char *fallback)
{
    return member_text(config_of(c), KEY_HYPER, key, fallback);
}

static int view_integers(const struct skiff_model_config *c, const char *key, int64_t *out, int max)
{
    int n = member_ints(config_of(c), KEY_HYPER, key, out, max);
    for (int i = 0; i < n; i++)
        if (out[i] < 1 || out[i] > 1 << 20) {
            member_refuse(config_of(c), KEY_HYPER, key, "has a layer of size %lld",
                          (long long)out[i]);
            return -1;
        }
    return n;
}

static const struct skiff_model_config_class view_class = {view_integer, view_real, view_flag,
                                                           view_text, view_integers};

/* ---- which model ---- */

static enum skiff_status no_model(const struct config *c, const char *what, struct skiff_error *err)
{
    struct buf names = BUF_INIT;
    const char *like = config_like(c, KEY_RUNNER_MODEL);
    for (const struct skiff_model_def *const *m = model_all(); *m; m++)
        buf_printf(&names, "%s%s", m == model_all() ? "" : ", ", (*m)->name);
    enum skiff_status status =
        error_set(err, SKIFF_NOT_FOUND,
                  "%s: no model %s; runner.model, or else the folder of the config, must name one "
                  "of %s; or a file, as ./mynet.yaml or ./mymodel.so (docs/guide/networks.md)%s%s",
                  config_name(c), what, names.data, like ? "; what is " : "", like ? like : "");
    buf_deinit(&names);
    return status;
}

/* "rank/dnn" of ".../rank/dnn", else "dnn". */
static const struct skiff_model_def *model_of_path(const char *path)
{
    const char *last = strrchr(path, '/');
    if (!last)
        return model_find(path);
    const char *two = last;
    while (two > path && two[-1] != '/')
        two--;
    const struct skiff_model_def *m = model_find(two);
    return m ? m : model_find(last + 1);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static enum skiff_status find_ready(struct task *j, const char *name, struct skiff_error *err)
{
    const char *workspace = config_text(j->config, KEY_WORKSPACE);
    const char *folder = config_folder(j->config);
    j->model = name ? model_find(name) : model_of_path(folder);
    if (!j->model && !name && workspace)
        j->model = model_of_path(workspace);
    return j->model ? SKIFF_OK : no_model(j->config, name ? name : folder, err);
}

/* ---- shared objects ---- */

static enum skiff_status library_check(const struct skiff_model_def *def, const char *path,
                                       struct skiff_error *err)
{
    if (!def)
        return error_set(err, SKIFF_FORMAT, "%s: skiff_model_def() gives NULL", path);
    if (def->abi != SKIFF_MODEL_ABI)
        return error_set(err, SKIFF_UNSUPPORTED,
                         "%s was compiled for model interface %d, but this skiff has %d; recompile "
                         "it with the headers of this skiff",
                         path, def->abi, SKIFF_MODEL_ABI);
    if (!def->build || !def->name)
        return error_set(err, SKIFF_FORMAT, "%s: its model has no %s", path,
                         def->name ? "build" : "name");
    return reserved_check(def->reserved, "skiff_model_def", err);
}

static enum skiff_status library_open(struct task *j, const char *path, struct skiff_error *err)
{
    const struct skiff_model_def *(*def)(void);
    j->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!j->library)
        return error_set(err, SKIFF_NOT_FOUND, "%s: runner.model: cannot be loaded: %s",
                         config_name(j->config), dlerror());
    *(void **)&def = dlsym(j->library, "skiff_model_def");
    if (!def)
        return error_set(err, SKIFF_FORMAT,
                         "%s is not a model: it has no function skiff_model_def, which SKIFF_MODEL "
                         "of <skiff/model.h> defines (docs/guide/networks.md)",
                         path);
    j->model = def();
    return library_check(j->model, path, err);
}

/* ---- networks in YAML ---- */

static void be_network(struct task *j, const struct yaml_node *network, const char *file)
{
    j->network = network;
    j->own = (struct skiff_model_def){
        .abi = SKIFF_MODEL_ABI, .name = file, .summary = "a network in YAML"};
    j->model = &j->own;
}

static enum skiff_status network_open(struct task *j, const char *path, struct skiff_error *err)
{
    struct buf text = BUF_INIT;
    const struct yaml_node *root = NULL;
    enum skiff_status status = file_read(path, &text, err);
    if (status < 0)
        status = error_prefix(err, status, "%s: runner.model", config_name(j->config));
    else
        status =
            yaml_read(text.data ? text.data : "", text.len, path, &j->network_text, &root, err);
    buf_deinit(&text);
    if (status < 0)
        return status;
    if (!root)
        return error_set(err, SKIFF_FORMAT, "%s: the file is empty; expected a network", path);
    /* "network:" around all of it is as good as nothing around it */
    if (root->kind == YAML_MAP && root->n == 1 && !strcmp(root->first->key, "network"))
        root = root->first;
    be_network(j, root, path);
    return SKIFF_OK;
}

/* ---- open, build, close ---- */

enum skiff_status task_model_open(struct task *j, struct skiff_error *err)
{
    const char *name = config_text(j->config, KEY_RUNNER_MODEL);
    const struct yaml_node *own = config_network(j->config);
    arena_init(&j->network_text);
    if (own && name)
        return error_set(err, SKIFF_INVALID,
                         "%s:%d: the config contains a network, and runner.model names another "
                         "one, %s; remove one of them",
                         config_name(j->config), own->line, name);
    if (own) {
        be_network(j, own, config_name(j->config));
        return SKIFF_OK;
    }
    if (!name)
        return find_ready(j, NULL, err);
    const char *path = config_path(j->config, KEY_RUNNER_MODEL);
    if (ends_with(name, ".yaml") || ends_with(name, ".yml"))
        return network_open(j, path, err);
    if (!ends_with(name, ".so"))
        return find_ready(j, name, err);
    if (!strchr(name, '/'))
        return error_set(err, SKIFF_INVALID,
                         "%s: runner.model: %s: to load a shared object, write its path: ./%s",
                         config_name(j->config), name, name);
    return library_open(j, path, err);
}

static enum skiff_status check_vars(struct task *j, struct skiff_error *err)
{
    TRY(skiff_net_check(j->net, err));
    if (j->vars.ninputs < 0 || j->vars.ninputs > SKIFF_MODEL_MAX_INPUTS || !j->vars.loss)
        return error_set(err, SKIFF_INVALID, "%s: the model %s", j->model->name,
                         j->vars.loss ? "has a wrong number of inputs" : "has no loss");
    return SKIFF_OK;
}

enum skiff_status task_model_given(struct task *j, struct skiff_error *err)
{
    arena_init(&j->network_text);
    j->own = (struct skiff_model_def){.abi = SKIFF_MODEL_ABI, .name = "network"};
    j->model = &j->own;
    j->net = j->args->net;
    j->vars = *j->args->net_vars;
    TRY(reserved_check(j->vars.reserved, "skiff_model_net", err));
    return check_vars(j, err);
}

enum skiff_status task_model_build(struct task *j, struct skiff_error *err)
{
    struct model_view view = {.base.type = &view_class, .config = j->config};
    if (j->network)
        TRY(net_text_build(j->network, j->model->name, j->config, j->net, &j->vars, err));
    else
        j->model->build(j->net, &view.base, &j->vars);
    TRY(config_check(j->config, err));
    return check_vars(j, err);
}

void task_model_close(struct task *j)
{
    arena_deinit(&j->network_text);
    if (j->library)
        dlclose(j->library);
}

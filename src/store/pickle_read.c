/* Converts the nodes of a pickle to tensors. An array stays a node (dtype, shape, order, data) and
 * becomes a tensor only when it is a value of the dict.
 *
 * The stack machine (pickle_machine.c) has bounded the nodes by the size of the file; here shapes
 * are compared with the bytes before memory is allocated, other byte orders are swapped, and
 * column-major data are transposed. Paddle cuts arrays beyond 1 GiB into slices, which are joined
 * again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/file.h"
#include "store/pickle.h"
#include "store/pickle_node.h"
#include "store/tensor_source.h"

#define TEXT_DEPTH_MAX 6
#define TEXT_LEN_MAX 400

static enum skiff_status latin1_length(struct machine *m, const struct node_text *s, size_t *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++, n++) {
        if (s->p[i] < 0x80)
            continue;
        if ((s->p[i] & 0xfe) != 0xc2 || i + 1 >= s->n || (s->p[i + 1] & 0xc0) != 0x80)
            return error_set(m->err, SKIFF_FORMAT,
                             "%s: bad pickle: bytes written as text hold a character above 255",
                             m->what);
        i++;
    }
    *out = n;
    return SKIFF_OK;
}

size_t node_latin1_decode(const struct node_text *s, uint8_t *to)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        uint8_t c = s->p[i];
        bool two = c >= 0x80 && i + 1 < s->n;
        to[n++] = two ? (uint8_t)(c << 6 | (s->p[++i] & 0x3f)) : c;
    }
    return n;
}

static void bytes_swap(uint8_t *p, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++, p += size)
        for (size_t a = 0, b = size - 1; a < b; a++, b--) {
            uint8_t t = p[a];
            p[a] = p[b];
            p[b] = t;
        }
}

/* Column-major to row-major: element (i0, i1, ...) stands at i0 + d0 (i1 + d1 (...)). */
static void from_fortran(const uint8_t *from, const struct shape *s, size_t size, uint8_t *to)
{
    int64_t at[TENSOR_MAX_DIMS] = {0}, count = shape_numel(s);
    for (int64_t k = 0; k < count; k++) {
        int64_t where = 0;
        for (int d = s->ndim; d-- > 0;)
            where = where * s->dims[d] + at[d];
        memcpy(to + (size_t)k * size, from + (size_t)where * size, size);
        for (int d = s->ndim; d-- > 0 && ++at[d] == s->dims[d];)
            at[d] = 0;
    }
}

static enum skiff_status shape_from(struct machine *m, const char *name,
                                    const struct pickle_node *tuple, struct shape *out)
{
    if (tuple->list.n > TENSOR_MAX_DIMS)
        return error_set(m->err, SKIFF_FORMAT, "%s: array %s has %zu dims, at most %d are possible",
                         m->what, name, tuple->list.n, TENSOR_MAX_DIMS);
    *out = (struct shape){.ndim = (int)tuple->list.n};
    for (int i = 0; i < out->ndim; i++) {
        const struct pickle_node *d = tuple->list.v[i];
        if (d->kind != NODE_INT || d->i < 0)
            return error_set(m->err, SKIFF_FORMAT,
                             "%s: dim %d of array %s is %" PRId64 ", expected zero or more",
                             m->what, i, name, d->kind == NODE_INT ? d->i : -1);
        out->dims[i] = d->i;
    }
    return SKIFF_OK;
}

static enum skiff_status size_check(struct machine *m, const char *name, enum dtype type,
                                    const struct shape *shape, size_t have)
{
    size_t need = dtype_size(type);
    bool fits = true, zero = false;
    for (int i = 0; i < shape->ndim; i++) {
        zero |= shape->dims[i] == 0;
        fits = fits && mem_mul(need, (size_t)shape->dims[i], &need);
    }
    if (zero ? have == 0 : fits && need == have)
        return SKIFF_OK;
    char text[160];
    return error_set(m->err, SKIFF_FORMAT, "%s: array %s is %s %s, but has %zu bytes of data",
                     m->what, name, dtype_name(type), shape_text(shape, text), have);
}

enum skiff_status node_to_tensor(struct machine *m, const char *name, const struct node_array *a,
                                 struct tensor *out)
{
    if (!a->data)
        return error_set(m->err, SKIFF_FORMAT, "%s: array %s was never filled", m->what, name);
    struct shape shape;
    TRY(shape_from(m, name, a->shape, &shape));
    enum dtype type = a->dtype->dtype.type;
    size_t size = dtype_size(type), have = a->data->s.n;
    if (a->data->kind == NODE_LATIN1)
        TRY(latin1_length(m, &a->data->s, &have));
    TRY(size_check(m, name, type, &shape, have));
    if (have > m->array_budget)
        return error_set(m->err, SKIFF_FORMAT,
                         "%s: arrays take more bytes than the file can hold (at %s)", m->what,
                         name);
    m->array_budget -= have;
    TRY(tensor_resize(out, type, &shape, m->err));
    if (!have)
        return SKIFF_OK;
    void *plain = NULL;
    bool turn = a->fortran && shape.ndim > 1;
    if (turn)
        TRY(mem_alloc(have, "an array in Fortran order", &plain, m->err));
    uint8_t *to = turn ? plain : out->data;
    if (a->data->kind == NODE_LATIN1)
        node_latin1_decode(&a->data->s, to);
    else
        memcpy(to, a->data->s.p, have);
    if (a->dtype->dtype.swapped) {
        size_t unit = type == DTYPE_COMPLEX64 || type == DTYPE_COMPLEX128 ? size / 2 : size;
        bytes_swap(to, have / unit, unit);
    }
    if (turn)
        from_fortran(plain, &shape, size, out->data);
    tensor_normalise_bools(out);
    mem_free(plain);
    return SKIFF_OK;
}

/* What Python would print, truncated: for values that are not arrays. */
static void node_print(const struct pickle_node *n, int depth, struct buf *out)
{
    if (out->len > TEXT_LEN_MAX || depth > TEXT_DEPTH_MAX) {
        buf_str(out, "...");
        return;
    }
    switch (n->kind) {
    case NODE_NONE:
        buf_str(out, "None");
        break;
    case NODE_BOOL:
        buf_str(out, n->i ? "True" : "False");
        break;
    case NODE_INT:
        buf_printf(out, "%" PRId64, n->i);
        break;
    case NODE_FLOAT:
        buf_printf(out, "%.17g", n->f);
        break;
    case NODE_TEXT:
        buf_printf(out, "'%.*s'", (int)(n->s.n < 100 ? n->s.n : 100), (const char *)n->s.p);
        break;
    case NODE_TUPLE:
    case NODE_LIST:
    case NODE_DICT:
        buf_char(out, n->kind == NODE_TUPLE ? '(' : n->kind == NODE_LIST ? '[' : '{');
        for (size_t i = 0; i < n->list.n && out->len <= TEXT_LEN_MAX; i++) {
            if (i)
                buf_str(out, n->kind == NODE_DICT && i % 2 ? ": " : ", ");
            node_print(n->list.v[i], depth + 1, out);
        }
        buf_char(out, n->kind == NODE_TUPLE ? ')' : n->kind == NODE_LIST ? ']' : '}');
        break;
    default:
        buf_printf(out, "<%s>", node_kind_name(n->kind));
    }
}

static enum skiff_status key_copy(struct machine *m, const struct pickle_node *key, char **out)
{
    if ((key->kind != NODE_TEXT && key->kind != NODE_BYTES) || memchr(key->s.p, 0, key->s.n))
        return error_set(m->err, SKIFF_FORMAT, "%s: a key of the dict is a %s, expected a name",
                         m->what, node_kind_name(key->kind));
    *out = arena_strndup(&m->arena, (const char *)key->s.p, key->s.n);
    return SKIFF_OK;
}

static enum skiff_status structured_fill(struct machine *m, const struct pickle_node *dict,
                                         struct state *out)
{
    if (dict->kind != NODE_DICT)
        return error_set(m->err, SKIFF_FORMAT, "%s: %s holds a %s, expected a dict", m->what,
                         STATE_STRUCTURED_KEY, node_kind_name(dict->kind));
    for (size_t i = 0; i + 1 < dict->list.n; i += 2) {
        char *key, *value;
        TRY(key_copy(m, dict->list.v[i], &key));
        TRY(key_copy(m, dict->list.v[i + 1], &value));
        state_add_structured(out, key, value);
    }
    return SKIFF_OK;
}

static enum skiff_status entry_fill(struct machine *m, const char *name,
                                    const struct pickle_node *value, struct state *out)
{
    if (state_find(out, name))
        return error_set(m->err, SKIFF_FORMAT, "%s: %s is there twice", m->what, name);
    const struct pickle_node *array = value, *own = NULL;
    if (value->kind == NODE_TUPLE && value->list.n == 2 && value->list.v[0]->kind == NODE_TEXT &&
        value->list.v[1]->kind == NODE_ARRAY) {
        own = value->list.v[0];
        array = value->list.v[1];
    }
    char *own_name = NULL;
    if (own)
        TRY(key_copy(m, own, &own_name));
    if (array->kind == NODE_ARRAY) {
        struct tensor t = {0};
        TRY(node_to_tensor(m, name, &array->array, &t));
        struct state_entry *e = state_add(out, name);
        e->tensor = t;
        e->param_name = own_name ? mem_strdup_or_die(own_name) : NULL;
        return SKIFF_OK;
    }
    struct buf text = BUF_INIT;
    node_print(value, 0, &text);
    state_add(out, name)->text = mem_strdup_or_die(text.data);
    buf_deinit(&text);
    return SKIFF_OK;
}

static const struct pickle_node *dict_find(const struct pickle_node *dict, const char *key)
{
    for (size_t i = 0; i + 1 < dict->list.n; i += 2)
        if (node_text_is(dict->list.v[i], key))
            return dict->list.v[i + 1];
    return NULL;
}

/* paddle 2.x under protocol 2 cuts an array beyond 1 GiB into flat slices "<name>@@.<i>" and
 * writes {name: {"OriginShape": shape, "slices": [names]}} under this key. */
#define BIG_KEY "UnpackBigParamInfor@@"

static enum skiff_status slice_find(struct machine *m, const char *name,
                                    const struct pickle_node *key, const struct state *parts,
                                    const struct state_entry **out)
{
    char *part;
    TRY(key_copy(m, key, &part));
    *out = state_find(parts, part);
    if (!*out || (*out)->text)
        return error_set(m->err, SKIFF_FORMAT, "%s: slice %s of %s is missing", m->what, part,
                         name);
    return SKIFF_OK;
}

static enum skiff_status slices_join(struct machine *m, const char *name,
                                     const struct pickle_node *info, struct state *parts,
                                     struct state *out)
{
    const struct pickle_node *origin =
        info->kind == NODE_DICT ? dict_find(info, "OriginShape") : NULL;
    const struct pickle_node *slices = info->kind == NODE_DICT ? dict_find(info, "slices") : NULL;
    if (!origin || origin->kind != NODE_TUPLE || !slices || slices->kind != NODE_LIST ||
        !slices->list.n)
        return error_set(m->err, SKIFF_FORMAT, "%s: %s of %s lacks OriginShape or slices", m->what,
                         BIG_KEY, name);
    struct shape shape;
    TRY(shape_from(m, name, origin, &shape));
    enum dtype type = DTYPE_FP32;
    size_t total = 0;
    for (size_t i = 0; i < slices->list.n; i++) {
        const struct state_entry *e;
        TRY(slice_find(m, name, slices->list.v[i], parts, &e));
        if (i && e->tensor.dtype != type)
            return error_set(m->err, SKIFF_FORMAT, "%s: slices of %s differ in type", m->what,
                             name);
        type = e->tensor.dtype;
        total += tensor_bytes(&e->tensor);
        if (total > m->array_budget)
            return error_set(m->err, SKIFF_FORMAT,
                             "%s: arrays take more bytes than the file can hold (at %s)", m->what,
                             name);
    }
    m->array_budget -= total;
    TRY(size_check(m, name, type, &shape, total));
    struct tensor *to = &state_add(out, name)->tensor;
    TRY(tensor_resize(to, type, &shape, m->err));
    size_t at = 0;
    for (size_t i = 0; i < slices->list.n; i++) {
        const struct state_entry *e;
        TRY(slice_find(m, name, slices->list.v[i], parts, &e));
        size_t bytes = tensor_bytes(&e->tensor);
        if (bytes)
            memcpy((char *)to->data + at, e->tensor.data, bytes);
        at += bytes;
    }
    return SKIFF_OK;
}

/* Names of all slices that some entry of BIG_KEY lists; keys live in the arena. */
static enum skiff_status slices_list(struct machine *m, const struct pickle_node *big,
                                     struct str_map *out)
{
    for (size_t i = 0; i + 1 < big->list.n; i += 2) {
        const struct pickle_node *info = big->list.v[i + 1];
        const struct pickle_node *slices =
            info->kind == NODE_DICT ? dict_find(info, "slices") : NULL;
        for (size_t k = 0; slices && slices->kind == NODE_LIST && k < slices->list.n; k++) {
            char *name;
            TRY(key_copy(m, slices->list.v[k], &name));
            str_map_put(out, name, name);
        }
    }
    return SKIFF_OK;
}

static enum skiff_status big_fill(struct machine *m, const struct pickle_node *big,
                                  struct state *parts, struct state *out)
{
    m->array_budget = m->array_limit;
    for (size_t i = 0; i + 1 < big->list.n; i += 2) {
        char *name;
        TRY(key_copy(m, big->list.v[i], &name));
        if (state_find(out, name))
            return error_set(m->err, SKIFF_FORMAT, "%s: %s is there twice", m->what, name);
        TRY(slices_join(m, name, big->list.v[i + 1], parts, out));
    }
    return SKIFF_OK;
}

static enum skiff_status state_fill(struct machine *m, const struct pickle_node *dict,
                                    struct state *out)
{
    if (dict->kind != NODE_DICT)
        return error_set(m->err, SKIFF_FORMAT,
                         "%s: the pickle holds a %s, expected a dict of name -> array", m->what,
                         node_kind_name(dict->kind));
    const struct pickle_node *big = dict_find(dict, BIG_KEY);
    if (big && big->kind != NODE_DICT)
        return error_set(m->err, SKIFF_FORMAT, "%s: %s is no dict", m->what, BIG_KEY);
    struct state parts;
    struct str_map slices;
    state_init(&parts);
    str_map_init(&slices);
    enum skiff_status status = SKIFF_OK;
    if (big)
        TRY_OUT(slices_list(m, big, &slices));
    for (size_t i = 0; i + 1 < dict->list.n; i += 2) {
        char *name;
        const struct pickle_node *value = dict->list.v[i + 1];
        TRY_OUT(key_copy(m, dict->list.v[i], &name));
        if (!strcmp(name, BIG_KEY))
            continue;
        if (!strcmp(name, STATE_STRUCTURED_KEY))
            TRY_OUT(structured_fill(m, value, out));
        else
            TRY_OUT(entry_fill(m, name, value, str_map_has(&slices, name) ? &parts : out));
    }
    if (big)
        TRY_OUT(big_fill(m, big, &parts, out));
out:
    str_map_deinit(&slices);
    state_deinit(&parts);
    return status;
}

bool pickle_is(const uint8_t *bytes, size_t n)
{
    return n >= 2 && bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5;
}

static enum skiff_status check_start(const uint8_t *bytes, size_t n, const char *what,
                                     struct skiff_error *err)
{
    return pickle_is(bytes, n)
               ? SKIFF_OK
               : error_set(err, SKIFF_FORMAT,
                           "%s: not a pickle of protocol 2 to 5 (first byte 0x%02x, expected 0x80)",
                           what, n ? bytes[0] : 0);
}

static void machine_init(struct machine *m, const uint8_t *bytes, size_t n, const char *what,
                         struct skiff_error *err)
{
    *m = (struct machine){.p = bytes,
                          .start = bytes,
                          .end = bytes + n,
                          .what = what,
                          .err = err,
                          .array_limit = n + (16u << 20),
                          .array_budget = n + (16u << 20)};
    arena_init(&m->arena);
}

static void machine_deinit(struct machine *m)
{
    free(m->stack.v);
    free(m->memo.v);
    arena_deinit(&m->arena);
}

enum skiff_status pickle_decode(const uint8_t *bytes, size_t n, const char *what, struct state *out,
                                struct skiff_error *err)
{
    struct machine m;
    struct state s;
    struct pickle_node *root;
    TRY(check_start(bytes, n, what, err));
    machine_init(&m, bytes, n, what, err);
    state_init(&s);
    enum skiff_status status = machine_run(&m, &root);
    if (status == SKIFF_OK)
        status = state_fill(&m, root, &s);
    machine_deinit(&m);
    if (status < 0) {
        state_deinit(&s);
        return status;
    }
    state_deinit(out);
    *out = s;
    return SKIFF_OK;
}

/* ---- arrays one at a time ---- */

struct pickle_file {
    char *path;
    void *bytes; /* mapped */
    size_t n;
    struct machine machine;
    struct str_map values; /* of the dict: name -> node; names in the arena */
    struct state now;      /* the entry that was asked for last; with `all`, all of them */
    bool all;
};

/* Slices of large arrays, structured names: what Paddle 2.x writes is read as a whole. */
static bool is_plain(const struct pickle_node *dict)
{
    if (dict->kind != NODE_DICT || dict_find(dict, BIG_KEY) ||
        dict_find(dict, STATE_STRUCTURED_KEY))
        return false;
    for (size_t i = 0; i + 1 < dict->list.n; i += 2)
        if (dict->list.v[i + 1]->kind == NODE_TUPLE)
            return false;
    return true;
}

static enum skiff_status list_values(struct pickle_file *f, const struct pickle_node *dict)
{
    f->all = !is_plain(dict);
    if (f->all)
        return state_fill(&f->machine, dict, &f->now);
    for (size_t i = 0; i + 1 < dict->list.n; i += 2) {
        char *name;
        TRY(key_copy(&f->machine, dict->list.v[i], &name));
        if (str_map_has(&f->values, name))
            return error_set(f->machine.err, SKIFF_FORMAT, "%s: %s is there twice", f->path, name);
        str_map_put(&f->values, name, dict->list.v[i + 1]);
    }
    return SKIFF_OK;
}

static enum skiff_status map_file(struct pickle_file *f, struct skiff_error *err)
{
    struct tensor_source s;
    enum skiff_status status = SKIFF_OK;
    TRY(tensor_source_open(&s, f->path, err));
    void *bytes = s.size ? mmap(NULL, (size_t)s.size, PROT_READ, MAP_PRIVATE, s.fd, 0) : NULL;
    if (bytes == MAP_FAILED)
        status = error_set_sys(err, "cannot read %s", f->path);
    else
        f->bytes = bytes;
    f->n = f->bytes ? (size_t)s.size : 0;
    close(s.fd);
    return status;
}

enum skiff_status pickle_file_open(const char *path, struct pickle_file **out,
                                   struct skiff_error *err)
{
    struct pickle_file *f = mem_alloc_or_die(sizeof *f);
    struct pickle_node *root;
    f->path = mem_strdup_or_die(path);
    str_map_init(&f->values);
    state_init(&f->now);
    machine_init(&f->machine, NULL, 0, f->path, err);
    enum skiff_status status = map_file(f, err);
    if (status == SKIFF_OK)
        status = check_start(f->bytes, f->n, path, err);
    if (status == SKIFF_OK) {
        machine_init(&f->machine, f->bytes, f->n, f->path, err);
        status = machine_run(&f->machine, &root);
    }
    if (status == SKIFF_OK)
        status = list_values(f, root);
    f->machine.err = NULL;
    if (status < 0)
        pickle_file_close(f);
    else
        *out = f;
    return status;
}

void pickle_file_close(struct pickle_file *f)
{
    if (!f)
        return;
    state_deinit(&f->now);
    str_map_deinit(&f->values);
    machine_deinit(&f->machine);
    if (f->bytes)
        munmap(f->bytes, f->n);
    free(f->path);
    free(f);
}

enum skiff_status pickle_file_find(struct pickle_file *f, const char *name,
                                   const struct state_entry **out, struct skiff_error *err)
{
    const struct pickle_node *value = f->all ? NULL : str_map_get(&f->values, name);
    *out = state_find_variable(&f->now, name);
    if (*out || !value)
        return SKIFF_OK;
    state_deinit(&f->now);
    state_init(&f->now);
    f->machine.err = err;
    f->machine.array_budget = f->machine.array_limit;
    enum skiff_status status = entry_fill(&f->machine, name, value, &f->now);
    f->machine.err = NULL;
    *out = status == SKIFF_OK ? state_find(&f->now, name) : NULL;
    return status;
}

/* ---- whole files ---- */

enum skiff_status pickle_file_read_checked(const char *path, const struct file_sum *want,
                                           struct state *out, struct skiff_error *err)
{
    struct buf b = BUF_INIT;
    TRY(file_read_checked(path, want, &b, err));
    enum skiff_status status = pickle_decode((const uint8_t *)b.data, b.len, path, out, err);
    buf_deinit(&b);
    return status;
}

enum skiff_status pickle_file_read(const char *path, struct state *out, struct skiff_error *err)
{
    return pickle_file_read_checked(path, NULL, out, err);
}

#include "executor/scope.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct skiff_scope {
    pthread_mutex_t lock;       /* guards the map; values are not guarded */
    struct str_map vars;        /* owned name -> struct skiff_tensor, owned unless it is lent */
    struct str_map lent;        /* names (those of vars) whose values are the caller's */
    struct skiff_scope *parent; /* a reference; NULL: none */
    int refs;                   /* atomic */
};

struct skiff_scope *scope_create(void)
{
    struct skiff_scope *s = mem_alloc_or_die(sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    str_map_init(&s->vars);
    str_map_init(&s->lent);
    s->refs = 1;
    return s;
}

struct skiff_scope *scope_ref(struct skiff_scope *s)
{
    __atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

struct skiff_scope *scope_create_child(struct skiff_scope *parent)
{
    struct skiff_scope *s = scope_create();
    s->parent = scope_ref(parent);
    return s;
}

void scope_destroy(struct skiff_scope *s)
{
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL))
        return;
    scope_destroy(s->parent);
    for (size_t i = 0; i < s->vars.count; i++) {
        struct str_map_entry *e = &s->vars.entries[i];
        if (!str_map_has(&s->lent, e->key)) {
            value_deinit(e->value);
            free(e->value);
        }
        free((char *)e->key);
    }
    str_map_deinit(&s->vars);
    str_map_deinit(&s->lent);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

struct skiff_tensor *scope_own(struct skiff_scope *s, const char *name)
{
    pthread_mutex_lock(&s->lock);
    struct skiff_tensor *v = str_map_get(&s->vars, name);
    if (!v) {
        v = mem_alloc_or_die(sizeof(*v));
        str_map_put(&s->vars, mem_strdup_or_die(name), v);
    }
    pthread_mutex_unlock(&s->lock);
    return v;
}

void scope_lend(struct skiff_scope *s, const char *name, struct skiff_tensor *value)
{
    pthread_mutex_lock(&s->lock);
    assert(!str_map_has(&s->vars, name) || str_map_has(&s->lent, name));
    const char *key = str_map_has(&s->vars, name) ? name : mem_strdup_or_die(name);
    if (key != name)
        str_map_put(&s->lent, key, s);
    str_map_put(&s->vars, key, value);
    pthread_mutex_unlock(&s->lock);
}

/* Without a flush of deferred updates. */
static struct skiff_tensor *own_if_there(const struct skiff_scope *s, const char *name)
{
    struct skiff_scope *self =
        (struct skiff_scope *)s; /* the lock is not part of what the caller sees */
    pthread_mutex_lock(&self->lock);
    struct skiff_tensor *v = str_map_get(&s->vars, name);
    pthread_mutex_unlock(&self->lock);
    return v;
}

struct skiff_tensor *scope_var(struct skiff_scope *s, const char *name)
{
    for (; s->parent; s = s->parent) {
        struct skiff_tensor *v = own_if_there(s, name);
        if (v)
            return v;
    }
    return scope_own(s, name);
}

struct skiff_tensor *scope_find(const struct skiff_scope *s, const char *name)
{
    struct skiff_tensor *v = NULL;
    for (; s && !v; s = s->parent)
        v = own_if_there(s, name);
    if (v)
        value_show(v);
    return v;
}

void scope_flush(struct skiff_scope *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->vars.count; i++)
        value_flush(s->vars.entries[i].value);
    pthread_mutex_unlock(&s->lock);
}

void scope_names(const struct skiff_scope *s, struct str_map *out)
{
    struct skiff_scope *self = (struct skiff_scope *)s;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < s->vars.count; i++)
        str_map_put(out, s->vars.entries[i].key, s->vars.entries[i].value);
    pthread_mutex_unlock(&self->lock);
}

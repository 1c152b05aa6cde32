#include "executor/scope.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct scope {
    pthread_mutex_t lock; /* guards the map; values are not guarded */
    struct str_map vars;  /* owned name -> owned struct value */
    struct scope *parent; /* NULL: none */
};

struct scope *scope_create(void)
{
    struct scope *s = mem_must(sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    str_map_init(&s->vars);
    return s;
}

struct scope *scope_create_child(struct scope *parent)
{
    struct scope *s = scope_create();
    s->parent = parent;
    return s;
}

void scope_destroy(struct scope *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->vars.count; i++) {
        struct str_map_entry *e = &s->vars.entries[i];
        value_deinit(e->value);
        free(e->value);
        free((char *)e->key);
    }
    str_map_deinit(&s->vars);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

struct value *scope_own(struct scope *s, const char *name)
{
    pthread_mutex_lock(&s->lock);
    struct value *v = str_map_get(&s->vars, name);
    if (!v) {
        v = mem_must(sizeof(*v));
        str_map_put(&s->vars, mem_must_strdup(name), v);
    }
    pthread_mutex_unlock(&s->lock);
    return v;
}

/* Not settled. */
static struct value *own_if_there(const struct scope *s, const char *name)
{
    struct scope *self = (struct scope *)s; /* the lock is not part of what the caller sees */
    pthread_mutex_lock(&self->lock);
    struct value *v = str_map_get(&s->vars, name);
    pthread_mutex_unlock(&self->lock);
    return v;
}

struct value *scope_var(struct scope *s, const char *name)
{
    for (; s->parent; s = s->parent) {
        struct value *v = own_if_there(s, name);
        if (v)
            return v;
    }
    return scope_own(s, name);
}

struct value *scope_find(const struct scope *s, const char *name)
{
    struct value *v = NULL;
    for (; s && !v; s = s->parent)
        v = own_if_there(s, name);
    if (v)
        value_settle(v);
    return v;
}

void scope_names(const struct scope *s, struct str_map *out)
{
    struct scope *self = (struct scope *)s;
    pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < s->vars.count; i++)
        str_map_put(out, s->vars.entries[i].key, s->vars.entries[i].value);
    pthread_mutex_unlock(&self->lock);
}

/* inspect functions: what of Paddle 2.x C and Python call by name. */
#include <string.h>

#include <skiff/call.h>

#include "base/near.h"
#include "cli/inspect.h"

static void print_function(const struct skiff_function_info *f)
{
    printf("paddle.%s(%s)\n    %s\n", f->name, f->arguments, f->text);
    for (const char *step = f->ops; step;) { /* a step a line */
        const char *end = strchr(step, ';');
        int n = end ? (int)(end - step) : (int)strlen(step);
        printf("    %s%.*s\n", step == f->ops ? "ops: " : "     ", n, step + strspn(step, " "));
        step = end ? end + 2 : NULL;
    }
}

enum skiff_status inspect_functions(const char *name, struct skiff_error *err)
{
    struct skiff_function_info f;
    if (name && !strncmp(name, "paddle.", 7))
        name += 7;
    struct near near = near_to(name ? name : "");
    for (int i = 0; skiff_function_at(i, &f); i++) {
        near_try(&near, f.name);
        if (!name)
            printf("%s(%s)\n", f.name, f.arguments);
        else if (!strcmp(name, f.name)) {
            print_function(&f);
            return SKIFF_OK;
        }
    }
    if (!name)
        return SKIFF_OK;
    return error_set(err, SKIFF_NOT_FOUND, "no function %s%s%s%s", name,
                     near.best ? " (did you mean " : "", near.best ? near.best : "",
                     near.best ? "?)" : "");
}

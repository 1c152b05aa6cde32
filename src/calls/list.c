/* The lists, by the modules of Paddle's Python where their functions live. */
#include "calls/row.h"

#define FUNCTION(names, arguments, ops, text) {names, arguments, ops, text},

static const struct function_row activation[] = {
#include "calls/list_activation.h"
    {0}};
static const struct function_row math[] = {
#include "calls/list_math.h"
    {0}};

static const struct function_row stat[] = {
#include "calls/list_stat.h"
    {0}};

const struct function_section function_sections[] = {
    {"tensor.math", math},
    {"tensor.stat", stat},
    {"nn.functional.activation", activation},
    {0},
};

#include <string.h>

#include "program/program.h"

static const struct {
    enum var_kind kind;
    const char *name;
} kinds[] = {
    {VAR_LOD_TENSOR, "LOD_TENSOR"},
    {VAR_SELECTED_ROWS, "SELECTED_ROWS"},
    {VAR_FEED_MINIBATCH, "FEED_MINIBATCH"},
    {VAR_FETCH_LIST, "FETCH_LIST"},
    {VAR_STEP_SCOPES, "STEP_SCOPES"},
    {VAR_LOD_RANK_TABLE, "LOD_RANK_TABLE"},
    {VAR_LOD_TENSOR_ARRAY, "LOD_TENSOR_ARRAY"},
    {VAR_PLACE_LIST, "PLACE_LIST"},
    {VAR_READER, "READER"},
    {VAR_RAW, "RAW"},
    {VAR_TUPLE, "TUPLE"},
    {VAR_STRING, "STRING"},
    {VAR_STRINGS, "STRINGS"},
    {VAR_VOCAB, "VOCAB"},
    {VAR_FEED_LIST, "FEED_LIST"},
    {VAR_PSTRING, "PSTRING"},
    {VAR_SPARSE_COO, "SPARSE_COO"},
    {VAR_SPARSE_CSR, "SPARSE_CSR"},
};
enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };

const char *var_kind_name(enum var_kind k)
{
    for (int i = 0; i < NKINDS; i++)
        if (kinds[i].kind == k)
            return kinds[i].name;
    return "?";
}

bool var_kind_parse(const char *name, enum var_kind *out)
{
    for (int i = 0; i < NKINDS; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = kinds[i].kind;
            return true;
        }
    return false;
}

/* The lists, by the module of Paddle's Python to which their functions belong. */
#include "calls/row.h"

#define FUNCTION(names, arguments, ops, text) {names, arguments, ops, text},

static const struct function_row attribute_rows[] = {
#include "calls/list_attribute.h"
    {0}};
static const struct function_row creation_rows[] = {
#include "calls/list_creation.h"
    {0}};
static const struct function_row elements_rows[] = {
#include "calls/list_elements.h"
    {0}};
static const struct function_row linalg_rows[] = {
#include "calls/list_linalg.h"
    {0}};
static const struct function_row logic_rows[] = {
#include "calls/list_logic.h"
    {0}};
static const struct function_row manipulation_rows[] = {
#include "calls/list_manipulation.h"
    {0}};
static const struct function_row math_rows[] = {
#include "calls/list_math.h"
    {0}};
static const struct function_row picking_rows[] = {
#include "calls/list_picking.h"
    {0}};
static const struct function_row random_rows[] = {
#include "calls/list_random.h"
    {0}};
static const struct function_row search_rows[] = {
#include "calls/list_search.h"
    {0}};
static const struct function_row matrices_rows[] = {
#include "calls/list_matrices.h"
    {0}};
static const struct function_row special_rows[] = {
#include "calls/list_special.h"
    {0}};
static const struct function_row stat_rows[] = {
#include "calls/list_stat.h"
    {0}};
static const struct function_row activation_rows[] = {
#include "calls/list_activation.h"
    {0}};
static const struct function_row common_rows[] = {
#include "calls/list_common.h"
    {0}};
static const struct function_row loss_rows[] = {
#include "calls/list_loss.h"
    {0}};
static const struct function_row norm_rows[] = {
#include "calls/list_norm.h"
    {0}};
static const struct function_row fluid_nn_rows[] = {
#include "calls/list_fluid.h"
    {0}};
static const struct function_row conv_rows[] = {
#include "calls/list_conv.h"
    {0}};
static const struct function_row pooling_rows[] = {
#include "calls/list_pooling.h"
    {0}};

const struct function_section function_sections[] = {
    {"tensor.attribute", attribute_rows},
    {"tensor.creation", creation_rows},
    {"tensor.elements", elements_rows},
    {"tensor.linalg", linalg_rows},
    {"tensor.logic", logic_rows},
    {"tensor.manipulation", manipulation_rows},
    {"tensor.math", math_rows},
    {"tensor.picking", picking_rows},
    {"tensor.random", random_rows},
    {"tensor.search", search_rows},
    {"tensor.stat", stat_rows},
    {"tensor.special", special_rows},
    {"tensor.matrices", matrices_rows},
    {"nn.functional.activation", activation_rows},
    {"nn.functional.common", common_rows},
    {"nn.functional.loss", loss_rows},
    {"nn.functional.norm", norm_rows},
    {"nn.functional.conv", conv_rows},
    {"nn.functional.pooling", pooling_rows},
    {"fluid.layers.nn", fluid_nn_rows},
    {0},
};

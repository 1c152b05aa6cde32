/* The vector loops, written in plain C for the compiler to vectorise. math.c includes this file
 * once per instruction set, with LOOP(name) giving each copy its own names.
 *
 * No copy may contract a*b+c or change the order of additions (the build says -ffp-contract=off,
 * and sums are written with fixed lanes), so that all of them give the same bits on every machine.
 *
 * exp(x) = 2^i e^r with i = round(x / ln 2), r = x - i ln 2, |r| <= ln 2 / 2, and
 * e^r = 1 + r + r^2 q(r), q of degree 4 (relative error 3e-9 before rounding).
 * tanh(x) = x + x z t(z), z = x^2, for |x| < 0.625 (4e-9), else 1 - 2 / (e^2|x| + 1).
 * As in Paddle, results below the smallest normal float are 0 (exp, sigmoid). */

#define ROUND_MAGIC \
    12582912.0f /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */

static inline float LOOP(exp1)(float x)
{
    float c = x < -104.0f ? -104.0f : x;
    c = c > 89.0f ? 89.0f : c; /* beyond, the result is 0 or infinite; NaN passes both tests */
    float shifted = c * 1.44269504f + ROUND_MAGIC;
    float whole = shifted - ROUND_MAGIC;
    float r = c - whole * 0.693359375f; /* ln 2 in two parts; the first has few bits: exact */
    r = r + whole * 2.12194440e-4f;
    float q = 1.38146e-3f;
    q = q * r + 8.36871564e-3f;
    q = q * r + 4.1668389e-2f;
    q = q * r + 1.66665211e-1f;
    q = q * r + 4.9999994e-1f;
    float e = (q * (r * r) + r) + 1.0f;
    /* 2^i as a product of two powers: i can be 128, which one float exponent cannot hold */
    union {
        float f;
        uint32_t u;
    } bits = {.f = shifted}, half, rest;
    int32_t i = (int32_t)(bits.u - 0x4b400000u);
    int32_t h = i >> 1;
    half.u = (uint32_t)(h + 127) << 23;
    rest.u = (uint32_t)(i - h + 127) << 23;
    float y = e * half.f * rest.f;
    return y < FLT_MIN ? 0.0f : y;
}

static inline float LOOP(sigmoid1)(float x)
{
    float y = 1.0f / (1.0f + LOOP(exp1)(-x));
    return y < FLT_MIN ? 0.0f : y;
}

static inline float LOOP(tanh1)(float x)
{
    float a = fabsf(x), z = x * x;
    float t = -5.70497848e-3f;
    t = t * z + 2.06390787e-2f;
    t = t * z - 5.37397116e-2f;
    t = t * z + 1.33314416e-1f;
    t = t * z - 3.33332807e-1f;
    float small = a + a * (z * t);
    float large = 1.0f - 2.0f / (LOOP(exp1)(a + a) + 1.0f);
    return copysignf(a < 0.625f ? small : large, x); /* -0 stays -0 */
}

static void LOOP(axpy)(int64_t n, float a, const float *x, float *y)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

static void LOOP(scale)(int64_t n, float a, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= a;
}

static void LOOP(add)(int64_t n, const float *x, const float *y, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

/* Rows are added one after the other; blocks of columns stay in registers. */
static void LOOP(sum_rows)(int64_t rows, int64_t cols, int64_t stride, const float *x,
                           float *restrict out)
{
    int64_t c = 0;
    for (; c + 32 <= cols; c += 32) {
        float sum[32] = {0};
        for (int64_t r = 0; r < rows; r++)
            for (int j = 0; j < 32; j++)
                sum[j] += x[r * stride + c + j];
        for (int j = 0; j < 32; j++)
            out[c + j] = sum[j];
    }
    for (int64_t j = c; j < cols; j++)
        out[j] = 0.0f;
    for (int64_t r = 0; c < cols && r < rows; r++)
        for (int64_t j = c; j < cols; j++)
            out[j] += x[r * stride + j];
}

static double LOOP(dot)(int64_t n, const float *x, const float *y)
{
    double lane[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++)
            lane[j] += (double)x[i + j] * y[i + j];
    for (; i < n; i++)
        lane[i % 16] += (double)x[i] * y[i];
    for (int half = 8; half; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

static void LOOP(exp)(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = LOOP(exp1)(x[i]);
}

static void LOOP(sigmoid)(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = LOOP(sigmoid1)(x[i]);
}

static void LOOP(tanh)(int64_t n, const float *x, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = LOOP(tanh1)(x[i]);
}

static void LOOP(finish)(int64_t m, int64_t n, const float *bias, enum math_act act, float *y)
{
    for (int64_t r = 0; r < m; r++, y += n) {
        if (bias && act == MATH_ACT_RELU) {
            for (int64_t j = 0; j < n; j++) {
                float v = y[j] + bias[j];
                y[j] = v < 0.0f ? 0.0f : v; /* NaN stays */
            }
            continue;
        }
        if (bias && act == MATH_ACT_RELU_2X) {
            for (int64_t j = 0; j < n; j++) {
                float v = y[j] + bias[j];
                y[j] = v > 0.0f ? v : 0.0f;
            }
            continue;
        }
        if (bias)
            LOOP(add)(n, y, bias, y);
        if (act == MATH_ACT_SIGMOID)
            LOOP(sigmoid)(n, y, y);
        else if (act == MATH_ACT_TANH)
            LOOP(tanh)(n, y, y);
        else if (act == MATH_ACT_RELU)
            for (int64_t j = 0; j < n; j++)
                y[j] = y[j] < 0.0f ? 0.0f : y[j];
        else if (act == MATH_ACT_RELU_2X)
            for (int64_t j = 0; j < n; j++)
                y[j] = y[j] > 0.0f ? y[j] : 0.0f;
    }
}

static void LOOP(act_grad)(int64_t n, enum math_act act, const float *out, const float *dout,
                           float *dx)
{
    if (act == MATH_ACT_RELU || act == MATH_ACT_RELU_2X)
        for (int64_t i = 0; i < n; i++)
            dx[i] = out[i] > 0.0f ? dout[i] : 0.0f;
    else if (act == MATH_ACT_SIGMOID)
        for (int64_t i = 0; i < n; i++)
            dx[i] = dout[i] * (out[i] * (1.0f - out[i]));
    else if (act == MATH_ACT_TANH)
        for (int64_t i = 0; i < n; i++)
            dx[i] = dout[i] * (1.0f - out[i] * out[i]);
    else
        for (int64_t i = 0; i < n; i++)
            dx[i] = dout[i];
}

static const struct math_path LOOP(path) = {
    .name = LOOP_NAME,
    .axpy = LOOP(axpy),
    .scale = LOOP(scale),
    .add = LOOP(add),
    .sum_rows = LOOP(sum_rows),
    .dot = LOOP(dot),
    .exp = LOOP(exp),
    .sigmoid = LOOP(sigmoid),
    .tanh = LOOP(tanh),
    .finish = LOOP(finish),
    .act_grad = LOOP(act_grad),
};

#undef ROUND_MAGIC
#undef LOOP
#undef LOOP_NAME

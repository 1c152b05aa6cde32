/* Expected numbers: recorded from Paddle 1.8.5 and 2.6.2 (uniform_random), from the engines of the
 * C++ standard library, and the published test vectors of Philox 4x32-10. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"

static void minstd_sequence(void **state)
{
    static const struct {
        uint32_t seed, first[4], at_10000, after_1000003;
    } want[] = {
        {0, {48271, 182605794, 1291394886, 1914720637}, 399268537, 58921344},
        {1, {48271, 182605794, 1291394886, 1914720637}, 399268537, 58921344},
        {2, {96542, 365211588, 435306125, 1681957627}, 798537074, 117842688},
        {90, {4344390, 1402135931, 261422802, 526165570}, 1574429978, 1007953666},
        {2147483647u, {48271, 182605794, 1291394886, 1914720637}, 399268537, 58921344},
        {4294967291u, {2147338834, 1599666265, 420782636, 698289030}, 949678036, 1970719615},
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        struct minstd r;
        minstd_seed(&r, want[k].seed);
        for (int i = 0; i < 4; i++)
            assert_int_equal(minstd_next(&r), want[k].first[i]);
        minstd_skip(&r, 9995);
        assert_int_equal(minstd_next(&r), want[k].at_10000);
        minstd_seed(&r, want[k].seed);
        minstd_skip(&r, 1000003);
        assert_int_equal(minstd_next(&r), want[k].after_1000003);
    }
}

static void minstd_skip_is_many_nexts(void **state)
{
    struct minstd one, other;
    for (uint64_t n = 0; n < 300; n++) {
        minstd_seed(&one, 77);
        other = one;
        for (uint64_t i = 0; i < n; i++)
            minstd_next(&one);
        minstd_skip(&other, n);
        assert_int_equal(one.s, other.s);
    }
    minstd_seed(&one, 77);
    other = one;
    minstd_skip(&one, 2147483646); /* the whole period */
    assert_int_equal(one.s, other.s);
    minstd_skip(&one, UINT64_MAX);
    minstd_skip(&other, UINT64_MAX % 2147483646);
    assert_int_equal(one.s, other.s);
}

/* uniform_random of Paddle 1.8.5: draw * (max - min) + min */
static void minstd_gives_paddle_uniforms(void **state)
{
    static const struct {
        uint32_t seed;
        float lo, hi, want[8];
    } c[] = {
        {1,
         -1,
         1,
         {-0x1.fffa1cp-1f, -0x1.a8ed4p-1f, 0x1.9f23fp-3f, 0x1.91028cp-1f, 0x1.df2fc8p-1f,
          -0x1.3dc1f8p-1f, 0x1.eaba8p-6f, -0x1.a1c1f8p-3f}},
        {90,
         -1,
         1,
         {-0x1.fdedaep-1f, 0x1.392e58p-2f, -0x1.83580ap-1f, -0x1.051acep-1f, -0x1.8933d8p-1f,
          -0x1.b630ccp-1f, -0x1.37a7f4p-2f, 0x1.4873fcp-1f}},
        {(uint32_t)-5,
         -1,
         1,
         {0x1.ffee54p-1f, 0x1.f58f88p-2f, -0x1.375afp-1f, -0x1.660f48p-2f, -0x1.9d8f56p-1f,
          -0x1.1ae87p-3f, -0x1.700bcp-4f, 0x1.395178p-1f}},
        {1234,
         2,
         5,
         {0x1.0aa6bcp+1f, 0x1.32917p+2f, 0x1.1a8a48p+1f, 0x1.5f5a72p+1f, 0x1.af9dfcp+1f,
          0x1.1da2f2p+1f, 0x1.b86258p+1f, 0x1.36a9acp+1f}},
        {1234,
         -0.01f,
         0.01f,
         {-0x1.358074p-7f, 0x1.19d52p-7f, -0x1.1a6284p-7f, -0x1.49e32ap-8f, -0x1.bf5ccp-11f,
          -0x1.1519bp-7f, -0x1.9fed8p-12f, -0x1.d4c714p-8f}},
    };
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        struct minstd r;
        minstd_seed(&r, c[k].seed);
        for (int i = 0; i < 8; i++) {
            float v = minstd_float(&r) * (c[k].hi - c[k].lo) + c[k].lo;
            assert_true(v == c[k].want[i]);
        }
    }
}

static void minstd_top_is_one(void **state)
{
    struct minstd r;
    minstd_seed(&r, 247665088);
    assert_true(minstd_float(&r) == 1.0f);
    assert_true(minstd_float(&r) == 0x1.fffd0ep-1f);
}

static void minstd_gives_paddle_doubles(void **state)
{
    static const double want[] = {
        0x1.bdce35b6f7ba6p-1,  0x1.3b1c0349d7b5ap-1,  -0x1.a7559be96f3b4p-1, -0x1.f355851287d6p-3,
        -0x1.49136416018d8p-1, -0x1.57c491a57dbd4p-1, 0x1.9ef572c1b84e6p-1,  0x1.07dc426c4cef4p-2};
    struct minstd r;
    minstd_seed(&r, 11);
    for (int i = 0; i < 8; i++)
        assert_true(minstd_double(&r) * 2.0 + -1.0 == want[i]);
}

struct mt64_case {
    uint64_t seed, first[4], at_1000;
};

static void mt64_run(const struct mt64_case *c, void (*seed)(struct mt64 *, uint64_t))
{
    struct mt64 r;
    seed(&r, c->seed);
    for (int i = 0; i < 4; i++)
        assert_int_equal(mt64_next(&r), c->first[i]);
    for (int i = 4; i < 999; i++)
        mt64_next(&r);
    assert_int_equal(mt64_next(&r), c->at_1000);
}

static void mt64_sequence(void **state)
{
    static const struct mt64_case want[] = {
        {0,
         {0x28e837c5cb41dc3eull, 0xfdfd3a7c3e40f98bull, 0x0a213217f032e8b9ull,
          0x98f56903cee3fceeull},
         0xbc937f714d250ad3ull},
        {1,
         {0x2245bd5fbb686f68ull, 0x22eb92502318fa4eull, 0x7382d1e77ae6459aull,
          0x0561d8057935c08eull},
         0x572aabb5906a869aull},
        {5489,
         {0xc96d191cf6f6aea6ull, 0x401f7ac78bc80f1cull, 0xb5ee8cb6abe457f8ull,
          0xf258d22d4db91392ull},
         0x8d7573457a93f389ull},
        {123456789012345ull,
         {0x41fb63e3d4d1a772ull, 0xdac7c63be4470cfcull, 0xd1a3807b040ea9bbull,
          0x00c99c92833874d5ull},
         0x434260c8fcb62831ull},
        {18446744073709551611ull,
         {0x0e529b939eefba71ull, 0xaff99cab3aedd610ull, 0x9be96666ddfad6b4ull,
          0xc39370e2ea388c10ull},
         0xf408f7378992a80aull},
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        mt64_run(&want[k], mt64_seed);
}

static void mt64_through_seed_seq(void **state)
{
    static const struct mt64_case want[] = {
        {0,
         {0x4ff528dac9d8480dull, 0x206df4387797f4a1ull, 0xd0f053e64122b760ull,
          0x8696c9cc9c8e0812ull},
         0x3e8fe0e0bd65b0bbull},
        {1,
         {0x049389fcfa2b0b33ull, 0xc3d2000319c368aaull, 0xad12179fa70c71c4ull,
          0x0bd4246be13e5d8dull},
         0xb2d49bb241771113ull},
        {5489,
         {0x6aba11f09d760d42ull, 0x072b017d244f3931ull, 0x1f65b2e3668414c8ull,
          0xe7233ddf1e0465c3ull},
         0x4edde059cc216d63ull},
        {123456789012345ull,
         {0xfc0dd50f1c6b7e17ull, 0x883006257d433027ull, 0xd8078d9d192755b8ull,
          0xf1a73408b195ddbcull},
         0x16a19b0dd5ebe3ecull},
        {18446744073709551611ull,
         {0x8b788f8b81ea4cb6ull, 0x31cdd43922b8d8acull, 0x43196504df8dadc6ull,
          0xc58032b62c41b8dfull},
         0x879f1b414f31a346ull},
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        mt64_run(&want[k], mt64_seed_seq);
}

/* uniform_random(-0.5, 0.5) of Paddle 2.6.2: two ops of 35 values after paddle.seed(102) (one
 * generator for both), and one op with its own seed 2024. */
static void mt64_gives_paddle_uniforms(void **state)
{
    static const float first[] = {0x1.2899fp-4f,  -0x1.7bf83p-5f, 0x1.1a5b94p-2f,
                                  -0x1.f5443p-2f, -0x1.37a05p-5f, -0x1.955516p-2f};
    static const float second[] = {-0x1.fc3e9p-3f, -0x1.386f6p-4f, -0x1.c0657ep-2f,
                                   0x1.46348cp-2f, -0x1.44ea2p-2f, 0x1.278f2p-4f};
    static const float own[] = {0x1.cd8e5p-4f, 0x1.2dca0cp-2f,  -0x1.dfef28p-3f,
                                -0x1.535cp-3f, -0x1.f9a834p-2f, -0x1.706db4p-2f};
    struct mt64 r;
    mt64_seed_seq(&r, 102);
    for (int i = 0; i < 70; i++) {
        float v = mt64_float(&r) * 1.0f + -0.5f;
        if (i < 6)
            assert_true(v == first[i]);
        if (i >= 35 && i < 41)
            assert_true(v == second[i - 35]);
    }
    mt64_seed(&r, 2024);
    for (int i = 0; i < 6; i++)
        assert_true(mt64_float(&r) * 1.0f + -0.5f == own[i]);
}

static void mt64_canonical(void **state)
{
    static const float f[] = {0x1.122deap-3f, 0x1.175c92p-3f, 0x1.ce0b48p-2f,
                              0x1.587602p-6f, 0x1.6751d6p-2f, 0x1.d29d86p-1f};
    static const double d[] = {0x1.122deafddb438p-3, 0x1.175c928118c7dp-3, 0x1.ce0b479deb991p-2,
                               0x1.5876015e4d702p-6, 0x1.6751d5cbb3f1ap-2, 0x1.d29d85a57326dp-1};
    struct mt64 r;
    mt64_seed(&r, 1);
    for (int i = 0; i < 6; i++)
        assert_true(mt64_float(&r) == f[i]);
    mt64_seed(&r, 1);
    for (int i = 0; i < 6; i++)
        assert_true(mt64_double(&r) == d[i]);
}

static void mt32_sequence(void **state)
{
    static const struct {
        uint32_t seed, first[4], at_2000;
    } want[] = {
        {0, {0x8c7f0aacu, 0x97c4aa2fu, 0xb716a675u, 0xd821ccc0u}, 0xe5e070b5u},
        {1, {0x6ac1f425u, 0xff4780ebu, 0xb8672f8cu, 0xeebc1448u}, 0x083df88au},
        {5489, {0xd091bb5cu, 0x22ae9ef6u, 0xe7e1faeeu, 0xd5c31f79u}, 0xeb6335d3u},
        {4294967291u, {0x6dee49e6u, 0x94a92539u, 0xf9fb13abu, 0x02eeb267u}, 0x9e10bb14u},
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        struct mt32 r;
        mt32_seed(&r, want[k].seed);
        for (int i = 0; i < 4; i++)
            assert_int_equal(mt32_next(&r), want[k].first[i]);
        for (int i = 4; i < 1999; i++)
            mt32_next(&r);
        assert_int_equal(mt32_next(&r), want[k].at_2000);
    }
}

static void philox_vectors(void **state)
{
    static const struct {
        uint64_t key, hi, lo;
        uint32_t want[4];
    } c[] = {
        {0, 0, 0, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
        {0x299f31d0a4093822ull,
         0x0370734413198a2eull,
         0x85a308d3243f6a88ull,
         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}},
    };
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        uint32_t out[4];
        philox(c[k].key, c[k].hi, c[k].lo, out);
        assert_memory_equal(out, c[k].want, sizeof out);
    }
}

static void entropy_differs(void **state)
{
    assert_true(rng_entropy() != rng_entropy());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(minstd_sequence),
        cmocka_unit_test(minstd_skip_is_many_nexts),
        cmocka_unit_test(minstd_gives_paddle_uniforms),
        cmocka_unit_test(minstd_top_is_one),
        cmocka_unit_test(minstd_gives_paddle_doubles),
        cmocka_unit_test(mt64_sequence),
        cmocka_unit_test(mt64_through_seed_seq),
        cmocka_unit_test(mt64_gives_paddle_uniforms),
        cmocka_unit_test(mt64_canonical),
        cmocka_unit_test(mt32_sequence),
        cmocka_unit_test(philox_vectors),
        cmocka_unit_test(entropy_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Signatures against the examples that AWS publishes ("Examples: Signature Calculations", API
 * reference of S3), with its made-up keys. */
#include "fs/sigv4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HOST "host:examplebucket.s3.amazonaws.com\n"
#define DATE "x-amz-date:20130524T000000Z\n"

static void expect(const char *method, const char *path, const char *query, const char *headers,
                   const char *payload, const char *names, const char *signature)
{
    struct sigv4 s = {.access_key = "AKIAIOSFODNN7EXAMPLE",
                      .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                      .region = "us-east-1",
                      .service = "s3",
                      .time = "20130524T000000Z",
                      .method = method,
                      .path = path,
                      .query = query,
                      .headers = headers,
                      .payload = payload};
    struct buf out = BUF_INIT, want = BUF_INIT;
    sigv4_sign(&s, &out);
    buf_printf(&want,
               "AWS4-HMAC-SHA256 "
               "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
               "SignedHeaders=%s,Signature=%s",
               names, signature);
    assert_string_equal(out.data, want.data);
    buf_deinit(&out);
    buf_deinit(&want);
}

static void test_examples_of_aws(void **state)
{
    char hash[SIGV4_HEX];
    expect("GET", "/test.txt", "", HOST "range:bytes=0-9\nx-amz-content-sha256:" EMPTY "\n" DATE,
           EMPTY, "host;range;x-amz-content-sha256;x-amz-date",
           "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    sigv4_hash("Welcome to Amazon S3.", 21, hash);
    assert_string_equal(hash, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
    expect("PUT", "/test%24file.text", "",
           "date:Fri, 24 May 2013 00:00:00 GMT\n" HOST "x-amz-content-sha256:"
           "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072\n" DATE
           "x-amz-storage-class:REDUCED_REDUNDANCY\n",
           hash, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
           "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    expect("GET", "/", "lifecycle=", HOST "x-amz-content-sha256:" EMPTY "\n" DATE, EMPTY,
           "host;x-amz-content-sha256;x-amz-date",
           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    expect("GET", "/", "max-keys=2&prefix=J", HOST "x-amz-content-sha256:" EMPTY "\n" DATE, EMPTY,
           "host;x-amz-content-sha256;x-amz-date",
           "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_examples_of_aws)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

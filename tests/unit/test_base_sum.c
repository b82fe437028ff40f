/* test_base_sum.c - checksums against published values. */
#include "support/check.h"

#include "base/sum.h"

static void sha_of(const void *data, size_t bytes, size_t step, char hex[65])
{
    struct mot__sha256 sum;

    mot__sha256_init(&sum);
    for (size_t at = 0; at < bytes; at += step)
        mot__sha256_add(&sum, (const char *)data + at, bytes - at < step ? bytes - at : step);
    mot__sha256_end(&sum, hex);
}

static void sha256_gives_the_published_digests(void **state)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[65];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sha_of(cases[i].text, strlen(cases[i].text), 64, hex);
        assert_string_equal(hex, cases[i].hex);
    }
}

static void sha256_does_not_see_how_data_was_cut(void **state)
{
    static char million[1000000];
    const char *wanted = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    const size_t steps[] = {1, 3, 55, 63, 64, 65, 119, sizeof million};
    char hex[65];

    (void)state;
    memset(million, 'a', sizeof million);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        sha_of(million, sizeof million, steps[i], hex);
        assert_string_equal(hex, wanted);
    }
}

static void fnv_gives_the_published_hashes(void **state)
{
    (void)state;
    assert_true(mot__hash64("", 0, 0) == 0xcbf29ce484222325u);
    assert_true(mot__hash64("a", 1, 0) == 0xaf63dc4c8601ec8cu);
    assert_true(mot__hash64("foobar", 6, 0) == 0x85944171f73967e8u);
    assert_true(mot__hash64("foobar", 6, 1) != mot__hash64("foobar", 6, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_published_digests),
        cmocka_unit_test(sha256_does_not_see_how_data_was_cut),
        cmocka_unit_test(fnv_gives_the_published_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
